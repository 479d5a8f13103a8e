import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { encodeKey } from '@kube-dns/wire';
import { ApiClient } from '../src/cluster/api-client.js';
import { ClusterWatch, type EndpointsSource } from '../src/cluster/cluster-watch.js';
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
  zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5, log });
  client = new ApiClient(loadKubeConfig({ kubecfgFile: '', masterUrl: api.url }), 'test');
  watch = newWatch();
});
afterEach(async () => {
  await watch.close();
  client.close();
  await api.close();
});

/** A watch with a server and a zone of its own test, patient for a tenth of a second where it is denied. */
function newWatch(endpointsSource: EndpointsSource = 'auto'): ClusterWatch {
  return new ClusterWatch({
    client,
    keeper: zone,
    log,
    endpointsSource,
    onNamespacesKnown: () => namespacesKnown++,
    random: () => 0,
    pace: { deniedPauseMs: 100 },
  });
}

const at = (name: string) => textsAt(zone.forward, encodeKey(name));

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
    expect(at('default.pod.cluster.local')).toBeUndefined();
    api.clearFailures();
    await until('the namespaces', () => namespacesKnown === 1);
    expect(at('default.pod.cluster.local')).toEqual([]);
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
      await until('three tries', () => api.requests.count('list', 'endpointslices') >= 3);
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

    it('asks for Endpoints alone when it is told to', async () => {
      watch = newWatch('endpoints');
      watch.start();
      expect(await watch.waitForSync(5_000)).toBe(true);
      expect(at('web.default.svc.cluster.local')).toContain('A 10.1.0.2');
      expect(api.requests.count('list', 'endpointslices')).toBe(0);
    });

    it('waits for slices when it is told to take nothing else', async () => {
      api.failRequests({ status: 403, resource: 'endpointslices' });
      watch = newWatch('slices');
      watch.start();
      await until('a second try', () => api.requests.count('list', 'endpointslices') >= 2);
      expect(watch.pending).toContain('endpointslices');
      expect(api.requests.count('list', 'endpoints')).toBe(0);
    });
  });
});
