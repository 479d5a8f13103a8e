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

function newCluster(): { zone: ClusterZone; state: ClusterState } {
  const zone = new ClusterZone({
    domain: 'cluster.local.',
    negativeTtlSeconds: 5,
    log: keptLog(),
    now: () => 0,
  });
  return { zone, state: new ClusterState(zone) };
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

describe('ClusterState', () => {
  it('comes to the records of the last objects, whatever happened before and in which order', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(services, slices), { maxLength: 25 }), (events) => {
        const { zone, state } = newCluster();
        for (const event of events) apply(state, event);

        const last = new Map(events.map((event) => [`${event.kind} ${event.key}`, event]));
        const fresh = newCluster();
        for (const event of [...last.values()].reverse()) apply(fresh.state, event);

        expect(contents(zone.forward)).toEqual(contents(fresh.zone.forward));
        expect(contents(zone.reverse)).toEqual(contents(fresh.zone.reverse));
      }),
      { numRuns: 300 },
    );
  });

  it('leaves nothing behind when every object is gone', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(services, slices), { maxLength: 25 }), (events) => {
        const { zone, state } = newCluster();
        for (const event of events) apply(state, event);
        for (const { kind, key } of events) apply(state, { kind, key, object: undefined });
        expect(contents(zone.forward)).toEqual(contents(newCluster().zone.forward));
        expect(zone.reverse.size).toBe(0);
      }),
    );
  });

  it('gives the endpoints of a slice to the service that its label names now', () => {
    const { zone, state } = newCluster();
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
    const { zone, state } = newCluster();
    for (const namespace of ['one', 'two']) {
      state.services.upsert(`${namespace}/web`, serviceObject({ namespace, clusterIPs: ['None'] }));
    }
    const endpoints = ['10.0.0.1'];
    state.endpointSlices.upsert('one/s', sliceObject({ name: 's', namespace: 'one', endpoints }));
    expect(exists(zone.forward, 'web.one.svc.cluster.local')).toBe(true);
    expect(exists(zone.forward, 'web.two.svc.cluster.local')).toBe(false);
  });

  it('lets a namespace exist below svc and below pod', () => {
    const { zone, state } = newCluster();
    state.namespaces.upsert('empty', namespaceObject('empty'));
    expect(exists(zone.forward, 'empty.svc.cluster.local')).toBe(true);
    expect(exists(zone.forward, 'empty.pod.cluster.local')).toBe(true);
    state.namespaces.remove('empty');
    expect(exists(zone.forward, 'empty.svc.cluster.local')).toBe(false);
    expect(exists(zone.forward, 'empty.pod.cluster.local')).toBe(false);
  });
});
