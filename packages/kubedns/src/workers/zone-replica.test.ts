import { describe, expect, it } from '@jest/globals';
import { ChangeQueue } from '@kube-dns/daemon';
import fc from 'fast-check';
import { ClusterState } from '../cluster/cluster-state.js';
import { type ApiObject, ObjectStore } from '../cluster/object-store.js';
import {
  HEADLESS,
  namespaceObject,
  serviceObject,
  sliceObject,
} from '../../test/support/objects.js';
import { zoneAnswers } from '../../test/support/zone-answers.js';
import { cacheJson } from '../zone/cache-json.js';
import { ClusterZone } from '../zone/cluster-zone.js';
import { countRecords } from '../zone/record-count.js';
import type { Batch, Change, Facts } from './worker-messages.js';
import { zoneChanges } from './zone-changes.js';
import { ZoneFeed } from './zone-feed.js';
import { ZoneReplica } from './zone-replica.js';

const NAMES = ['a', 'b', 'c'];
const ZONE = { domain: 'cluster.local.', negativeTtlSeconds: 5 };
const FACTS: Facts = {
  isSynced: false,
  knowsNamespaces: true,
  servers: { defaults: [], stubs: [] },
  federations: new Map(),
  locality: undefined,
};

/** A leader's zone, fed by hand, and workers' zones that are told of it. */
class Cluster {
  nowMs = 1_000_000;
  facts = FACTS;
  readonly zone = new ClusterZone({ ...ZONE, now: () => this.nowMs });
  readonly feed = new ZoneFeed(this.zone);
  readonly workers: { queue: ChangeQueue<Change>; replica: ZoneReplica; heard: Facts[] }[] = [];
  readonly stores: Record<'service' | 'slice' | 'namespace', ObjectStore<never, never>>;

  constructor() {
    const { services, endpointSlices, namespaces } = new ClusterState({ keeper: this.feed });
    const ignore = () => undefined;
    this.stores = {
      service: new ObjectStore(services, ignore) as never,
      slice: new ObjectStore(endpointSlices, ignore) as never,
      namespace: new ObjectStore(namespaces, ignore) as never,
    };
  }

  put(kind: keyof Cluster['stores'], object: ApiObject): void {
    this.stores[kind].put(object as never);
  }

  delete(kind: keyof Cluster['stores'], object: ApiObject): void {
    this.stores[kind].delete(object as never);
  }

  join(): void {
    const heard: Facts[] = [];
    this.workers.push({
      queue: new ChangeQueue(
        zoneChanges(this.feed, () => this.facts),
        () => undefined,
      ),
      replica: new ZoneReplica(ZONE, this.zone.serial, (facts) => heard.push(facts)),
      heard,
    });
  }

  /** Tells one batch to each worker as a message does: by a copy. */
  tellOne(): void {
    for (const { queue, replica } of this.workers) {
      replica.take(structuredClone<Batch>({ changes: queue.take(), serial: this.zone.serial }));
    }
  }

  tellAll(): void {
    while (this.workers.some(({ queue }) => !queue.isEmpty)) this.tellOne();
  }
}

/** Everything that a zone has and says. */
function contentOf(zone: ClusterZone) {
  return {
    records: [...cacheJson(zone)].join(''),
    counts: countRecords(zone),
    addresses: zone.addressCount,
    namespaces: [...zone.namespaces.keys()].sort(),
    soa: Buffer.from(zone.soaRdata).toString('hex'),
    answers: zoneAnswers(zone, NAMES),
  };
}

const event = fc.record({
  kind: fc.constantFrom('service', 'headless', 'external', 'slice', 'namespace'),
  isRemoved: fc.boolean(),
  service: fc.constantFrom(...NAMES),
  slice: fc.constantFrom(1, 2, 3),
  byte: fc.integer({ min: 1, max: 6 }),
  hostname: fc.constantFrom(undefined, 'h-1', 'h-2'),
});
type Event = typeof event extends fc.Arbitrary<infer E> ? E : never;

function happen(
  cluster: Cluster,
  { kind, isRemoved, service, slice, byte, hostname }: Event,
): void {
  const act = (resource: keyof Cluster['stores'], object: ApiObject) =>
    isRemoved ? cluster.delete(resource, object) : cluster.put(resource, object);
  const ports = [{ name: 'http', port: 80 + byte }];
  if (kind === 'service') {
    act('service', serviceObject({ name: service, clusterIPs: [`10.0.0.${byte}`], ports }));
  } else if (kind === 'headless') {
    act('service', serviceObject({ name: service, ...HEADLESS, ports }));
  } else if (kind === 'external') {
    act('service', serviceObject({ name: service, externalName: `x${byte}.example.com` }));
  } else if (kind === 'namespace') {
    act('namespace', namespaceObject(byte > 3 ? 'default' : 'empty'));
  } else {
    const endpoint = { addresses: [`10.1.0.${byte}`], ...(hostname !== undefined && { hostname }) };
    const endpoints = [endpoint, `10.1.1.${byte}`];
    // A slice may pass from one service to another.
    act('slice', sliceObject({ name: `s-${slice}`, service, endpoints, ports }));
  }
}

describe('the zone of a worker', () => {
  it('equals the leader’s after every event, once told, whenever the worker came', () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 12 }),
        fc.array(fc.tuple(event, fc.nat({ max: 3 }), fc.boolean()), { maxLength: 25 }),
        (before, events) => {
          const cluster = new Cluster();
          cluster.join();
          for (const one of before) happen(cluster, one);
          for (const [one, told, isJoining] of events) {
            cluster.nowMs += 700;
            if (isJoining && cluster.workers.length < 4) cluster.join();
            for (let i = 0; i < told; i++) cluster.tellOne();
            happen(cluster, one);
          }
          cluster.tellAll();
          const expected = contentOf(cluster.zone);
          for (const { replica } of cluster.workers) {
            expect(contentOf(replica.zone)).toEqual(expected);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('equals the leader’s after each single event', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), (events) => {
        const cluster = new Cluster();
        cluster.join();
        for (const one of events) {
          happen(cluster, one);
          cluster.tellAll();
          expect(contentOf(cluster.workers[0]!.replica.zone)).toEqual(contentOf(cluster.zone));
        }
      }),
      { numRuns: 100 },
    );
  });

  it('is told of what changes while a large cluster is still being told', () => {
    const cluster = new Cluster();
    for (let i = 0; i < 2_000; i++) {
      const name = `s${i}`;
      cluster.put('service', serviceObject({ name, ...HEADLESS }));
      cluster.put(
        'slice',
        sliceObject({ name, service: name, endpoints: [`10.2.${i >> 8}.${i & 255}`] }),
      );
    }
    cluster.join();
    // More than a batch takes, of services that were not told yet.
    for (let i = 0; i < 600; i++) {
      const name = `s${i}`;
      cluster.put('slice', sliceObject({ name, service: name, endpoints: ['10.8.8.8'] }));
    }
    for (let i = 0; !cluster.workers[0]!.queue.isEmpty; i += 37) {
      cluster.tellOne();
      if (i > 1_900) continue;
      const [gone, changed, added] = [`s${i}`, `s${i + 5}`, `new${i}`];
      cluster.delete('service', serviceObject({ name: gone }));
      cluster.delete('slice', sliceObject({ name: gone, service: gone }));
      cluster.put(
        'slice',
        sliceObject({ name: changed, service: changed, endpoints: ['10.9.9.9'] }),
      );
      cluster.put('service', serviceObject({ name: added }));
    }
    expect(contentOf(cluster.workers[0]!.replica.zone)).toEqual(contentOf(cluster.zone));
  });

  it('refuses what the leader’s zone refuses, and goes on', () => {
    const label = 'n'.repeat(63);
    const options = { ...ZONE, domain: `${label}.${label}.${label}.` };
    const zone = new ClusterZone(options);
    const feed = new ZoneFeed(zone);
    const replica = new ZoneReplica(options, zone.serial, () => undefined);
    const queue = new ChangeQueue(
      zoneChanges(feed, () => FACTS),
      () => undefined,
    );
    const slice = { version: '', listNumber: 0, service: `${label}/${label}`, groups: [] };
    expect(() => feed.replaceSlice(undefined, slice)).toThrow();
    feed.putNamespace('x', true);
    replica.take(structuredClone<Batch>({ changes: queue.take(), serial: zone.serial }));
    expect([...replica.zone.namespaces.keys()]).toEqual(['x']);
  });

  it('hears facts in their place among the changes', () => {
    const cluster = new Cluster();
    cluster.join();
    cluster.put('service', serviceObject());
    cluster.tellAll();
    cluster.facts = { ...FACTS, isSynced: true };
    cluster.feed.tell(['facts', cluster.facts]);
    cluster.tellAll();
    expect(cluster.workers[0]!.heard.map(({ isSynced }) => isSynced)).toEqual([false, true]);
  });
});

describe('a batch', () => {
  it('has a bound, so that a worker is not kept from its socket', () => {
    const cluster = new Cluster();
    const endpoints = Array.from({ length: 100 }, (_, i) => `10.3.0.${i}`);
    for (let i = 0; i < 1_000; i++)
      cluster.put('slice', sliceObject({ name: `s-${i}`, service: `t${i % 100}`, endpoints }));
    for (let i = 0; i < 1_000; i++) cluster.put('namespace', namespaceObject(`n${i}`));
    cluster.join();
    for (let i = 0; i < 1_000; i++) cluster.put('namespace', namespaceObject(`m${i}`));
    const { queue } = cluster.workers[0]!;
    let most = 0;
    for (; !queue.isEmpty;) {
      const changes = queue.take();
      most = Math.max(most, changes.length);
      const slices = changes.flatMap((change) => (change[0] === 'whole' ? change[3] : []));
      // One service may be larger than the bound, but then nothing is behind it.
      expect(slices.length).toBeLessThan(92);
    }
    expect(most).toBe(256);
  });

  it('keeps nothing for a worker that is gone', () => {
    const cluster = new Cluster();
    cluster.join();
    const { queue } = cluster.workers[0]!;
    queue.close();
    cluster.put('service', serviceObject());
    expect(queue.take()).toEqual([]);
  });
});
