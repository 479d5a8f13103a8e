import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { endpointsObject, HEADLESS, serviceObject, sliceObject } from './support/objects.js';
import { WatchBed } from './support/watch-bed.js';

let bed: WatchBed;
beforeEach(async () => {
  bed = await WatchBed.create();
});
afterEach(() => bed.close());

describe('ClusterWatch', () => {
  describe('of headless services', () => {
    beforeEach(() =>
      bed.api.apply([
        serviceObject({ ...HEADLESS }),
        sliceObject({ endpoints: ['10.1.0.1'] }),
        endpointsObject({ subsets: [{ addresses: [{ ip: '10.1.0.2', hostname: 'web-2' }] }] }),
      ]),
    );

    it('takes Endpoints where it may not see slices, which it says once', async () => {
      bed.api.failRequests({ status: 403, resource: 'endpointslices' });
      bed.watch.start();
      expect(await bed.watch.waitForSync(5_000)).toBe(true);
      expect(bed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.2');
      expect(bed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.1');
      expect(bed.at('web-2.web.default.svc.cluster.local')).toContain('A 10.1.0.2');
      await until('three tries', () => bed.tries('endpointslices') >= 3);
      expect(bed.log.lines.filter((line) => line.includes('endpointslices:'))).toHaveLength(1);
      bed.api.delete('Endpoints', 'default', 'web');
      await until('its end', () => bed.at('web.default.svc.cluster.local') === undefined);
    });

    it('is ready without slices only when it has seen the Endpoints', async () => {
      bed.api.failRequests({ status: 403, resource: 'endpointslices' });
      bed.api.failRequests({ status: 500, resource: 'endpoints' });
      bed.watch.start();
      await until('the fall-back', () => bed.watch.pending.join() === 'endpoints');
      expect(bed.watch.isSynced).toBe(false);
    });

    it('takes slices again when it may', async () => {
      bed.api.failRequests({ status: 403, resource: 'endpointslices' });
      bed.watch.start();
      expect(await bed.watch.waitForSync(5_000)).toBe(true);
      bed.api.clearFailures();
      await until('the slice', () =>
        bed.at('web.default.svc.cluster.local')?.includes('A 10.1.0.1'),
      );
      expect(bed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.2');
      expect(bed.at('web-2.web.default.svc.cluster.local')).toBeUndefined();
      await until('the end of the other watch', () => bed.api.watchCount('endpoints') === 0);
    });

    it('takes Endpoints when slices are denied later on, and slices again when they are not', async () => {
      bed.watch.start();
      expect(await bed.watch.waitForSync(5_000)).toBe(true);
      expect(bed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.1');
      bed.api.failRequests({ status: 403, resource: 'endpointslices' });
      bed.api.failRequests({ status: 500, resource: 'endpoints', times: 2 });
      bed.api.dropWatches();
      await until('a try for Endpoints', () => bed.tries('endpoints') >= 1);
      // Until Endpoints are there, slices are what is known.
      expect(bed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.1');
      await until('the Endpoints', () =>
        bed.at('web.default.svc.cluster.local')?.includes('A 10.1.0.2'),
      );
      await until('the end of slices', () => bed.of('endpointslices').objects === 0);
      expect(bed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.1');
      bed.api.clearFailures();
      await until('the slice', () =>
        bed.at('web.default.svc.cluster.local')?.includes('A 10.1.0.1'),
      );
      await until('the end of Endpoints', () => bed.of('endpoints').objects === 0);
      expect(bed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.2');
      bed.api.failRequests({ status: 403, resource: 'endpointslices' });
      bed.api.dropWatches();
      await until('the Endpoints', () =>
        bed.at('web.default.svc.cluster.local')?.includes('A 10.1.0.2'),
      );
      await until('the end of slices', () => bed.of('endpointslices').objects === 0);
      expect(bed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.1');
      expect(bed.watch.isSynced).toBe(true);
    });

    it('lists slices again that came back before the Endpoints did', async () => {
      bed.watch.start();
      expect(await bed.watch.waitForSync(5_000)).toBe(true);
      bed.api.failRequests({ status: 403, resource: 'endpointslices' });
      bed.api.failRequests({ status: 500, resource: 'endpoints' });
      bed.api.dropWatches();
      await until('a try for Endpoints', () => bed.tries('endpoints') >= 1);
      bed.api.clearFailures();
      bed.api.failRequests({ status: 500, resource: 'endpoints' });
      await until('the watch of slices', () => bed.of('endpointslices').isConnected);
      bed.api.clearFailures();
      await until('the Endpoints', () => bed.of('endpoints').lastEventMs > 0);
      await until('the end of Endpoints', () => bed.of('endpoints').objects === 0);
      expect(bed.of('endpointslices').objects).toBeGreaterThan(0);
      expect(bed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.1');
      expect(bed.at('web.default.svc.cluster.local')).not.toContain('A 10.1.0.2');
    });

    it('keeps slices that are denied but once', async () => {
      bed.watch.start();
      expect(await bed.watch.waitForSync(5_000)).toBe(true);
      bed.api.failRequests({ status: 403, resource: 'endpointslices', times: 1 });
      bed.api.dropWatches();
      await until('another watch', () => bed.of('endpointslices').restarts.denied === 1);
      await until('the watch', () => bed.of('endpointslices').isConnected);
      expect(bed.tries('endpoints')).toBe(0);
    });

    it('leaves nothing of slices that were denied in the middle of their list', async () => {
      bed.api.supportInitialEvents(false);
      await bed.api.apply([sliceObject({ name: 'web-2', endpoints: ['10.1.0.9'] })]);
      bed.renew('auto', { pace: { pageSize: 1, deniedPauseMs: 60_000 } });
      bed.api.delayRequests(100);
      bed.watch.start();
      await until('the first page', () => bed.of('endpointslices').objects > 0);
      bed.api.failRequests({ status: 403, resource: 'endpointslices' });
      bed.api.delayRequests(0);
      expect(await bed.watch.waitForSync(5_000)).toBe(true);
      await until('the end of slices', () => bed.of('endpointslices').objects === 0);
      const known = bed
        .at('web.default.svc.cluster.local')
        ?.filter((text) => text.startsWith('A '));
      expect(known).toEqual(['A 10.1.0.2']);
    });

    it('asks for Endpoints alone when it is told to', async () => {
      bed.renew('endpoints');
      bed.watch.start();
      expect(await bed.watch.waitForSync(5_000)).toBe(true);
      expect(bed.at('web.default.svc.cluster.local')).toContain('A 10.1.0.2');
      expect(bed.tries('endpointslices')).toBe(0);
    });

    it('waits for slices when it is told to take nothing else', async () => {
      bed.api.failRequests({ status: 403, resource: 'endpointslices' });
      bed.renew('slices');
      bed.watch.start();
      await until('a second try', () => bed.tries('endpointslices') >= 2);
      expect(bed.watch.pending).toContain('endpointslices');
      expect(bed.tries('endpoints')).toBe(0);
    });
  });
});
