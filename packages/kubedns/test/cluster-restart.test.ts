import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { namespaceObject, serviceObject, sliceObject } from './support/objects.js';
import { SYNC_LIMIT_MS, WatchTestbed } from './support/watch-testbed.js';

const RESOURCES = ['services', 'endpointslices', 'namespaces'];

let testbed: WatchTestbed;
afterEach(() => testbed.close());

const headless = (name: string, address: string) => [
  serviceObject({ name, clusterIPs: ['None'] }),
  sliceObject({ name, service: name, endpoints: [address] }),
];
const known = (name: string) => testbed.at(`${name}.default.svc.cluster.local`) !== undefined;
const records = (name: string) => testbed.at(`${name}.default.svc.cluster.local`) ?? [];
const restored = () => RESOURCES.map((resource) => testbed.of(resource).restarts.restored);
const relists = () => RESOURCES.map((resource) => testbed.of(resource).relists);

async function watched(): Promise<void> {
  testbed.watch.start();
  expect(await testbed.watch.waitForSync(SYNC_LIMIT_MS)).toBe(true);
  await until('the watches', () => RESOURCES.every((name) => testbed.of(name).isConnected));
}

describe.each(['usual', 'rare'] as const)(
  'with %s bookmarks, a cluster after a restart',
  (often) => {
    beforeEach(async () => {
      testbed = await WatchTestbed.create(often);
    });

    it('is not listed again when it is the same: what is new is watched', async () => {
      await testbed.api.apply(headless('web', '10.1.0.1'));
      await watched();
      // As a server whose cache is not ready yet.
      testbed.api.failRequests({ status: 429, verb: 'watch', times: 3 });
      await testbed.api.restart({ downMs: 20 });
      await testbed.api.apply(headless('new', '10.1.0.2'));
      await until('the new one', () => records('new').includes('A 10.1.0.2'));
      expect(relists()).toEqual([0, 0, 0]);
      expect(restored()).toEqual([0, 0, 0]);
    });

    it('is listed once where its history is lost', async () => {
      await testbed.api.apply(headless('web', '10.1.0.1'));
      await watched();
      await testbed.restartWhile('same', async () => {
        await testbed.api.apply([...headless('new', '10.1.0.2'), namespaceObject('late')]);
        testbed.api.compact({ cache: true });
      });
      await until('the new one', () => records('new').includes('A 10.1.0.2'));
      await until('the namespace', () => testbed.at('late.svc.cluster.local') !== undefined);
      await until('one list each', () => relists().every((count) => count === 1));
      expect(restored()).toEqual([0, 0, 0]);
    });

    it('is listed again when a backup is restored: what came after it is gone', async () => {
      await testbed.api.apply(headless('kept', '10.1.0.1'));
      testbed.api.backup();
      await testbed.api.apply([...headless('lost', '10.1.0.2'), namespaceObject('lost')]);
      await watched();
      expect(known('lost')).toBe(true);
      await testbed.api.restart({ data: 'backup' });
      await until('the end of the lost one', () => !known('lost'));
      await until('of the namespace', () => testbed.at('lost.svc.cluster.local') === undefined);
      expect(records('kept')).toContain('A 10.1.0.1');
      await until('one list each', () => relists().every((count) => count === 1));
      await testbed.api.apply(headless('new', '10.1.0.3'));
      await until('the new one', () => records('new').includes('A 10.1.0.3'));
    });

    it('is listed again when it was away for long: it may have overtaken the last versions', async () => {
      testbed.renew('auto', { pace: { relistAwayMs: 30 } });
      await testbed.api.apply(headless('kept', '10.1.0.1'));
      testbed.api.backup();
      await testbed.api.apply(headless('lost', '10.1.0.2'));
      await watched();
      const lists = () => RESOURCES.map((name) => testbed.api.requests.count('list', name));
      const before = lists();
      testbed.api.failRequests({ status: 500 });
      await testbed.api.restart({ data: 'backup' });
      const names = Array.from({ length: 20 }, (_, at) => `new-${at}`);
      await testbed.api.apply(names.map((name) => serviceObject({ name, clusterIPs: ['None'] })));
      await until('it is away for long', () => lists().every((count, i) => count > before[i]!));
      testbed.api.clearFailures();
      await until('the end of the lost one', () => !known('lost'));
      await until('the new ones', () => testbed.of('services').objects === 2 + names.length);
      await until('a list each', () => relists().every((count) => count >= 1));
      expect(records('kept')).toContain('A 10.1.0.1');
    });

    it('is listed again when it is emptied', async () => {
      await testbed.api.apply(headless('web', '10.1.0.1'));
      await watched();
      await testbed.api.restart({ data: 'empty' });
      await until('its end', () => !known('web'));
      expect(known('kubernetes')).toBe(true);
      await until('one list each', () => restored().every((count) => count === 1));
    });

    it('is listed again when it is another one, whose versions are above the last ones', async () => {
      await testbed.api.apply(headless('web', '10.1.0.1'));
      await watched();
      const versions = () => RESOURCES.map((name) => Number(testbed.of(name).version));
      const before = Math.max(...versions());
      const names = Array.from({ length: before }, (_, at) => `new-${at}`);
      await testbed.restartWhile('empty', () =>
        testbed.api.apply(names.map((name) => serviceObject({ name, clusterIPs: ['None'] }))),
      );
      await until('the end of the old one', () => !known('web'));
      await until('the new ones', () => testbed.of('services').objects === 1 + names.length);
      await until('one list each', () => relists().every((count) => count === 1));
      expect(Math.min(...versions())).toBeGreaterThan(before);
      expect(
        testbed.log.lines.filter((line) => line.includes('has another UID')).length,
      ).toBeGreaterThan(0);
    });
  },
);
