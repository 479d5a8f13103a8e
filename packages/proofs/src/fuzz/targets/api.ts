import {
  allStores,
  ApiError,
  type ApiObject,
  ClusterState,
  ClusterZone,
  ExternalZone,
  ImportedZone,
  ItemReader,
  LineReader,
  ObjectStore,
  parseRetryAfter,
  readClusterHeader,
  readEvent,
  RouteNames,
  serviceImports,
  snapshotLine,
  SnapshotLines,
  StreamError,
  transferableImports,
} from '@kube-dns/kubedns/internal';
import { SnapshotError, type SnapshotHeader } from '@kube-dns/daemon';
import { type CreateTarget, textTarget } from '../fuzz-target.js';

/** An error of JSON takes a kilobyte. */
const MAX_LINES = 32;

const PORTS = [
  { name: 'http', port: 80, protocol: 'TCP' },
  { name: 'dns', port: 53, protocol: 'UDP' },
];

function service(name: string, spec: object): object {
  return {
    metadata: { name, namespace: 'default', resourceVersion: '7' },
    spec: { ports: PORTS, ...spec },
  };
}

/** A few objects of a cluster, as the API has them: each kind of service, and endpoints. */
export const CLUSTER_OBJECTS = {
  services: [
    service('web', {
      type: 'ClusterIP',
      clusterIP: '10.0.0.1',
      clusterIPs: ['10.0.0.1', 'fd00::1'],
    }),
    service('db', { clusterIP: 'None', clusterIPs: ['None'] }),
    service('out', { type: 'ExternalName', externalName: 'n0.ok' }),
    service('loop', { type: 'ExternalName', externalName: 'loop.default.svc.cluster.local' }),
    service('inside', { type: 'ExternalName', externalName: 'web.default.svc.cluster.local' }),
  ],
  endpointSlices: [
    {
      metadata: {
        name: 'db-1',
        namespace: 'default',
        resourceVersion: '8',
        labels: { 'kubernetes.io/service-name': 'db' },
      },
      addressType: 'IPv4',
      endpoints: [
        { addresses: ['10.1.0.1'], hostname: 'db-0', conditions: { ready: true } },
        { addresses: ['10.1.0.2'], targetRef: { kind: 'Pod', name: 'db-1' } },
        { addresses: ['10.1.0.3'], conditions: { ready: false } },
      ],
      ports: PORTS,
    },
  ],
  endpoints: [
    {
      metadata: { name: 'old', namespace: 'default', resourceVersion: '9' },
      subsets: [{ addresses: [{ ip: '10.1.0.9', hostname: 'old-0' }], ports: PORTS }],
    },
  ],
  namespaces: [{ metadata: { name: 'default', resourceVersion: '3' } }],
};

const ADDRESSES = [{ ip: '192.0.2.1' }, { hostname: 'lb.example.net' }];
const BACKEND = { 'kube-dns/target': 'backend' };
const named = (name: string, annotations?: object) => ({
  metadata: {
    name,
    namespace: 'shop',
    creationTimestamp: '2026-01-01T00:00:00Z',
    resourceVersion: '5',
    annotations,
  },
});

/** What names from outside are made of. */
export const OUTSIDE_OBJECTS: readonly object[] = [
  {
    metadata: { name: 'shop', resourceVersion: '4', labels: { 'kube-dns/host-names': 'true' } },
  },
  {
    ...named('web', {
      'external-dns.alpha.kubernetes.io/hostname': 'a.example.com,*.example.com',
      'kube-dns/hosts': 'b.example.com',
    }),
    spec: {
      clusterIP: '10.0.0.1',
      clusterIPs: ['10.0.0.1'],
      externalIPs: ['192.0.2.9'],
      ports: PORTS,
    },
    status: { loadBalancer: { ingress: ADDRESSES } },
  },
  {
    ...named('web', BACKEND),
    spec: {
      rules: [
        { host: 'a.example.com', http: { paths: [{ backend: { service: { name: 'web' } } }] } },
        { host: '*.b.example.com' },
      ],
    },
    status: { loadBalancer: { ingress: ADDRESSES } },
  },
  {
    ...named('route'),
    spec: {
      hostnames: ['c.example.com'],
      parentRefs: [{ name: 'gate', namespace: 'shop' }],
      rules: [{ backendRefs: [{ name: 'web' }] }],
    },
    status: {
      parents: [{ parentRef: { name: 'x' }, conditions: [{ type: 'Accepted', status: 'False' }] }],
    },
  },
  {
    ...named('gate'),
    status: { addresses: [{ value: '192.0.2.7' }, { type: 'Hostname', value: 'g.example' }] },
  },
];

const imported = (name: string, spec: object) => ({
  apiVersion: 'multicluster.x-k8s.io/v1beta1',
  kind: 'ServiceImport',
  metadata: { name, namespace: 'default', resourceVersion: '6' },
  spec: { ports: PORTS, ...spec },
});
const importedSlice = (cluster: string, addressType: string, addresses: string[]) => ({
  metadata: {
    name: `db-${cluster}`,
    namespace: 'default',
    resourceVersion: '7',
    labels: {
      'multicluster.kubernetes.io/service-name': 'db',
      'multicluster.kubernetes.io/source-cluster': cluster,
    },
  },
  addressType,
  endpoints: [
    { addresses, hostname: 'db-0' },
    { addresses, conditions: { ready: null } },
  ],
  ports: PORTS,
});

/** Services of other clusters, and their endpoints. */
export const IMPORTED_OBJECTS: readonly object[] = [
  imported('web', { type: 'ClusterSetIP', ips: ['10.42.0.1', 'fd42::1'] }),
  imported('db', { type: 'Headless' }),
  importedSlice('east', 'IPv4', ['10.1.0.1']),
  importedSlice('c1.region-a', 'IPv6', ['fd00::1']),
];

const IMPORT_TOKENS = [
  ...['"type":"Headless"', '"type":"ClusterSetIP"', '"ips":["10.42.0.1"]', '"ips":[', '"port":53'],
  ...['"multicluster.kubernetes.io/service-name":"db"', '"hostname":"db-0"', '"ready":false'],
  ...['"multicluster.kubernetes.io/source-cluster":"a.b"', '"protocol":"SCTP"', '"name":""'],
];

export const JSON_TOKENS = [
  ...['"', '[', ']', '{', '}', ':', ',', '\n', 'null', '[]', '{}', '"items":[', '"metadata":{'],
  ...['"a":', '"name":', '"namespace":', '"spec":', '"ports":', '"clusterIP":"None"'],
  ...['"clusterIPs":[null]', '"type":"ExternalName"', '"externalName":"a.b"', '"endpoints":['],
  ...['"addresses":["10.0.0.1"]', '"type":"ADDED"', '"type":"DELETED"', '"type":"ERROR"'],
  ...['"object":', '"labels":{', '"subsets":[', '"kubernetes.io/service-name":"db"'],
  ...['"hostnames":["*.a.b"]', '"host":"a.b"', '"rules":[', '"parentRefs":[{"name":"gate"}]'],
  ...['"ingress":[{"ip":"1.2.3.4"}]', '"hostname":"x.y"', '"annotations":{', '"status":{'],
  ...['"resourceVersion":"1"', '\\u0000', '\\ud800', '\\"', '1e999'],
];

/** What the Kubernetes API sends, from its bytes to the zone. */
export const ROWS = {
  'list-stream': () => {
    const sink = new ClusterSink();
    const metadata = { resourceVersion: '12', continue: 'x' };
    const lists = [...Object.values(CLUSTER_OBJECTS), OUTSIDE_OBJECTS].map((items) => ({
      kind: 'List',
      metadata,
      items,
    }));
    return textTarget({
      seeds: [
        ...lists.map((list) => JSON.stringify(list)),
        ...lists.map((list) => JSON.stringify(list, undefined, 1)),
        '{"kind":"Status","code":410}',
        '{"items":null,"metadata":{"resourceVersion":"1"}}',
      ],
      tokens: JSON_TOKENS,
      parse: (text) => {
        const reader = new ItemReader('List');
        try {
          for (const chunk of chunksOf(text)) for (const item of reader.push(chunk)) sink.put(item);
          reader.finish();
        } finally {
          sink.clear();
        }
        return true;
      },
      refusals: [StreamError],
    });
  },

  'watch-stream': () => {
    const sink = new ClusterSink();
    const objects = [...Object.values(CLUSTER_OBJECTS).flat(), ...OUTSIDE_OBJECTS];
    const events = objects.map((object) => JSON.stringify({ type: 'ADDED', object }));
    const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '13' } } };
    return textTarget({
      seeds: [
        ...events.map((event) => `${event}\n`),
        `${events.slice(0, 3).join('\n')}\n`,
        `${events[0]}\n${events[0]!.replace('ADDED', 'DELETED')}\n`,
        `${JSON.stringify(bookmark)}\n`,
        '{"type":"ERROR","object":{"code":410,"message":"gone","details":{"retryAfterSeconds":1}}}\n',
        'Sat, 21 Nov 2026 10:00:00 GMT',
      ],
      tokens: JSON_TOKENS,
      parse: (text) => {
        const lines = new LineReader();
        parseRetryAfter(text, () => 0);
        let isAccepted = false;
        try {
          for (const chunk of chunksOf(text)) {
            for (const line of lines.push(chunk)) {
              const event = readEvent(line);
              isAccepted ||= event !== undefined;
              if (event?.type === 'DELETED') sink.delete(event.object);
              else if (event !== undefined && event.type !== 'BOOKMARK') sink.put(event.object);
            }
          }
        } finally {
          sink.clear();
        }
        return isAccepted;
      },
      refusals: [StreamError, ApiError],
    });
  },

  // An object in each line: ServiceImports and slices, as projected, indexed, kept in a snapshot and transferred.
  'service-imports': () => {
    const sink = new ImportSink();
    const lines = IMPORTED_OBJECTS.map((object) => JSON.stringify(object));
    return textTarget({
      seeds: [lines.join('\n'), ...lines, lines.slice(1).join('\n')],
      tokens: [...JSON_TOKENS, ...IMPORT_TOKENS],
      parse: (text) => {
        let isAccepted = false;
        try {
          for (const object of objectsOf(text)) isAccepted = sink.put(object) || isAccepted;
          sink.check();
        } finally {
          sink.clear();
        }
        return isAccepted;
      },
      refusals: [],
    });
  },

  // The header of a snapshot, then its lines.
  'snapshot-lines': () => {
    const state = { version: '12', uid: 'u' };
    const header = JSON.stringify({
      kind: 'kubedns',
      writtenMs: 1,
      endpointNames: 'hash',
      hiddenNamespaces: [],
      clusterVersion: '',
      resources: { services: state, endpointslices: state, namespaces: state },
    });
    const { services, endpointSlices, namespaces } = CLUSTER_OBJECTS;
    const lines = [
      ...services.map((object) => snapshotLine('services', object)),
      ...endpointSlices.map((object) => snapshotLine('endpointslices', object)),
      ...namespaces.map((object) => snapshotLine('namespaces', object)),
      ...OUTSIDE_OBJECTS.map((object) => snapshotLine('ingresses', object)),
      ...IMPORTED_OBJECTS.map((object) => snapshotLine('serviceimports', object)),
    ];
    const sink = new ClusterSink();
    return textTarget({
      seeds: [`${header}\n${lines.join('\n')}`, ...lines.map((line) => `${header}\n${line}`)],
      tokens: [
        ...JSON_TOKENS,
        ...[
          '"resource":"services"',
          '"resource":"endpointslices"',
          '"resource":"httproutes"',
          '"uid":',
        ],
      ],
      parse: (text) => {
        const [head = '', ...rest] = text.split('\n');
        readClusterHeader(headerOf(head), {
          endpointNames: 'hash',
          hiddenNamespaces: [],
          namesBeside: [],
        });
        const reader = new SnapshotLines();
        try {
          for (const line of rest) sink.put(reader.read(line).object);
          sink.checkSnapshot();
        } finally {
          sink.clear();
        }
        return true;
      },
      refusals: [StreamError, SnapshotError],
    });
  },
} satisfies Readonly<Record<string, CreateTarget>>;

/** A text in pieces of a few sizes, which its length decides: as a connection may bring it. */
function chunksOf(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const size = [bytes.length, 1_000, 100, 17][bytes.length % 4]! || 1;
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  return chunks;
}

/** The objects of the first lines that look like some: another parser is for lines that do not. */
export function objectsOf(text: string): object[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  return lines.slice(0, MAX_LINES).flatMap((line) => {
    try {
      return JSON.parse(line) as object;
    } catch {
      return [];
    }
  });
}

/** A header as `decodeSnapshot` passes it on. */
function headerOf(text: string): SnapshotHeader {
  try {
    const header = (JSON.parse(text) ?? {}) as SnapshotHeader;
    if (typeof header.kind === 'string') return header;
  } catch {
    // It is refused below.
  }
  throw new SnapshotError('it has no header');
}

/** Takes objects as JSON has them: what they are is for the store to find out. */
export type AnyStore = Pick<ObjectStore<ApiObject, never>, 'put' | 'delete' | 'objects' | 'size'>;

/** The stores of each kind, of one zone. */
function storesOf(reject: (what: string, reason: string) => void): readonly AnyStore[] {
  const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  const { records, resources } = outsideNames(zone);
  const state = new ClusterState({
    records: allStores(zone, records),
    keeps: { outside: true, hostNames: true },
  });
  const optional = resources.map(({ sink }) => new ObjectStore(sink, reject));
  return [
    ...(optional as unknown as AnyStore[]), // each takes what its sink reads
    new ObjectStore(state.services, reject),
    new ObjectStore(state.endpointSlices, reject),
    new ObjectStore(state.endpoints, reject),
    new ObjectStore(state.namespaces, reject),
  ];
}

/** The names beside the zone that objects have, and what is watched for them. */
function outsideNames(zone: ClusterZone) {
  const shared = {
    ttlSeconds: 30,
    negativeTtlSeconds: 5,
    changes: { isObserved: true, takesNames: true, add: () => undefined },
    isSynced: () => true,
  };
  const none = {
    ipv4: { size: 4, bytes: '' },
    ipv6: { size: 16, bytes: '' },
    target: undefined,
  } as const;
  const external = new ExternalZone({ ...shared, domain: 'lb.test.', ownRecords: () => none });
  const routes = new RouteNames({ ...shared, zone, isSettled: () => true });
  return {
    resources: routes.resources,
    records: [
      { putService: external.putService.bind(external) },
      {
        putService: routes.putService.bind(routes),
        putNamespace: routes.putNamespace.bind(routes),
      },
    ],
  };
}

/** Objects as kubedns takes them from the API, of all kinds into one zone, and out of it again. */
class ClusterSink {
  readonly #stores = storesOf(() => undefined);
  readonly #copies = storesOf((what, reason) => {
    throw new Error(`a snapshot has what is refused: ${what}: ${reason}`);
  });
  readonly #stored: ApiObject[] = [];

  /** Each store gets objects of every kind. */
  put(object: unknown): void {
    const stored = object as ApiObject;
    for (const store of this.#stores) store.put(stored);
    this.#stored.push(stored);
  }

  /** Throws where what is stored would not be taken again from a snapshot of it. */
  checkSnapshot(): void {
    for (const [i, store] of this.#stores.entries()) {
      const copy = this.#copies[i]!;
      for (const object of store.objects()) copy.put(object);
      const { size } = copy;
      for (const object of store.objects()) copy.delete(object);
      if (size !== store.size) throw new Error('a snapshot has not all that is stored');
    }
  }

  delete(object: unknown): void {
    for (const store of this.#stores) store.delete(object as ApiObject);
  }

  /** Forgets all that was put, as their deletion would. */
  clear(): void {
    for (const object of this.#stored) this.delete(object);
    this.#stored.length = 0;
  }
}

const MAX_NAME_BYTES = 255;

/** ServiceImports and slices in a zone of imports, as its secondaries get it. */
class ImportSink {
  readonly #zone = new ImportedZone({
    domain: 'clusterset.local.',
    negativeTtlSeconds: 5,
    changes: { isObserved: true, add: () => undefined },
  });
  readonly #cluster = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  readonly #resource = serviceImports((key, after) => this.#zone.putImport(key, after));
  readonly #stores: readonly AnyStore[];
  readonly #stored: ApiObject[] = [];

  constructor() {
    const replaceSlice = this.#zone.replaceSlice.bind(this.#zone);
    const records = allStores(this.#cluster, [{ replaceSlice }]);
    const state = new ClusterState({ records, readsImports: true });
    const reject = () => undefined;
    this.#stores = [
      new ObjectStore(this.#resource.sink, reject),
      new ObjectStore(state.endpointSlices, reject),
    ];
  }

  /** Whether a ServiceImport was taken. */
  put(object: unknown): boolean {
    const stored = object as ApiObject;
    this.#stored.push(stored);
    const [imports] = this.#stores as [AnyStore];
    const { size } = imports;
    for (const store of this.#stores) store.put(stored);
    return imports.size > size;
  }

  /** Throws where a snapshot would be another object, or a record of a transfer has no valid name. */
  check(): void {
    const { sink } = this.#resource;
    for (const object of this.#stores[0]!.objects()) {
      const again = sink.project('', object, (reason) => {
        throw new Error(`a snapshot has what is refused: ${reason}`);
      });
      const key = `${object.metadata?.namespace}/${object.metadata?.name}`;
      const copy = Object.assign(again, { version: object.metadata?.resourceVersion ?? '' });
      if (JSON.stringify(sink.objectOf(key, copy)) !== JSON.stringify(object))
        throw new Error('a snapshot has another object');
    }
    const zone = transferableImports(this.#zone, {
      cluster: this.#cluster,
      ttlSeconds: 30,
      serverAddresses: () => [],
      isKnown: () => true,
    });
    const records = zone.openView().records();
    for (let next = records.next(); next.done !== true; next = records.next()) {
      if ((next.value?.owner.length ?? 0) > MAX_NAME_BYTES) throw new Error('a name is too long');
    }
  }

  /** Throws where something is left of what was put. */
  clear(): void {
    for (const object of this.#stored) for (const store of this.#stores) store.delete(object);
    this.#stored.length = 0;
    if (this.#zone.imports.size > 0) throw new Error('an import is left');
  }
}

/** The zone of the cluster of these objects. Throws when one of them is rejected. */
export function smallZone(): ClusterZone {
  const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  const state = new ClusterState({ records: zone });
  const reject = (what: string, reason: string) => {
    throw new Error(`${what}: ${reason}`);
  };
  const services: AnyStore = new ObjectStore(state.services, reject);
  const slices: AnyStore = new ObjectStore(state.endpointSlices, reject);
  for (const object of CLUSTER_OBJECTS.services) services.put(object);
  for (const object of CLUSTER_OBJECTS.endpointSlices) slices.put(object);
  return zone;
}
