import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { findObject, MANIFESTS, readObjects } from '@kube-dns/testkit/manifests';
import { blocksOf } from './support/served-blocks.js';

interface LocalPod {
  readonly spec: {
    readonly containers: readonly [{ readonly env: readonly { name: string; value: string }[] }];
  };
}

const read = (file: string) => readFileSync(join(MANIFESTS, file), 'utf8');

describe('the Corefile of manifests/node-cache', () => {
  const objects = readObjects(read('node-cache/config-map.yaml'));
  const template = findObject(objects, 'ConfigMap', 'node-local-dns').data?.Corefile ?? '';
  const env = { CLUSTER_DOMAIN: 'cluster.local', LOCAL_DNS: '169.254.20.10' };

  it('has the zones and caches of the original, each asked over UDP where it is the cluster', () => {
    const blocks = blocksOf(template, ['169.254.20.10', '10.96.0.10'], env);
    const seen = blocks.map(({ zones, addresses, cache, forward }) => [
      zones.map(({ zone, port }) => `${zone}:${port}`).join(' '),
      addresses.join(' '),
      [cache?.success.maxTtlSeconds, cache?.denial.maxTtlSeconds].join(' '),
      forward?.protocol,
    ]);
    const addresses = '169.254.20.10 10.96.0.10';
    expect(seen).toEqual([
      ['cluster.local:53', addresses, '30 5', 'udp'],
      ['in-addr.arpa:53', addresses, '30 30', 'udp'],
      ['ip6.arpa:53', addresses, '30 30', 'udp'],
      ['.:53', addresses, '30 30', 'client'],
    ]);
    expect(blocks[0]).toMatchObject({
      health: { host: '169.254.20.10', port: 8080 },
      ready: { host: '169.254.20.10', port: 8181 },
    });
    for (const { metrics } of blocks) expect(metrics).toEqual({ host: '10.0.0.1', port: 9253 });
  });
});

describe('the Corefile of manifests/local', () => {
  it('asks the pod, and serves nothing but loopback', () => {
    const [pod] = readObjects(read('local/node-cache.yaml')) as unknown as [LocalPod];
    const [container] = pod.spec.containers;
    const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
    const blocks = blocksOf(read('local/node-cache/Corefile.base'), ['127.0.0.1'], env);
    expect(blocks).toHaveLength(2);
    for (const { addresses, forward, metrics } of blocks) {
      expect(addresses).toEqual(['127.0.0.1']);
      expect(forward?.targets).toMatchObject([{ address: '127.0.0.1', port: 1053 }]);
      expect(metrics?.host).toBe('127.0.0.1');
    }
  });
});
