import { readdirSync, readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { programNameOf, readPod } from '@kube-dns/cli';

const LOCAL = fileURLToPath(new URL('../../../manifests/local/', import.meta.url));
const OBJECTS = `${LOCAL}objects/`;

interface Manifest {
  readonly kind: string;
  readonly spec?: { readonly clusterIP?: string; readonly clusterIPs?: readonly string[] };
}

describe('manifests/local/pod.yaml', () => {
  const pod = readPod(`${LOCAL}pod.yaml`);

  it('has the three containers and the API server, each our own program', () => {
    expect(pod.containers.map((each) => [each.name, programNameOf(each)])).toEqual([
      ['apiserver', 'apiserver'],
      ['kubedns', 'kubedns'],
      ['dnsmasq', 'dnsmasq'],
      ['sidecar', 'sidecar'],
    ]);
  });

  it('needs no right that a user does not have', () => {
    const ports = pod.containers.flatMap((each) => each.ports);
    expect(ports.filter((port) => port.containerPort < 1024)).toEqual([]);
    expect(pod.volumes.map((volume) => volume.kind)).toEqual(['host', 'config-map']);
  });

  it('is ready only when every container has answered', () => {
    expect(pod.containers.filter((each) => each.probes.readiness === undefined)).toEqual([]);
  });
});

describe('manifests/local/node-cache.yaml', () => {
  const [cache, ...others] = readPod(`${LOCAL}node-cache.yaml`).containers;

  it('has our own program, which changes nothing of the network of this machine', () => {
    expect([cache && programNameOf(cache), others]).toEqual(['node-cache', []]);
    expect(cache?.args).toEqual(
      expect.arrayContaining(['-setupinterface=false', '-setupiptables=false']),
    );
  });

  it('has ports that need no right, and none that the pod has', () => {
    const ports = readPod(`${LOCAL}pod.yaml`).containers.flatMap((each) => each.ports);
    const taken = ports.map((port) => port.containerPort);
    for (const { containerPort } of cache?.ports ?? []) {
      expect(containerPort).toBeGreaterThan(1024);
      expect(taken).not.toContain(containerPort);
    }
  });
});

describe('manifests/local/objects', () => {
  const files = readdirSync(OBJECTS).map((name) => readFileSync(OBJECTS + name, 'utf8'));

  it('says at the top of each file what it shows', () => {
    for (const text of files) expect(text).toMatch(/^# [A-Z].*\.\napiVersion: /);
  });

  it('has each ClusterIP once, within the service networks', () => {
    const networks = new BlockList();
    networks.addSubnet('10.96.0.0', 16, 'ipv4');
    networks.addSubnet('fd00:10:96::', 112, 'ipv6');
    const addresses = files
      .flatMap((text) => [...parseAllDocuments(text)].map((each) => each.toJS() as Manifest))
      .filter(({ kind, spec }) => kind === 'Service' && spec?.clusterIP !== 'None')
      .flatMap(({ spec }) => spec?.clusterIPs ?? (spec?.clusterIP ? [spec.clusterIP] : []));
    expect(addresses).toHaveLength(4);
    expect(new Set(addresses).size).toBe(addresses.length);
    for (const address of addresses) {
      expect([address, networks.check(address, address.includes(':') ? 'ipv6' : 'ipv4')]).toEqual([
        address,
        true,
      ]);
    }
  });
});
