import { type ApiObject, ClusterState, ClusterZone, ObjectStore } from '@kube-dns/kubedns/internal';

/** As many as `count`. */
export const list = <T>(count: number, make: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i));
/** The IPv4 address with this number, in 10.0.0.0/8 from 10.`net` on. */
export const addressOf = (i: number, net = 0) =>
  `10.${net + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;

/** Takes objects as JSON has them. */
type Taker = Pick<ObjectStore<ApiObject, never>, 'put'>;
type Kind = 'service' | 'slice' | 'endpoints';

/** The zone of a cluster, and the stores that fill it. */
export function emptyCluster() {
  const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  const state = new ClusterState({ records: zone });
  const reject = (what: string, reason: string) => {
    throw new Error(`${what}: ${reason}`);
  };
  const stores: Readonly<Record<Kind, Taker>> = {
    service: new ObjectStore(state.services, reject),
    slice: new ObjectStore(state.endpointSlices, reject),
    endpoints: new ObjectStore(state.endpoints, reject),
  };
  return { zone, stores };
}

/** A headless service. */
export const headless = (namespace: string, name: string) => ({
  metadata: { namespace, name },
  spec: { clusterIP: 'None' },
});

interface SliceFields {
  readonly endpoints?: readonly object[];
  readonly ports?: readonly object[];
  readonly labels?: object;
}

/** A slice of a service. */
export function sliceOf(namespace: string, service: string, name: string, fields: SliceFields) {
  const { endpoints = [], ports = [], labels } = fields;
  const own = { 'kubernetes.io/service-name': service, ...labels };
  const metadata = { namespace, name, labels: own };
  return { metadata, addressType: 'IPv4', endpoints, ports };
}

/** An endpoint for each address. */
export const endpointsAt = (addresses: readonly string[]) =>
  addresses.map((address) => ({ addresses: [address] }));

const metadataOf = (what: string) => ({
  namespace: 'default',
  name: what.toLowerCase().replaceAll(' ', '-'),
});

/** As many of each as an object of 2 MiB with 100,000 brackets, commas and colons can have. */
export function longObjects(): readonly (readonly [what: string, kind: Kind, object: object])[] {
  const service = (what: string, spec: object) =>
    [what, 'service', { metadata: metadataOf(what), spec }] as const;
  const slice = (what: string, fields: SliceFields) => {
    const { namespace, name } = metadataOf(what);
    return [what, 'slice', sliceOf(namespace, name, name, fields)] as const;
  };
  const endpoints = (what: string, subsets: readonly object[]) =>
    [what, 'endpoints', { metadata: metadataOf(what), subsets }] as const;
  const ip = addressOf;
  return [
    service('cluster addresses', { clusterIPs: list(40_000, (i) => ip(i)) }),
    service('IPv6 cluster addresses', {
      clusterIPs: list(40_000, (i) => `2001:db8::${i.toString(16)}`),
    }),
    service('one cluster address', { clusterIPs: list(99_000, () => '10.0.0.1') }),
    service('ports of a service', {
      clusterIP: '10.0.0.1',
      ports: list(15_000, (i) => ({ name: `p${(i * 7_919) % 15_000}`, port: i })),
    }),
    service('unnamed ports of a service', {
      clusterIP: '10.0.0.1',
      ports: list(24_000, (i) => ({ port: (i * 7_919) % 24_000 })),
    }),
    slice('addresses of an endpoint', { endpoints: [{ addresses: list(90_000, (i) => ip(i)) }] }),
    slice('endpoints', { endpoints: list(14_000, (i) => ({ addresses: [ip(i)] })) }),
    slice('ports of a slice', {
      endpoints: list(1_000, (i) => ({ addresses: [ip(i)] })),
      ports: list(15_000, (i) => ({ name: `p${15_000 - i}`, port: i })),
    }),
    slice('hostnames', {
      endpoints: list(8_000, (i) => ({ addresses: [ip(i)], hostname: `h${i}` })),
    }),
    slice('labels', { labels: Object.fromEntries(list(45_000, (i) => [`l${i}`, ''])) }),
    endpoints(
      'subsets',
      list(11_000, (i) => ({ addresses: [{ ip: ip(i) }] })),
    ),
    endpoints(
      'subsets with ports',
      list(5_000, (i) => ({ addresses: [{ ip: ip(i) }], ports: [{ port: i }] })),
    ),
    endpoints('addresses of a subset', [{ addresses: list(24_000, (i) => ({ ip: ip(i) })) }]),
  ];
}
