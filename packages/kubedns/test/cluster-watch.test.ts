import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import {
  endpointsObject,
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from './support/objects.js';
import { SYNC_LIMIT_MS, WatchTestbed } from './support/watch-testbed.js';

const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

let testbed: WatchTestbed;
beforeEach(async () => {
  testbed = await WatchTestbed.create();
});
afterEach(() => testbed.close());

describe('ClusterWatch', () => {
  it('is ready when it has seen services, slices and namespaces', async () => {
    await testbed.api.apply([
      namespaceObject('shop'),
      serviceObject({ namespace: 'shop', ...HEADLESS }),
      sliceObject({ namespace: 'shop', endpoints: ['10.1.0.1'] }),
    ]);
    expect(testbed.watch.isSynced).toBe(false);
    expect([...testbed.watch.pending].sort()).toEqual(['endpointslices', 'namespaces', 'services']);
    testbed.watch.start();
    expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
    expect(testbed.watch.pending).toEqual([]);
    expect(testbed.at('web.shop.svc.cluster.local')).toContain('A 10.1.0.1');
    expect(testbed.at('shop.pod.cluster.local')).toEqual([]);
    expect(testbed.namespacesListed).toBe(1);
    expect(testbed.log.lines).toContain('I ready: the whole cluster was seen');
  });

  it('attack 23: does not show services of hidden namespaces, and says so', async () => {
    await testbed.api.apply([
      namespaceObject('com'),
      serviceObject({ namespace: 'com', ...HEADLESS }),
      sliceObject({ namespace: 'com', endpoints: ['10.1.0.1'] }),
    ]);
    testbed.renew('auto', { hiddenNamespaces: new Set(['com']) });
    testbed.watch.start();
    expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
    expect(testbed.at('web.com.svc.cluster.local')).toBeUndefined();
    expect(testbed.log.lines.join('\n')).toContain(
      'com/web: its namespace is one of --hidden-namespaces',
    );
  });

  it('names the pending resources after the timeout', async () => {
    testbed.api.failRequests({ status: 500, resource: 'endpointslices' });
    testbed.watch.start();
    await until('the services', () => !testbed.watch.pending.includes('services'));
    expect(await testbed.watch.waitForSync(50)).toBe(false);
    expect(testbed.watch.pending).toContain('endpointslices');
  });

  it('does without namespaces while they are denied, and uses them when they are allowed', async () => {
    testbed.api.failRequests({ status: 403, resource: 'namespaces' });
    testbed.watch.start();
    expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
    expect(testbed.namespacesListed).toBe(0);
    expect(testbed.at('kube-public.svc.cluster.local')).toBeUndefined();
    testbed.api.clearFailures();
    await until('the namespaces', () => testbed.namespacesListed === 1);
    expect(testbed.at('kube-public.svc.cluster.local')).toEqual([]);
  });

  it('does without namespaces that fail again and again, and uses them when they are listed', async () => {
    testbed.api.failRequests({ status: 500, resource: 'namespaces' });
    testbed.watch.start();
    expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
    expect(
      testbed.log.lines.filter((line) => line.includes('namespaces cannot be listed yet')),
    ).toHaveLength(1);
    expect(testbed.namespacesListed).toBe(0);
    testbed.api.clearFailures();
    await until('the namespaces', () => testbed.namespacesListed === 1);
  });

  it('waits only a limited time for namespaces', async () => {
    // Two failures, and then a pause that is longer than the wait.
    testbed.api.failRequests({ status: 429, resource: 'namespaces', retryAfterSeconds: 60 });
    testbed.renew('auto', { namespacesLimitMs: 20 });
    testbed.watch.start();
    expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
  });

  it('forgets namespaces that are denied from some time on', async () => {
    await testbed.api.apply([namespaceObject('empty')]);
    testbed.watch.start();
    await until('the namespaces', () => testbed.namespacesListed === 1);
    expect(testbed.at('empty.svc.cluster.local')).toEqual([]);
    testbed.api.failRequests({ status: 403, resource: 'namespaces' });
    testbed.api.dropWatches();
    await until('their end', () => testbed.namespacesListed === 0);
    await until('the name', () => testbed.at('empty.svc.cluster.local') === undefined);
    testbed.api.clearFailures();
    await until('the namespaces', () => testbed.namespacesListed === 1);
    expect(testbed.at('empty.svc.cluster.local')).toEqual([]);
    expect(testbed.watch.isSynced).toBe(true);
  });

  it('is ready with the permissions of the built-in ClusterRole', async () => {
    for (const resource of ['endpointslices', 'namespaces']) {
      testbed.api.failRequests({ status: 403, resource });
    }
    await testbed.api.apply([
      serviceObject({ ...HEADLESS }),
      endpointsObject({ subsets: [{ addresses: [{ ip: '10.1.0.2' }] }] }),
    ]);
    testbed.watch.start();
    expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
    expect(testbed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.2');
    expect(testbed.log.lines.filter((line) => /^[WE]/.test(line))).toHaveLength(3);
  });

  it('tells since when the endpoints of a service were to change, where their controller says so', async () => {
    const told: string[] = [];
    const onEndpoints = (service: string, triggeredMs: number) => {
      const records = testbed.at('web.default.svc.cluster.local') ?? [];
      const count = records.filter((text) => text.startsWith('A ')).length;
      told.push(`${service} ${new Date(triggeredMs).toISOString()} ${count}`);
    };
    testbed.renew('auto', { onEndpoints });
    const slice = (endpoints: readonly string[], time?: string) =>
      sliceObject({ endpoints, annotations: time === undefined ? {} : { [TRIGGER_TIME]: time } });
    // Of a list: nobody knows how long ago it was served for the first time.
    await testbed.api.apply([serviceObject({ ...HEADLESS }), slice(['10.1.0.1'], '2026-01-02T03:04:05Z')]); // prettier-ignore
    testbed.watch.start();
    expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
    await until('the watch', () => testbed.of('endpointslices').isConnected);
    for (const object of [
      slice(['10.1.0.1', '10.1.0.2']),
      slice(['10.1.0.1', '10.1.0.3'], 'yesterday'),
      slice(['10.1.0.1', '10.1.0.2', '10.1.0.3'], '2026-01-02T03:04:06.123456789Z'),
      slice(['10.1.0.1'], '2026-01-02T03:04:07Z'),
    ]) {
      await testbed.api.apply([object]);
    }
    testbed.api.delete('EndpointSlice', 'default', 'web-1');
    await until('the end', () => testbed.of('endpointslices').objects === 1);
    // Each time its records are served.
    expect(told).toEqual([
      'default/web 2026-01-02T03:04:06.123Z 3',
      'default/web 2026-01-02T03:04:07.000Z 1',
    ]);
  });

  it('has numbers of each resource', async () => {
    const latencies: number[] = [];
    testbed.renew('auto', { onEvent: (latencyMs) => latencies.push(latencyMs) });
    expect(testbed.of('services')).toMatchObject({
      objects: 0,
      lastEventMs: 0,
      relists: 0,
      rejected: 0,
    });
    testbed.watch.start();
    expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
    expect(testbed.of('services').objects).toBe(1);
    expect(testbed.of('services').lastEventMs).toBeGreaterThan(0);
    expect(testbed.of('endpoints')).toMatchObject({
      objects: 0,
      lastEventMs: 0,
      isConnected: false,
    });
    await until('the watch', () => testbed.of('services').isConnected);
    const before = testbed.of('services').lastEventMs;
    await testbed.api.apply([serviceObject({ ...HEADLESS })]);
    await until('the service', () => testbed.of('services').objects === 2);
    expect(testbed.of('services').lastEventMs).toBeGreaterThan(before);
    await until('the latency', () => latencies.length > 0);
    testbed.api.dropWatches();
    await until('the loss', () => testbed.of('services').restarts.closed === 1);
    expect(testbed.of('services').relists).toBe(0);
  });

  it('ends the wait when it is closed', async () => {
    testbed.api.hang();
    testbed.watch.start();
    const waiting = testbed.watch.waitForSync(60_000);
    await testbed.watch.close();
    expect(await waiting).toBe(false);
    expect(testbed.log.lines).toEqual([]);
  });
});
