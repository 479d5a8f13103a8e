import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { ApiClient } from '../src/cluster/api-client.js';
import {
  ClusterWatch,
  type ClusterWatchOptions,
  type EndpointsSource,
} from '../src/cluster/cluster-watch.js';
import { loadKubeConfig } from '../src/cluster/kube-config.js';
import { ClusterZone } from '../src/zone/cluster-zone.js';
import { type KeptLog, keptLog } from './support/kept-log.js';
import {
  endpointsObject,
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from './support/objects.js';
import { textsAt } from './support/record-text.js';
import { until } from './support/until.js';

let api: ApiServer;
let log: KeptLog;
let zone: ClusterZone;
let client: ApiClient;
let watch: ClusterWatch;
let namespacesKnown: number;
beforeEach(async () => {
  api = await createApiServer();
  log = keptLog();
  namespacesKnown = 0;
  zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  client = new ApiClient(loadKubeConfig({ kubecfgFile: '', masterUrl: api.url }), 'test');
  watch = newWatch();
});
afterEach(async () => {
  await watch.close();
  client.close();
  await api.close();
});

/** A watch with a server and a zone of its own test, patient for a tenth of a second where it is denied. */
function newWatch(
  endpointsSource: EndpointsSource = 'auto',
  options: Partial<ClusterWatchOptions> = {},
): ClusterWatch {
  return new ClusterWatch({
    client,
    keeper: zone,
    log,
    endpointsSource,
    onNamespacesKnown: () => namespacesKnown++,
    onNamespacesLost: () => namespacesKnown--,
    random: () => 0,
    pace: { deniedPauseMs: 100, firstPauseMs: 100 },
    ...options,
  });
}

/** How often a resource was asked for, in whatever way. */
const tries = (resource: string) =>
  api.requests.count('list', resource) + api.requests.count('watch', resource);

/** The numbers of a resource. */
const of = (name: string) => [...watch.statistics].find(({ resource }) => resource === name)!;

const at = (name: string) => textsAt(zone, name);

describe('ClusterWatch', () => {
  it('is ready when it has seen services, slices and namespaces', async () => {
    await api.apply([
      namespaceObject('shop'),
      serviceObject({ namespace: 'shop', ...HEADLESS }),
      sliceObject({ namespace: 'shop', endpoints: ['10.1.0.1'] }),
    ]);
    expect(watch.isSynced).toBe(false);
    expect([...watch.pending].sort()).toEqual(['endpointslices', 'namespaces', 'services']);
    watch.start();
    expect(await watch.waitForSync(5_000)).toBe(true);
    expect(watch.pending).toEqual([]);
    expect(at('web.shop.svc.cluster.local')).toContain('A 10.1.0.1');
    expect(at('shop.pod.cluster.local')).toEqual([]);
    expect(namespacesKnown).toBe(1);
    expect(log.lines).toContain('I ready: the whole cluster was seen');
  });

  it('tells what is missing when time is up', async () => {
    api.failRequests({ status: 500, resource: 'endpointslices' });
    watch.start();
    await until('the services', () => !watch.pending.includes('services'));
    expect(await watch.waitForSync(50)).toBe(false);
    expect(watch.pending).toContain('endpointslices');
  });

  it('does without namespaces where it may not see them, and takes them when it may', async () => {
    api.failRequests({ status: 403, resource: 'namespaces' });
    watch.start();
    expect(await watch.waitForSync(5_000)).toBe(true);
    expect(namespacesKnown).toBe(0);
    expect(at('kube-public.svc.cluster.local')).toBeUndefined();
    api.clearFailures();
    await until('the namespaces', () => namespacesKnown === 1);
    expect(at('kube-public.svc.cluster.local')).toEqual([]);
  });

  it('does without namespaces that fail again and again, and takes them when they come', async () => {
    api.failRequests({ status: 500, resource: 'namespaces' });
    watch.start();
    expect(await watch.waitForSync(5_000)).toBe(true);
    expect(log.lines.filter((line) => line.includes('namespaces are not to be had'))).toHaveLength(
      1,
    );
    expect(namespacesKnown).toBe(0);
    api.clearFailures();
    await until('the namespaces', () => namespacesKnown === 1);
  });

  it('does not wait for long for namespaces that do not come at all', async () => {
    // Two failures, and then a pause that is longer than the limit.
    api.failRequests({ status: 429, resource: 'namespaces', retryAfterSeconds: 3 });
    watch = newWatch('auto', { namespacesLimitMs: 200 });
    watch.start();
    expect(await watch.waitForSync(2_500)).toBe(true);
  });

  it('forgets namespaces that are denied from some time on', async () => {
    await api.apply([namespaceObject('empty')]);
    watch.start();
    await until('the namespaces', () => namespacesKnown === 1);
    expect(at('empty.svc.cluster.local')).toEqual([]);
    api.failRequests({ status: 403, resource: 'namespaces' });
    api.dropWatches();
    await until('their end', () => namespacesKnown === 0);
    await until('the name', () => at('empty.svc.cluster.local') === undefined);
    api.clearFailures();
    await until('the namespaces', () => namespacesKnown === 1);
    expect(at('empty.svc.cluster.local')).toEqual([]);
    expect(watch.isSynced).toBe(true);
  });

  it('is ready with what the built-in ClusterRole allows', async () => {
    for (const resource of ['endpointslices', 'namespaces']) {
      api.failRequests({ status: 403, resource });
    }
    await api.apply([
      serviceObject({ ...HEADLESS }),
      endpointsObject({ subsets: [{ addresses: [{ ip: '10.1.0.2' }] }] }),
    ]);
    watch.start();
    expect(await watch.waitForSync(5_000)).toBe(true);
    expect(at('web.default.svc.cluster.local')).toContain('A 10.1.0.2');
    expect(log.lines.filter((line) => /^[WE]/.test(line))).toHaveLength(3);
  });

  it('has numbers of each resource', async () => {
    const latencies: number[] = [];
    watch = newWatch('auto', { onEvent: (latencyMs) => latencies.push(latencyMs) });
    const startedMs = performance.now();
    expect(of('services')).toMatchObject({ objects: 0, lastEventMs: 0, relists: 0, rejected: 0 });
    watch.start();
    expect(await watch.waitForSync(5_000)).toBe(true);
    expect(of('services').objects).toBe(1);
    expect(of('services').lastEventMs).toBeGreaterThanOrEqual(startedMs);
    expect(of('endpoints')).toMatchObject({ objects: 0, lastEventMs: 0, isConnected: false });
    await until('the watch', () => of('services').isConnected);
    const before = of('services').lastEventMs;
    await api.apply([serviceObject({ ...HEADLESS })]);
    await until('the service', () => of('services').objects === 2);
    expect(of('services').lastEventMs).toBeGreaterThanOrEqual(before);
    await until('the latency', () => latencies.length > 0);
    expect(Math.max(...latencies)).toBeLessThan(1_000);
    api.dropWatches();
    await until('the loss', () => of('services').restarts.closed === 1);
    expect(of('services').relists).toBe(0);
  });

  it('ends whoever waits when it is closed', async () => {
    api.hang();
    watch.start();
    const waiting = watch.waitForSync(60_000);
    await watch.close();
    expect(await waiting).toBe(false);
    expect(log.lines).toEqual([]);
  });

  describe('of headless services', () => {
    beforeEach(() =>
      api.apply([
        serviceObject({ ...HEADLESS }),
        sliceObject({ endpoints: ['10.1.0.1'] }),
        endpointsObject({ subsets: [{ addresses: [{ ip: '10.1.0.2', hostname: 'web-2' }] }] }),
      ]),
    );

    it('takes Endpoints where it may not see slices, which it says once', async () => {
      api.failRequests({ status: 403, resource: 'endpointslices' });
      watch.start();
      expect(await watch.waitForSync(5_000)).toBe(true);
      expect(at('web.default.svc.cluster.local')).toContain('A 10.1.0.2');
      expect(at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.1');
      expect(at('web-2.web.default.svc.cluster.local')).toContain('A 10.1.0.2');
      await until('three tries', () => tries('endpointslices') >= 3);
      expect(log.lines.filter((line) => line.includes('endpointslices:'))).toHaveLength(1);
      api.delete('Endpoints', 'default', 'web');
      await until('its end', () => at('web.default.svc.cluster.local') === undefined);
    });

    it('is ready without slices only when it has seen the Endpoints', async () => {
      api.failRequests({ status: 403, resource: 'endpointslices' });
      api.failRequests({ status: 500, resource: 'endpoints' });
      watch.start();
      await until('the fall-back', () => watch.pending.join() === 'endpoints');
      expect(watch.isSynced).toBe(false);
    });

    it('takes slices again when it may', async () => {
      api.failRequests({ status: 403, resource: 'endpointslices' });
      watch.start();
      expect(await watch.waitForSync(5_000)).toBe(true);
      api.clearFailures();
      await until('the slice', () => at('web.default.svc.cluster.local')?.includes('A 10.1.0.1'));
      expect(at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.2');
      expect(at('web-2.web.default.svc.cluster.local')).toBeUndefined();
      await until('the end of the other watch', () => api.watchCount('endpoints') === 0);
    });

    it('takes Endpoints when slices are denied later on, and slices again when they are not', async () => {
      watch.start();
      expect(await watch.waitForSync(5_000)).toBe(true);
      expect(at('web.default.svc.cluster.local')).toContain('A 10.1.0.1');
      api.failRequests({ status: 403, resource: 'endpointslices' });
      api.failRequests({ status: 500, resource: 'endpoints', times: 2 });
      api.dropWatches();
      await until('a try for Endpoints', () => tries('endpoints') >= 1);
      // Until Endpoints are there, slices are what is known.
      expect(at('web.default.svc.cluster.local')).toContain('A 10.1.0.1');
      await until('the Endpoints', () =>
        at('web.default.svc.cluster.local')?.includes('A 10.1.0.2'),
      );
      await until('the end of slices', () => of('endpointslices').objects === 0);
      expect(at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.1');
      api.clearFailures();
      await until('the slice', () => at('web.default.svc.cluster.local')?.includes('A 10.1.0.1'));
      await until('the end of Endpoints', () => of('endpoints').objects === 0);
      expect(at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.2');
      api.failRequests({ status: 403, resource: 'endpointslices' });
      api.dropWatches();
      await until('the Endpoints', () =>
        at('web.default.svc.cluster.local')?.includes('A 10.1.0.2'),
      );
      await until('the end of slices', () => of('endpointslices').objects === 0);
      expect(at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.1');
      expect(watch.isSynced).toBe(true);
    });

    it('lists slices again that came back before the Endpoints did', async () => {
      watch.start();
      expect(await watch.waitForSync(5_000)).toBe(true);
      api.failRequests({ status: 403, resource: 'endpointslices' });
      api.failRequests({ status: 500, resource: 'endpoints' });
      api.dropWatches();
      await until('a try for Endpoints', () => tries('endpoints') >= 1);
      api.clearFailures();
      api.failRequests({ status: 500, resource: 'endpoints' });
      await until('the watch of slices', () => of('endpointslices').isConnected);
      api.clearFailures();
      await until('the Endpoints', () => of('endpoints').lastEventMs > 0);
      await until('the end of Endpoints', () => of('endpoints').objects === 0);
      expect(of('endpointslices').objects).toBeGreaterThan(0);
      expect(at('web.default.svc.cluster.local')).toContain('A 10.1.0.1');
      expect(at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.2');
    });

    it('keeps slices that are denied but once', async () => {
      watch.start();
      expect(await watch.waitForSync(5_000)).toBe(true);
      api.failRequests({ status: 403, resource: 'endpointslices', times: 1 });
      api.dropWatches();
      await until('another watch', () => of('endpointslices').restarts.denied === 1);
      await until('the watch', () => of('endpointslices').isConnected);
      expect(tries('endpoints')).toBe(0);
    });

    it('leaves nothing of slices that were denied in the middle of their list', async () => {
      api.supportInitialEvents(false);
      await api.apply([sliceObject({ name: 'web-2', endpoints: ['10.1.0.9'] })]);
      watch = newWatch('auto', { pace: { pageSize: 1, deniedPauseMs: 60_000 } });
      api.delayRequests(100);
      watch.start();
      await until('the first page', () => of('endpointslices').objects > 0);
      api.failRequests({ status: 403, resource: 'endpointslices' });
      api.delayRequests(0);
      expect(await watch.waitForSync(5_000)).toBe(true);
      await until('the end of slices', () => of('endpointslices').objects === 0);
      const known = at('web.default.svc.cluster.local')?.filter((text) => text.startsWith('A '));
      expect(known).toEqual(['A 10.1.0.2']);
    });

    it('asks for Endpoints alone when it is told to', async () => {
      watch = newWatch('endpoints');
      watch.start();
      expect(await watch.waitForSync(5_000)).toBe(true);
      expect(at('web.default.svc.cluster.local')).toContain('A 10.1.0.2');
      expect(tries('endpointslices')).toBe(0);
    });

    it('waits for slices when it is told to take nothing else', async () => {
      api.failRequests({ status: 403, resource: 'endpointslices' });
      watch = newWatch('slices');
      watch.start();
      await until('a second try', () => tries('endpointslices') >= 2);
      expect(watch.pending).toContain('endpointslices');
      expect(tries('endpoints')).toBe(0);
    });
  });
});
