import { describe, expect, it } from '@jest/globals';
import { decodeName, encodeKey, RCODE, reverseName, ROOT_NAME } from '@kube-dns/wire';
import fc from 'fast-check';
import { Answers } from '../../test/support/answers.js';
import { contents, histories, tell } from '../../test/support/object-histories.js';
import {
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';
import { clusterZones, type ZoneChanges } from './announced-records.js';

/** The names that were announced, as text. */
class Announced implements ZoneChanges {
  isObserved = true;
  readonly takesNames = true;
  names: string[] = [];

  add(name: Uint8Array): void {
    this.names.push(decodeName(name));
  }

  /** The names since the last call, each once. */
  take(): string[] {
    return [...new Set(this.names.splice(0))].sort();
  }
}

function start(): { readonly announced: Announced; readonly answers: Answers } {
  const announced = new Announced();
  return { announced, answers: new Answers({ changes: announced }) };
}

/** A name covers itself and those below it; of those above it only whether they exist. */
function isCovered(name: string, announced: readonly string[], hasChangedExistence: boolean) {
  return announced.some(
    (one) =>
      one === name || name.endsWith(`.${one}`) || (hasChangedExistence && one.endsWith(`.${name}`)),
  );
}

describe('AnnouncedRecords', () => {
  it('announces each name whose answers change, for any history', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (events) => {
        const { announced, answers } = start();
        let before = await contents(answers);
        for (const event of events) {
          tell(answers, event);
          const after = await contents(answers);
          const names = announced.take();
          for (const [name, records] of Object.entries(after)) {
            const last = before[name];
            if (JSON.stringify(records) === JSON.stringify(last)) continue;
            const hasChangedExistence = (records === undefined) !== (last === undefined);
            expect({ name, names, is: isCovered(name, names, hasChangedExistence) }).toMatchObject({
              is: true,
            });
          }
          before = after;
        }
      }),
      { numRuns: 50 },
    );
  });

  it('announces a service with its address, and what its address was', () => {
    const { announced, answers } = start();
    const { services } = answers.cluster;
    services.put(serviceObject({ clusterIPs: ['10.0.0.1', 'fd00::1'] }));
    const web = 'web.default.svc.cluster.local';
    expect(announced.take()).toContain(web);
    services.put(serviceObject({ clusterIPs: ['10.0.0.2'] }));
    const reverse = ['10.0.0.1', '10.0.0.2', 'fd00::1'].map((text) => {
      return reverseName(Uint8Array.from(text === 'fd00::1' ? IPV6 : text.split('.').map(Number)));
    });
    expect(announced.take()).toEqual([...reverse, web].sort());
  });

  it('announces no address of a service that has the same ones, nor those of its endpoints', () => {
    const { announced, answers } = start();
    const { services, endpointSlices } = answers.cluster;
    services.put(serviceObject({ clusterIPs: ['10.0.0.1', 'fd00::1'] }));
    services.put(serviceObject({ ...HEADLESS, name: 'db' }));
    endpointSlices.put(sliceObject({ service: 'db', endpoints: ['10.1.0.1'] }));
    announced.take();
    const ports = [{ name: 'http', port: 80 }];
    services.put(serviceObject({ clusterIPs: ['10.0.0.1', 'fd00::1'], ports }));
    expect(announced.take()).toEqual(['web.default.svc.cluster.local']);
    services.put(serviceObject({ ...HEADLESS, name: 'db', ports }));
    expect(announced.take()).toEqual(['db.default.svc.cluster.local']);
  });

  it('announces of a slice the addresses that came, went or were renamed, and no others', () => {
    const { announced, answers } = start();
    const { services, endpointSlices } = answers.cluster;
    services.put(serviceObject(HEADLESS));
    const slice = (...endpoints: { addresses: string[]; hostname?: string }[]) =>
      endpointSlices.put(sliceObject({ endpoints }));
    slice({ addresses: ['10.1.0.1'], hostname: 'a' }, { addresses: ['10.1.0.2'] });
    announced.take();
    slice({ addresses: ['10.1.0.1'], hostname: 'b' }, { addresses: ['10.1.0.2'] });
    const web = 'web.default.svc.cluster.local';
    expect(announced.take()).toEqual(['1.0.1.10.in-addr.arpa', web]);
    slice({ addresses: ['10.1.0.2'] }, { addresses: ['10.1.0.3'] });
    expect(announced.take()).toEqual(['1.0.1.10.in-addr.arpa', '3.0.1.10.in-addr.arpa', web]);
  });

  it.each([
    ['comes to a service', '', 'web'],
    ['leaves its service', 'web', ''],
  ])('announces all addresses of a slice that %s', (_, from, to) => {
    const { announced, answers } = start();
    const { services, endpointSlices } = answers.cluster;
    services.put(serviceObject(HEADLESS));
    const put = (service: string) =>
      endpointSlices.put(sliceObject({ service, endpoints: ['10.1.0.1'] }));
    put(from);
    announced.take();
    put(to);
    expect(announced.take()).toEqual(['1.0.1.10.in-addr.arpa', 'web.default.svc.cluster.local']);
  });

  it('announces an address that loses one of two hostnames', () => {
    const { announced, answers } = start();
    const { services, endpointSlices } = answers.cluster;
    services.put(serviceObject(HEADLESS));
    const named = (...hostnames: string[]) =>
      hostnames.map((hostname) => ({ addresses: ['10.1.0.1'], hostname }));
    endpointSlices.put(sliceObject({ endpoints: named('a', 'b') }));
    announced.take();
    endpointSlices.put(sliceObject({ endpoints: named('b') }));
    expect(announced.take()).toContain('1.0.1.10.in-addr.arpa');
  });

  it('announces nothing for the endpoints of a service with an address', () => {
    const { announced, answers } = start();
    answers.cluster.services.put(serviceObject());
    announced.take();
    answers.cluster.endpointSlices.put(sliceObject({ endpoints: ['10.1.0.1'] }));
    expect(announced.take()).toEqual([]);
  });

  it('announces a namespace below svc and below pod when it comes and when it goes', () => {
    const { announced, answers } = start();
    const both = ['empty.pod.cluster.local', 'empty.svc.cluster.local'];
    answers.cluster.namespaces.put(namespaceObject('empty'));
    expect(announced.take()).toEqual(both);
    answers.cluster.namespaces.delete(namespaceObject('empty'));
    expect(announced.take()).toEqual(both);
  });

  it('announces the name server of the zone with its service', () => {
    const { announced, answers } = start();
    answers.cluster.services.put(serviceObject({ namespace: 'kube-system', name: 'kube-dns' }));
    expect(announced.take()).toContain('ns.dns.cluster.local');
  });

  it('looks for no name while there is no subscriber', () => {
    const { announced, answers } = start();
    announced.isObserved = false;
    answers.cluster.services.put(serviceObject());
    expect(announced.names).toEqual([]);
    expect(
      answers.cluster.zone.findService(encodeKey('web.default.svc.cluster.local'), 0, 31),
    ).toBeDefined();
  });
});

const IPV6 = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

const APEX = encodeKey('cluster.local');

const NO_VERSION = { bytes: undefined };

it.each([
  ['the zone and all above it', APEX, RCODE.NOERROR],
  ['a name below the zone', encodeKey('svc.cluster.local'), RCODE.NOERROR],
  ['every name', ROOT_NAME, RCODE.NOERROR],
  ['reverse names', encodeKey('10.in-addr.arpa'), RCODE.NOERROR],
  ['a name beside the zone', encodeKey('xcluster.local'), RCODE.NOTAUTH],
])('answers subscriptions to %s as it should', (_, zone, rcode) => {
  expect(
    clusterZones(
      APEX,
      { isSynced: true, isFromSnapshot: false, noContactMs: 0 },
      NO_VERSION,
    ).rcodeFor(zone),
  ).toBe(rcode);
});

it('answers them to other zones of its own, and to any where hosts may be of any', () => {
  const watch = { isSynced: true, isFromSnapshot: false, noContactMs: 0 };
  const [external, search, other] = ['lb.test', 'ap.k8s.io', 'example.com'].map(encodeKey);
  let mayBeAny = false;
  const zones = clusterZones(APEX, watch, NO_VERSION, [external!], {
    unannounced: [search!],
    mayBeAny: () => mayBeAny,
  });
  const rcodes = () => [external!, search!, other!].map((zone) => zones.rcodeFor(zone));
  expect(rcodes()).toEqual([RCODE.NOERROR, RCODE.NOERROR, RCODE.NOTAUTH]);
  mayBeAny = true;
  expect(rcodes()).toEqual([RCODE.NOERROR, RCODE.NOERROR, RCODE.NOERROR]);
});

it('takes none before the cluster is listed', () => {
  const zones = clusterZones(
    APEX,
    { isSynced: false, isFromSnapshot: false, noContactMs: 0 },
    NO_VERSION,
  );
  expect([zones.rcodeFor(APEX), zones.rcodeFor(encodeKey('com'))]).toEqual([
    RCODE.SERVFAIL,
    RCODE.NOTAUTH,
  ]);
});

it.each([
  [0, true],
  [10_000, true],
  [10_001, false],
])('after %i ms without the API server all changes are known: %p', (noContactMs, isKnown) => {
  const watch = { isSynced: true, isFromSnapshot: false, noContactMs };
  const zones = clusterZones(APEX, watch, NO_VERSION);
  expect(zones.isKnown).toBe(isKnown);
  // Without a subscription answers would have no version, and other caches would keep them for a second.
  expect(zones.rcodeFor(APEX)).toBe(RCODE.NOERROR);
});

it('takes none, and knows of no change, while the zone is that of a snapshot', () => {
  const watch = { isSynced: true, isFromSnapshot: true, noContactMs: 0 };
  const zones = clusterZones(APEX, watch, NO_VERSION);
  expect(zones.rcodeFor(APEX)).toBe(RCODE.SERVFAIL);
  expect(zones.isKnown).toBe(false);
});
