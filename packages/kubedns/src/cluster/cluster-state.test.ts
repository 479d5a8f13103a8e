import { describe, expect, it } from '@jest/globals';
import { encodeKey } from '@kube-dns/wire';
import type { V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import fc from 'fast-check';
import { keptLog } from '../../test/support/kept-log.js';
import { namespaceObject, serviceObject, sliceObject } from '../../test/support/objects.js';
import { textsAt } from '../../test/support/record-text.js';
import { ClusterZone } from '../zone/cluster-zone.js';
import type { RecordTree } from '../zone/record-tree.js';
import { ClusterState } from './cluster-state.js';

/** What the API says of one object: its new state, or `undefined` when it is gone. */
type Event = { readonly key: string } & (
  | { readonly kind: 'services'; readonly object: V1Service | undefined }
  | { readonly kind: 'endpointSlices'; readonly object: V1EndpointSlice | undefined }
);

/** A state whose turns of the event loop end when a test says so. */
class Cluster {
  readonly zone = new ClusterZone({
    domain: 'cluster.local.',
    negativeTtlSeconds: 5,
    log: keptLog(),
    now: () => 0,
  });
  readonly #work: (() => void)[] = [];
  readonly state = new ClusterState(this.zone, (work) => this.#work.push(work));

  endTurn(): void {
    for (const work of this.#work.splice(0)) work();
  }

  /** Tells of one event, in a turn of its own unless more come in the same. */
  tell(event: Event, isLastOfTurn = true): void {
    apply(this.state, event);
    if (isLastOfTurn) this.endTurn();
  }
}

function apply(state: ClusterState, { kind, key, object }: Event): void {
  if (object === undefined) state[kind].remove(key);
  else if (kind === 'services') state.services.upsert(key, object);
  else state.endpointSlices.upsert(key, object);
}

const SERVICES = ['web', 'db'];
const SLICES = ['s1', 's2', 's3'];
const V4 = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
const HOSTNAMES = ['a', 'b'];
const PORTS = ['http', 'dns'];

/** Every name that the objects of these tests can bring about. */
const NAMES: readonly string[] = [
  'svc.cluster.local',
  'default.svc.cluster.local',
  ...SERVICES.map((name) => `${name}.default.svc.cluster.local`).flatMap((service) => [
    service,
    `_tcp.${service}`,
    ...PORTS.map((port) => `_${port}._tcp.${service}`),
    ...HOSTNAMES.map((hostname) => `${hostname}.${service}`),
  ]),
  ...V4.map((address) => `${address.split('.').reverse().join('.')}.in-addr.arpa`),
];

/** All names of a tree that these tests know, with their records; and how many names there are. */
function contents(tree: RecordTree): object {
  const known = NAMES.map((name) => [name, textsAt(tree, encodeKey(name))]);
  return { size: tree.size, known };
}

const exists = (tree: RecordTree, name: string) => textsAt(tree, encodeKey(name)) !== undefined;

const services = fc
  .record({
    name: fc.constantFrom(...SERVICES),
    fields: fc.oneof(
      fc.constant({ clusterIPs: ['None'] }),
      fc.record({
        clusterIPs: fc.subarray(V4, { minLength: 1, maxLength: 2 }),
        ports: fc.subarray(PORTS).map((names) => names.map((name, i) => ({ name, port: i + 1 }))),
      }),
      fc.record({ externalName: fc.constantFrom('example.com', '192.0.2.1', '..') }),
      fc.constant(undefined),
    ),
  })
  .map(({ name, fields }): Event => ({
    kind: 'services',
    key: `default/${name}`,
    object: fields && serviceObject({ name, ...fields }),
  }));

const endpoints = fc.array(
  fc.record(
    {
      addresses: fc.subarray(V4, { minLength: 1, maxLength: 1 }),
      hostname: fc.constantFrom(...HOSTNAMES),
      isReady: fc.boolean(),
    },
    { requiredKeys: ['addresses'] },
  ),
  { maxLength: 3 },
);

const slices = fc
  .record({
    name: fc.constantFrom(...SLICES),
    fields: fc.option(
      fc.record({
        service: fc.constantFrom(...SERVICES, ''),
        endpoints,
        ports: fc.subarray(PORTS).map((names) => names.map((name, i) => ({ name, port: i + 1 }))),
      }),
    ),
  })
  .map(({ name, fields }): Event => ({
    kind: 'endpointSlices',
    key: `default/${name}`,
    object: fields === null ? undefined : sliceObject({ name, ...fields }),
  }));

/** A cluster that hands everything on at once. */
function cluster(): { zone: ClusterZone; state: ClusterState } {
  const { zone } = new Cluster();
  return { zone, state: new ClusterState(zone, (work) => work()) };
}

const histories = fc.array(fc.tuple(fc.oneof(services, slices), fc.boolean()), { maxLength: 25 });

describe('ClusterState', () => {
  it('comes to the records of the last objects, whatever happened before and in which order', () => {
    fc.assert(
      fc.property(histories, (events) => {
        const cluster = new Cluster();
        for (const [event, isLastOfTurn] of events) cluster.tell(event, isLastOfTurn);
        cluster.endTurn();

        const last = new Map(events.map(([event]) => [`${event.kind} ${event.key}`, event]));
        const fresh = new Cluster();
        for (const event of [...last.values()].reverse()) fresh.tell(event);

        expect(contents(cluster.zone.forward)).toEqual(contents(fresh.zone.forward));
        expect(contents(cluster.zone.reverse)).toEqual(contents(fresh.zone.reverse));
      }),
      { numRuns: 300 },
    );
  });

  it('leaves nothing behind when every object is gone', () => {
    fc.assert(
      fc.property(histories, (events) => {
        const cluster = new Cluster();
        for (const [event, isLastOfTurn] of events) cluster.tell(event, isLastOfTurn);
        for (const [{ kind, key }] of events) cluster.tell({ kind, key, object: undefined });
        expect(contents(cluster.zone.forward)).toEqual(contents(new Cluster().zone.forward));
        expect(cluster.zone.reverse.size).toBe(0);
      }),
    );
  });

  it('hands a service on once for all events of a turn, and again for the next', async () => {
    const handedOn: string[] = [];
    const state = new ClusterState({
      putService: (key, _service, slices) => handedOn.push(`${key} ${[...slices].length}`),
      putNamespace: () => undefined,
    });
    state.services.upsert('default/web', serviceObject({ clusterIPs: ['None'] }));
    for (const name of SLICES) state.endpointSlices.upsert(name, sliceObject({ name }));
    expect(handedOn).toEqual([]);
    await Promise.resolve();
    expect(handedOn).toEqual(['default/web 3']);
    state.endpointSlices.remove('s1');
    await Promise.resolve();
    expect(handedOn).toEqual(['default/web 3', 'default/web 2']);
  });

  it('does nothing for the endpoints of a service that has an address', () => {
    let count = 0;
    const keeper = { putService: () => count++, putNamespace: () => undefined };
    const state = new ClusterState(keeper, (work) => work());
    state.services.upsert('default/web', serviceObject());
    state.endpointSlices.upsert('default/web-1', sliceObject({ endpoints: ['10.1.0.1'] }));
    state.endpointSlices.remove('default/web-1');
    expect(count).toBe(1);
  });

  it('gives the endpoints of a slice to the service that its label names now', () => {
    const { zone, state } = cluster();
    for (const name of SERVICES) {
      state.services.upsert(`default/${name}`, serviceObject({ name, clusterIPs: ['None'] }));
    }
    const hostNames = () =>
      NAMES.filter((name) => name.startsWith('a.') && exists(zone.forward, name));
    const slice = (service: string) =>
      sliceObject({ name: 's1', service, endpoints: [{ addresses: ['10.0.0.1'], hostname: 'a' }] });
    state.endpointSlices.upsert('default/s1', slice('web'));
    expect(hostNames()).toEqual(['a.web.default.svc.cluster.local']);
    state.endpointSlices.upsert('default/s1', slice('db'));
    expect(hostNames()).toEqual(['a.db.default.svc.cluster.local']);
    state.endpointSlices.upsert('default/s1', slice(''));
    expect(hostNames()).toEqual([]);
  });

  it('takes slices and services of one name in two namespaces apart', () => {
    const { zone, state } = cluster();
    for (const namespace of ['one', 'two']) {
      state.services.upsert(`${namespace}/web`, serviceObject({ namespace, clusterIPs: ['None'] }));
    }
    const endpoints = ['10.0.0.1'];
    state.endpointSlices.upsert('one/s', sliceObject({ name: 's', namespace: 'one', endpoints }));
    expect(exists(zone.forward, 'web.one.svc.cluster.local')).toBe(true);
    expect(exists(zone.forward, 'web.two.svc.cluster.local')).toBe(false);
  });

  it('lets a namespace exist below svc and below pod', () => {
    const { zone, state } = cluster();
    state.namespaces.upsert('empty', namespaceObject('empty'));
    expect(exists(zone.forward, 'empty.svc.cluster.local')).toBe(true);
    expect(exists(zone.forward, 'empty.pod.cluster.local')).toBe(true);
    state.namespaces.remove('empty');
    expect(exists(zone.forward, 'empty.svc.cluster.local')).toBe(false);
    expect(exists(zone.forward, 'empty.pod.cluster.local')).toBe(false);
  });
});
