import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { endpointsObject, HEADLESS, serviceObject, sliceObject } from './support/objects.js';
import { SYNC_LIMIT_MS, WatchTestbed } from './support/watch-testbed.js';

let testbed: WatchTestbed;
beforeEach(async () => {
  testbed = await WatchTestbed.create();
});
afterEach(() => testbed.close());

describe('ClusterWatch', () => {
  describe('of headless services', () => {
    beforeEach(() =>
      testbed.api.apply([
        serviceObject({ ...HEADLESS }),
        sliceObject({ endpoints: ['10.1.0.1'] }),
        endpointsObject({ subsets: [{ addresses: [{ ip: '10.1.0.2', hostname: 'web-2' }] }] }),
      ]),
    );

    it('uses Endpoints while slices are denied, which it logs once', async () => {
      testbed.api.failRequests({ status: 403, resource: 'endpointslices' });
      testbed.watch.start();
      expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
      expect(testbed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.2');
      expect(testbed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.1');
      expect(testbed.at('web-2.web.default.svc.cluster.local')).toContain('A 10.1.0.2');
      await until('three tries', () => testbed.tries('endpointslices') >= 3);
      expect(testbed.log.lines.filter((line) => line.includes('endpointslices:'))).toHaveLength(1);
      testbed.api.delete('Endpoints', 'default', 'web');
      await until('its end', () => testbed.at('web.default.svc.cluster.local') === undefined);
    });

    it('says that there are no zones, where names of zones are answered', async () => {
      const warnings = () => testbed.log.lines.filter((line) => /^W .*zon/.test(line));
      testbed.renew('endpoints', { readsZones: true });
      expect(warnings()).toEqual([
        'W --zonal: with --endpoints-source=endpoints no zone has endpoints: use slices',
      ]);
      testbed.api.failRequests({ status: 403, resource: 'endpointslices' });
      testbed.renew('auto', { readsZones: true });
      testbed.watch.start();
      expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
      expect(warnings().slice(1)).toEqual([
        'W endpointslices are denied, so endpoints are used: one family, 1,000 per service, no zones (--zonal)',
      ]);
    });

    it('is ready without slices only when it has seen the Endpoints', async () => {
      testbed.api.failRequests({ status: 403, resource: 'endpointslices' });
      testbed.api.failRequests({ status: 500, resource: 'endpoints' });
      testbed.watch.start();
      await until('the fall-back', () => testbed.watch.pending.join() === 'endpoints');
      expect(testbed.watch.isSynced).toBe(false);
    });

    it('uses slices again when they are allowed', async () => {
      testbed.api.failRequests({ status: 403, resource: 'endpointslices' });
      testbed.watch.start();
      expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
      testbed.api.clearFailures();
      await until('the slice', () =>
        testbed.at('web.default.svc.cluster.local')?.includes('A 10.1.0.1'),
      );
      // The Endpoints stay until all slices are listed.
      await until('the end of Endpoints', () => testbed.of('endpoints').objects === 0);
      expect(testbed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.2');
      expect(testbed.at('web-2.web.default.svc.cluster.local')).toBeUndefined();
      await until('the end of the other watch', () => testbed.api.watchCount('endpoints') === 0);
    });

    it('uses Endpoints when slices are denied later, and slices again when they are allowed', async () => {
      testbed.watch.start();
      expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
      expect(testbed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.1');
      testbed.api.failRequests({ status: 403, resource: 'endpointslices' });
      testbed.api.failRequests({ status: 500, resource: 'endpoints', times: 2 });
      testbed.api.dropWatches();
      await until('a try for Endpoints', () => testbed.tries('endpoints') >= 1);
      // Until Endpoints are there, slices are what is known.
      expect(testbed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.1');
      await until('the Endpoints', () =>
        testbed.at('web.default.svc.cluster.local')?.includes('A 10.1.0.2'),
      );
      await until('the end of slices', () => testbed.of('endpointslices').objects === 0);
      expect(testbed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.1');
      testbed.api.clearFailures();
      await until('the slice', () =>
        testbed.at('web.default.svc.cluster.local')?.includes('A 10.1.0.1'),
      );
      await until('the end of Endpoints', () => testbed.of('endpoints').objects === 0);
      expect(testbed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.2');
      testbed.api.failRequests({ status: 403, resource: 'endpointslices' });
      testbed.api.dropWatches();
      await until('the Endpoints', () =>
        testbed.at('web.default.svc.cluster.local')?.includes('A 10.1.0.2'),
      );
      await until('the end of slices', () => testbed.of('endpointslices').objects === 0);
      expect(testbed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.1');
      expect(testbed.watch.isSynced).toBe(true);
    });

    it('lists slices again that are back before the Endpoints are listed', async () => {
      testbed.watch.start();
      expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
      testbed.api.failRequests({ status: 403, resource: 'endpointslices' });
      testbed.api.failRequests({ status: 500, resource: 'endpoints' });
      testbed.api.dropWatches();
      await until('a try for Endpoints', () => testbed.tries('endpoints') >= 1);
      testbed.api.clearFailures();
      testbed.api.failRequests({ status: 500, resource: 'endpoints' });
      await until('the watch of slices', () => testbed.of('endpointslices').isConnected);
      testbed.api.clearFailures();
      await until('the Endpoints', () => testbed.of('endpoints').lastEventMs > 0);
      await until('the end of Endpoints', () => testbed.of('endpoints').objects === 0);
      expect(testbed.of('endpointslices').objects).toBeGreaterThan(0);
      expect(testbed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.1');
      expect(testbed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.2');
    });

    it('retains slices that are denied only once', async () => {
      testbed.watch.start();
      expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
      testbed.api.failRequests({ status: 403, resource: 'endpointslices', times: 1 });
      testbed.api.dropWatches();
      await until('another watch', () => testbed.of('endpointslices').restarts.denied === 1);
      await until('the watch', () => testbed.of('endpointslices').isConnected);
      expect(testbed.tries('endpoints')).toBe(0);
    });

    it('leaves nothing of slices that were denied in the middle of their list', async () => {
      await testbed.api.apply([sliceObject({ name: 'web-2', endpoints: ['10.1.0.9'] })]);
      testbed.renew('auto', { pace: { pageSize: 1, deniedPauseMs: 60_000 } });
      testbed.api.delayRequests(100);
      testbed.watch.start();
      await until('the first page', () => testbed.of('endpointslices').objects > 0);
      testbed.api.failRequests({ status: 403, resource: 'endpointslices' });
      testbed.api.delayRequests(0);
      expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
      await until('the end of slices', () => testbed.of('endpointslices').objects === 0);
      const known = testbed
        .at('web.default.svc.cluster.local')
        ?.filter((text) => text.startsWith('A '));
      expect(known).toEqual(['A 10.1.0.2']);
    });

    it('asks only for Endpoints when the flag says so', async () => {
      testbed.renew('endpoints');
      testbed.watch.start();
      expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
      expect(testbed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.2');
      expect(testbed.tries('endpointslices')).toBe(0);
    });

    it('waits for slices when the flag allows nothing else', async () => {
      testbed.api.failRequests({ status: 403, resource: 'endpointslices' });
      testbed.renew('slices');
      testbed.watch.start();
      await until('a second try', () => testbed.tries('endpointslices') >= 2);
      expect(testbed.watch.pending).toContain('endpointslices');
      expect(testbed.tries('endpoints')).toBe(0);
    });
  });
});
