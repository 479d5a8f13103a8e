import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { parsePod, readPod } from './manifest.js';
import { withNodeCache } from './node-cache.js';
import { findDnsPort } from './ready-message.js';

const LOCAL = fileURLToPath(new URL('../../../../manifests/local/', import.meta.url));

const pod = (ports: string) =>
  parsePod(
    `kind: Pod\nmetadata: { name: p }\nspec: { containers: [{ name: a, image: b, ports: [${ports}] }] }`,
    '/elsewhere/pod.yaml',
  );

describe('a pod with node-cache', () => {
  it('has it first, so that its port is the one to ask, with the folder of its own template', () => {
    const { containers, volumes, name } = withNodeCache(readPod(`${LOCAL}pod.yaml`), LOCAL);
    expect([name, containers.map((each) => each.name)]).toEqual([
      'kube-dns',
      ['node-cache', 'apiserver', 'kubedns', 'dnsmasq', 'sidecar'],
    ]);
    expect(findDnsPort(containers)).toBe(1153);
    expect(containers[0]?.env.get('KUBE_DNS_SERVICE_PORT')).toBe('1053');
    expect(volumes.map((each) => each.name)).toEqual([
      'objects',
      'kube-dns-config',
      'node-cache-template',
      'node-cache-run',
    ]);
    expect(volumes[2]).toMatchObject({ kind: 'host', path: `${LOCAL}node-cache` });
  });

  it('asks the DNS of any pod', () => {
    const cached = withNodeCache(pod('{ name: dns, containerPort: 5300, protocol: UDP }'), LOCAL);
    const { env } = cached.containers[0]!;
    expect(env.get('KUBE_DNS_SERVICE_HOST')).toBe('127.0.0.1');
    expect(env.get('KUBE_DNS_SERVICE_PORT')).toBe('5300');
  });

  it('is refused where the pod serves no DNS', () => {
    expect(() => withNodeCache(pod(''), LOCAL)).toThrow(
      '--node-cache: no container of /elsewhere/pod.yaml has a UDP port named dns',
    );
  });
});
