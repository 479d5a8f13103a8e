import { stepsOf } from './support/steps.js';
import { expect, it } from '@jest/globals';
import { ClusterState } from '../src/watch/projections.js';
import { LineReader } from '../src/watch/json-stream.js';
import { type ApiObject, ObjectStore } from '../src/watch/store.js';
import { ClusterZone } from '../src/zone/cluster-zone.js';

/** Of the longest list of ports, which has no limit of its own but that of the object. */
const MAX_STEPS = 1_500_000;
const MAX_GROWTH = 2.5;

let leftOut = 0;

/** Where the objects of each kind go. */
type Stores = Readonly<Record<'service' | 'slice' | 'endpoints', { put(object: ApiObject): void }>>;

function createStores(): Stores {
  const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  const state = new ClusterState({ records: zone });
  const onRejected = (what: string, reason: string) => {
    if (!/^\d+ more /.test(reason)) throw new Error(`${what}: ${reason}`);
    leftOut++;
  };
  return {
    service: new ObjectStore(state.services, onRejected),
    slice: new ObjectStore(state.endpointSlices, onRejected),
    endpoints: new ObjectStore(state.endpoints, onRejected),
  };
}

const list = (count: number, make: (i: number) => unknown) =>
  Array.from({ length: count }, (_, i) => make(i));
const addressOf = (i: number) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;

/** An object of the API; its name is that of the service, too. */
function objectOf(kind: keyof Stores, fields: object, labels: object = {}) {
  const own = { 'kubernetes.io/service-name': 'web', ...labels };
  const metadata = { namespace: 'default', name: 'web', labels: own };
  return { kind, object: { metadata, ...fields } };
}
const service = (spec: object) => objectOf('service', { spec });
const slice = (fields: object, labels?: object) =>
  objectOf('slice', { addressType: 'IPv4', ...fields }, labels);
const endpoints = (subsets: unknown[]) => objectOf('endpoints', { subsets });

/** `share` 1 has as many of each as an object of 2 MiB with 100,000 brackets, commas and colons can have. */
const OBJECTS: Readonly<Record<string, (share: number) => ReturnType<typeof objectOf>>> = {
  'cluster addresses': (share) => service({ clusterIPs: list(40_000 * share, addressOf) }),
  'IPv6 cluster addresses': (share) =>
    service({ clusterIPs: list(40_000 * share, (i) => `2001:db8::${i.toString(16)}`) }),
  'one cluster address': (share) => service({ clusterIPs: list(99_000 * share, () => '10.0.0.1') }),
  'ports of a service': (share) =>
    service({
      clusterIP: '10.0.0.1',
      ports: list(15_000 * share, (i) => ({ name: `p${(i * 7_919) % 15_000}`, port: i })),
    }),
  'unnamed ports of a service': (share) =>
    service({
      clusterIP: '10.0.0.1',
      ports: list(24_000 * share, (i) => ({ port: (i * 7_919) % 24_000 })),
    }),
  'addresses of an endpoint': (share) =>
    slice({ endpoints: [{ addresses: list(90_000 * share, addressOf) }] }),
  endpoints: (share) =>
    slice({ endpoints: list(14_000 * share, (i) => ({ addresses: [addressOf(i)] })) }),
  'ports of a slice': (share) =>
    slice({
      endpoints: list(1_000, (i) => ({ addresses: [addressOf(i)] })),
      ports: list(15_000 * share, (i) => ({ name: `p${15_000 - i}`, port: i })),
    }),
  hostnames: (share) =>
    slice({
      endpoints: list(8_000 * share, (i) => ({ addresses: [addressOf(i)], hostname: `h${i}` })),
    }),
  labels: (share) =>
    slice({}, Object.fromEntries(Array.from({ length: 45_000 * share }, (_, i) => [`l${i}`, '']))),
  subsets: (share) =>
    endpoints(list(11_000 * share, (i) => ({ addresses: [{ ip: addressOf(i) }] }))),
  'subsets with ports': (share) =>
    endpoints(
      list(5_000 * share, (i) => ({ addresses: [{ ip: addressOf(i) }], ports: [{ port: i }] })),
    ),
  'addresses of a subset': (share) =>
    endpoints([{ addresses: list(24_000 * share, (i) => ({ ip: addressOf(i) })) }]),
};

/** The steps of storing an object that came as a line of a watch. */
function stepsOfStoring({ kind, object }: ReturnType<typeof objectOf>): number {
  const stores = createStores();
  const { object: headless } = service({ clusterIPs: ['None'] });
  stores.service.put(headless);
  const [parsed] = new LineReader().push(Buffer.from(`${JSON.stringify(object)}\n`));
  if (!Object.hasOwn(parsed as object, 'metadata')) throw new Error('the object was passed over');
  return stepsOf(() => stores[kind].put(parsed as typeof object));
}

it.each(Object.entries(OBJECTS))(
  'an object of the API with as many %s as it can have is stored in a limited number of steps',
  (_what, make) => {
    const [half, whole] = [stepsOfStoring(make(0.5)), stepsOfStoring(make(1))];
    expect(whole).toBeGreaterThan(0);
    expect(whole).toBeLessThan(MAX_STEPS);
    expect(whole).toBeLessThan(half * MAX_GROWTH);
  },
);

it('more of an object than is used is left out, which is counted', () => {
  leftOut = 0;
  stepsOfStoring(OBJECTS['cluster addresses']!(1));
  expect(leftOut).toBe(1);
});
