import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import {
  endpointsObject,
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from './support/objects.js';
import { WatchBed } from './support/watch-bed.js';

let bed: WatchBed;
beforeEach(async () => {
  bed = await WatchBed.create();
});
afterEach(() => bed.close());

describe('ClusterWatch', () => {
  it('is ready when it has seen services, slices and namespaces', async () => {
    await bed.api.apply([
      namespaceObject('shop'),
      serviceObject({ namespace: 'shop', ...HEADLESS }),
      sliceObject({ namespace: 'shop', endpoints: ['10.1.0.1'] }),
    ]);
    expect(bed.watch.isSynced).toBe(false);
    expect([...bed.watch.pending].sort()).toEqual(['endpointslices', 'namespaces', 'services']);
    bed.watch.start();
    expect(await bed.watch.waitForSync(5_000)).toBe(true);
    expect(bed.watch.pending).toEqual([]);
    expect(bed.at('web.shop.svc.cluster.local')).toContain('A 10.1.0.1');
    expect(bed.at('shop.pod.cluster.local')).toEqual([]);
    expect(bed.namespacesKnown).toBe(1);
    expect(bed.log.lines).toContain('I ready: the whole cluster was seen');
  });

  it('tells what is missing when time is up', async () => {
    bed.api.failRequests({ status: 500, resource: 'endpointslices' });
    bed.watch.start();
    await until('the services', () => !bed.watch.pending.includes('services'));
    expect(await bed.watch.waitForSync(50)).toBe(false);
    expect(bed.watch.pending).toContain('endpointslices');
  });

  it('does without namespaces where it may not see them, and takes them when it may', async () => {
    bed.api.failRequests({ status: 403, resource: 'namespaces' });
    bed.watch.start();
    expect(await bed.watch.waitForSync(5_000)).toBe(true);
    expect(bed.namespacesKnown).toBe(0);
    expect(bed.at('kube-public.svc.cluster.local')).toBeUndefined();
    bed.api.clearFailures();
    await until('the namespaces', () => bed.namespacesKnown === 1);
    expect(bed.at('kube-public.svc.cluster.local')).toEqual([]);
  });

  it('does without namespaces that fail again and again, and takes them when they come', async () => {
    bed.api.failRequests({ status: 500, resource: 'namespaces' });
    bed.watch.start();
    expect(await bed.watch.waitForSync(5_000)).toBe(true);
    expect(
      bed.log.lines.filter((line) => line.includes('namespaces are not to be had')),
    ).toHaveLength(1);
    expect(bed.namespacesKnown).toBe(0);
    bed.api.clearFailures();
    await until('the namespaces', () => bed.namespacesKnown === 1);
  });

  it('does not wait for long for namespaces that do not come at all', async () => {
    // Two failures, and then a pause that is longer than the limit.
    bed.api.failRequests({ status: 429, resource: 'namespaces', retryAfterSeconds: 3 });
    bed.renew('auto', { namespacesLimitMs: 200 });
    bed.watch.start();
    expect(await bed.watch.waitForSync(2_500)).toBe(true);
  });

  it('forgets namespaces that are denied from some time on', async () => {
    await bed.api.apply([namespaceObject('empty')]);
    bed.watch.start();
    await until('the namespaces', () => bed.namespacesKnown === 1);
    expect(bed.at('empty.svc.cluster.local')).toEqual([]);
    bed.api.failRequests({ status: 403, resource: 'namespaces' });
    bed.api.dropWatches();
    await until('their end', () => bed.namespacesKnown === 0);
    await until('the name', () => bed.at('empty.svc.cluster.local') === undefined);
    bed.api.clearFailures();
    await until('the namespaces', () => bed.namespacesKnown === 1);
    expect(bed.at('empty.svc.cluster.local')).toEqual([]);
    expect(bed.watch.isSynced).toBe(true);
  });

  it('is ready with what the built-in ClusterRole allows', async () => {
    for (const resource of ['endpointslices', 'namespaces']) {
      bed.api.failRequests({ status: 403, resource });
    }
    await bed.api.apply([
      serviceObject({ ...HEADLESS }),
      endpointsObject({ subsets: [{ addresses: [{ ip: '10.1.0.2' }] }] }),
    ]);
    bed.watch.start();
    expect(await bed.watch.waitForSync(5_000)).toBe(true);
    expect(bed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.2');
    expect(bed.log.lines.filter((line) => /^[WE]/.test(line))).toHaveLength(3);
  });

  it('has numbers of each resource', async () => {
    const latencies: number[] = [];
    bed.renew('auto', { onEvent: (latencyMs) => latencies.push(latencyMs) });
    const startedMs = performance.now();
    expect(bed.of('services')).toMatchObject({
      objects: 0,
      lastEventMs: 0,
      relists: 0,
      rejected: 0,
    });
    bed.watch.start();
    expect(await bed.watch.waitForSync(5_000)).toBe(true);
    expect(bed.of('services').objects).toBe(1);
    expect(bed.of('services').lastEventMs).toBeGreaterThanOrEqual(startedMs);
    expect(bed.of('endpoints')).toMatchObject({ objects: 0, lastEventMs: 0, isConnected: false });
    await until('the watch', () => bed.of('services').isConnected);
    const before = bed.of('services').lastEventMs;
    await bed.api.apply([serviceObject({ ...HEADLESS })]);
    await until('the service', () => bed.of('services').objects === 2);
    expect(bed.of('services').lastEventMs).toBeGreaterThanOrEqual(before);
    await until('the latency', () => latencies.length > 0);
    expect(Math.max(...latencies)).toBeLessThan(1_000);
    bed.api.dropWatches();
    await until('the loss', () => bed.of('services').restarts.closed === 1);
    expect(bed.of('services').relists).toBe(0);
  });

  it('ends whoever waits when it is closed', async () => {
    bed.api.hang();
    bed.watch.start();
    const waiting = bed.watch.waitForSync(60_000);
    await bed.watch.close();
    expect(await waiting).toBe(false);
    expect(bed.log.lines).toEqual([]);
  });
});
