import { atOnce, parseFlags } from '@kube-dns/base';
import { ConfigError, NO_HOSTS, parseDnsConfig } from '@kube-dns/daemon';
import {
  allStores,
  ClusterState,
  ClusterZone,
  combineLocalNames,
  ExternalZone,
  keptFields,
  type LocalNames,
  namesBeside,
  ObjectStore,
  PROGRAM as KUBEDNS,
  RouteNames,
  StaticHosts,
  transferableExternal,
} from '@kube-dns/kubedns/internal';
import {
  addressText,
  AnswerWriter,
  buildQuery,
  CLASS,
  decodeName,
  encodeKey,
  FLAG,
  MAX_MESSAGE_BYTES,
  Query,
  RCODE,
  RCODE_MASK,
  readQuery,
  readUint16,
  RecordCursor,
  SAFE_UDP_BYTES,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import { queriesFor } from '../dns-seeds.js';
import { type CreateTarget, packetTarget, textAllowance, textTarget } from '../fuzz-target.js';
import {
  type AnyStore,
  CLUSTER_OBJECTS,
  IMPORTED_OBJECTS,
  JSON_TOKENS,
  OUTSIDE_OBJECTS,
  objectsOf,
} from './api.js';
import { checkAnswer, hasNoError, plainReply, queryTarget, startKubedns } from './servers.js';

const DB = 'db.default.svc.cluster.local';
const MANY = 'many.default.svc.cluster.local';
/** Beyond this number answers are made from slices. */
const MANY_ENDPOINTS = 1_100;

interface ZonalEndpoint {
  readonly address: string;
  readonly zone: string | undefined;
}

/** Of headless services, by name: two with one address, a zone with a dot, and none. */
const ZONAL: ReadonlyMap<string, readonly ZonalEndpoint[]> = new Map([
  [
    DB,
    [
      { address: '10.1.0.1', zone: 'zone-a' },
      { address: '10.1.0.2', zone: 'zone-b' },
      { address: '10.1.0.1', zone: 'zone-b' },
      { address: '10.1.0.3', zone: 'corp.example' },
      { address: '10.1.0.4', zone: undefined },
      { address: '10.1.0.5', zone: '' },
      { address: 'fd00::1', zone: 'zone-b' },
      { address: 'fd00::2', zone: 'zone-c' },
    ],
  ],
  [
    MANY,
    Array.from({ length: MANY_ENDPOINTS }, (_, i) => ({
      address: `10.2.${i >> 8}.${i & 255}`,
      zone: i % 550 === 0 ? 'zone-a' : 'zone-b',
    })),
  ],
]);
/** Types whose answers are judged; others may be refused. */
const JUDGED: ReadonlySet<number> = new Set([TYPE.A, TYPE.AAAA, TYPE.SRV, TYPE.TXT, TYPE.MX]);

const BESIDE_FLAGS = [
  ...['--zonal', '--external-domain=lb.test', '--route-names', '--search-zone=ap.k8s.io'],
  ...['--search-extra=corp.test', '--clusterset-domain=clusterset.local'],
];
const HOSTS = '192.0.2.1 a.example.org b.example.org\nfd00::9 a.example.org\n10.0.0.77 c.test\n';
/** A search name stands for six names, and the last of them may be a CNAME. */
const MAX_ASKED = 8;
const MAX_NAME_BYTES = 255;
/** Objects are stored twice, and read again as a snapshot has them. */
const TIMES_A_TEXT = 2;
/** Of tables that are made for each configuration. */
const TABLES_ALLOWANCE = 128 * 1024;
const ROUTES_ALLOWANCE = 64 * 1024;
const SHARED = {
  ttlSeconds: 30,
  negativeTtlSeconds: 5,
  changes: { isObserved: true, takesNames: true, add: () => undefined },
  isSynced: () => true,
};

/** Names that kubedns answers when it is asked to: questions for them, and what they are read from. */
export const ROWS = {
  /** Questions for names with a zone of the cloud, each answer beside what the endpoints say. */
  'zonal-queries': async () => {
    const server = await startKubedns({ flags: ['--zonal'], zone: zonalZone() });
    const query = new Query();
    const zones = ['zone-a.', 'ZONE-B.', 'corp.example.', 'corp\\.example.', 'zone-x.', ''];
    const labels = [
      ...zones.flatMap((zone) => [`${zone}pin._zone.`, `${zone}prefer._zone.`]),
      ...['_zone.', 'zone-b.other._zone.', ''],
    ];
    const types = ['A', 'AAAA', 'SRV', 'ANY', 'TXT'];
    return queryTarget({
      servers: [server],
      seeds: [...ZONAL.keys()].flatMap((service) =>
        labels.flatMap((label) =>
          types.flatMap((type) => queriesFor(label + service, type).slice(0, 2)),
        ),
      ),
      tokens: [
        ...['\x05_zone', '\x03pin', '\x06prefer', '\x06zone-a', '\x06zone-b', '\x04corp'],
        ...['\x07example', '\x0ccorp.example', '\x07default\x03svc', '\x02db', '\x04many', '\x01*'],
      ],
      judge: (input, answer) => {
        if (query.read(input, input.length, false, SAFE_UDP_BYTES) !== 'answer') return;
        judgeZonal(query, answer);
      },
    });
  },

  /** Questions for names beside the cluster's zone: imports, load balancers, routes, hosts and search names. */
  'beside-queries': async () => {
    const server = await startKubedns(clusterWithNamesBeside());
    const { engine, check } = server;
    const query = new Query();
    return packetTarget({
      seeds: besideNames().flatMap(([name, type]) => queriesFor(name, type)),
      tokens: [
        ...['\x06search', '\x02ap\x03k8s\x02io\0', '\x02lb\x04test\0', '\x0aclusterset\x05local\0'],
        ...['\x07example\x03com\0', '\x07example\x03org\0', '\x01*', '\x05_http', '\x04_tcp'],
        ...['\x07default', '\x04shop', '\x02db', '\x03web', '\x04east', '\x02c1\x08region-a'],
      ],
      maxBytes: 2_048,
      run: (input) => {
        engine.deliver(input);
        const answers = [...engine.answers];
        // Of names of other servers that are searched, none exists or each does.
        const rcode = input.length % 2 === 0 ? RCODE.NXDOMAIN : RCODE.NOERROR;
        let asked = 0;
        for (let sent = engine.sent.shift(); sent; sent = engine.sent.shift()) {
          if (++asked > MAX_ASKED) throw new Error('one question asks too many');
          engine.answers.length = 0;
          const reply = plainReply(sent);
          reply[3]! |= rcode;
          sent.owner.onDatagram(reply, sent.from);
          answers.push(...engine.answers);
        }
        check();
        for (const answer of answers) checkAnswer(answer, readUint16(input, 0));
        const verdict = query.read(input, input.length, false, SAFE_UDP_BYTES);
        if (verdict === 'answer' && answers.length !== 1)
          throw new Error(`${answers.length} answers to one question`);
        return answers.some(hasNoError);
      },
      close: () => server.close(),
    });
  },

  /** An object in each line: services, routes and gateways, in their order and the other way round. */
  'route-objects': () => {
    const [sink, reversed] = [new RouteSink(), new RouteSink()];
    const kinds = ['Namespace', 'Service', 'Ingress', 'HTTPRoute', 'Gateway'];
    const lines = OUTSIDE_OBJECTS.map((object, i) => JSON.stringify({ kind: kinds[i], ...object }));
    return textTarget({
      allowance: (input) => ROUTES_ALLOWANCE + TIMES_A_TEXT * textAllowance(input),
      seeds: [lines.join('\n'), ...lines.map((line) => `${lines[0]}\n${line}`)],
      tokens: [
        ...JSON_TOKENS,
        ...['"*.example.com"', '"a.example.com"', '"creationTimestamp":"2025-01-01T00:00:00Z"'],
        ...['"kind":"GRPCRoute"', '"kind":"TLSRoute"', '"kind":"HTTPRoute"', '"kind":"Ingress"'],
        ...['"kube-dns/hosts":"', '"kube-dns/target":"backend"', '"name":"web2"', ',b.example.com'],
        ...[
          '"addresses":[{"value":"192.0.2.7"}]',
          '"externalIPs":["192.0.2.9"]',
          '"::ffff:1.2.3.4"',
        ],
      ],
      parse: (text) => {
        const objects = objectsOf(text);
        try {
          for (const object of objects) sink.put(object);
          sink.check();
          const keys = objects.map(idOf);
          if (new Set(keys).size === keys.length) {
            for (const object of objects.toReversed()) reversed.put(object);
            if (reversed.content() !== sink.content())
              throw new Error('the order of objects decides');
          }
          return sink.size > 0;
        } finally {
          sink.clear();
          reversed.clear();
        }
      },
    });
  },

  /** The key `hosts` of the ConfigMap, until its names are answered. */
  'config-hosts': () => {
    const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
    const hosts = new StaticHosts({ ...SHARED, zone });
    return textTarget({
      allowance: (input) => TABLES_ALLOWANCE + textAllowance(input),
      seeds: [
        HOSTS,
        '# a\n::1\tA.b. c.d#e\r\n10.0.0.1 x.y x.y\n10.0.0.1 z.y\n0:0::1 a.b',
        '192.0.2.1 web.default.svc.cluster.local\n',
        '10.0.0.300 bad\nfe80::1%eth0 link\n1.2.3.4\n::ffff:1.2.3.4 m.n',
      ],
      tokens: [
        '192.0.2.1 ',
        '::1 ',
        '0::0:1 ',
        ' a.example.org',
        '#',
        '.',
        '::ffff:1.2.3.4 ',
        '\t',
      ],
      parse: (text) => {
        const configured = parseDnsConfig(new Map([['hosts', text]])).hosts;
        hosts.check(configured);
        atOnce(hosts.applying(configured));
        for (const host of configured.addresses.keys()) checkHost(hosts, host);
        atOnce(hosts.applying(NO_HOSTS));
        if (hosts.size > 0) throw new Error('a host is left');
        return configured.addresses.size > 0;
      },
      refusals: [ConfigError],
    });
  },
} satisfies Readonly<Record<string, CreateTarget>>;

/** The zone of the services of `ZONAL`. */
function zonalZone(): ClusterZone {
  const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  const state = new ClusterState({ records: zone, readsZones: true });
  const reject = (what: string, reason: string) => {
    throw new Error(`${what}: ${reason}`);
  };
  const services: AnyStore = new ObjectStore(state.services, reject);
  const slices: AnyStore = new ObjectStore(state.endpointSlices, reject);
  const ports = [{ name: 'sql', port: 5432, protocol: 'TCP' }];
  for (const [service, endpoints] of ZONAL) {
    const [name = ''] = service.split('.');
    const metadata = { name, namespace: 'default' };
    services.put({ metadata, spec: { clusterIP: 'None', clusterIPs: ['None'], ports } } as never);
    for (const addressType of ['IPv4', 'IPv6']) {
      const all = endpoints.flatMap(({ address, zone: inZone }, i) =>
        address.includes(':') === (addressType === 'IPv6')
          ? [{ addresses: [address], hostname: `h${i}`, ...(inZone !== undefined && { zone: inZone.toUpperCase() }) }] // prettier-ignore
          : [],
      );
      // A slice has at most 1,000 endpoints.
      for (const [i, part] of [all.slice(0, 600), all.slice(600)].entries()) {
        const labels = { 'kubernetes.io/service-name': name };
        slices.put({
          metadata: { ...metadata, name: `${name}-${addressType.toLowerCase()}-${i}`, labels },
          addressType,
          endpoints: part,
          ports,
        } as never);
      }
    }
  }
  return zone;
}

/** The labels of a lower-cased name in wire form, the first one first. */
function labelsOf({ name, nameLength }: Query): string[] {
  const labels: string[] = [];
  for (let at = 0; at < nameLength - 1; at += name[at]! + 1) {
    labels.push(Buffer.from(name.subarray(at + 1, at + 1 + name[at]!)).toString('latin1'));
  }
  return labels;
}

/** Throws where the answer about a zonal name is not what its endpoints say (coredns#8388). */
function judgeZonal(query: Query, answer: Buffer): void {
  const flags = answer.readUInt16BE(2);
  if (query.class !== CLASS.IN || !JUDGED.has(query.type) || (flags & FLAG.TC) !== 0) return;
  const labels = labelsOf(query);
  const service = EXPECTED.get(labels.slice(-5).join('.'));
  const below = labels.slice(0, -5);
  if (service === undefined || below.at(-1) !== '_zone' || labels.includes('*')) return;
  // A label with a dot in it is another name.
  if (labels.slice(-5).some((label) => label.includes('.'))) return;
  const expected = expectedAt(below.slice(0, -1), service);
  const rcode = flags & RCODE_MASK;
  if (rcode !== (expected === undefined ? RCODE.NXDOMAIN : RCODE.NOERROR))
    throw new Error(`a zonal name has RCODE ${rcode}`);
  if (query.type === TYPE.SRV) {
    if (answer.readUInt16BE(6) > 0 !== (expected?.hasAny ?? false))
      throw new Error('a zonal name has other targets');
    return;
  }
  const found = addressesIn(answer).sort().join();
  if (found !== (expected?.addresses.get(query.type) ?? ''))
    throw new Error('a zonal name has other addresses');
}

/** What an answer with some endpoints has. */
interface Expected {
  readonly hasAny: boolean;
  /** By type, in alphabetical order. */
  readonly addresses: ReadonlyMap<number, string>;
}

/** What answers about a service have: those with all of its endpoints, and those of each zone. */
interface ExpectedByZone {
  readonly all: Expected;
  readonly zones: ReadonlyMap<string, Expected>;
}

function expectedOf(endpoints: readonly ZonalEndpoint[]): Expected {
  const all = [...new Set(endpoints.map(({ address }) => address))].sort();
  const isIpv6 = (address: string) => address.includes(':');
  return {
    hasAny: endpoints.length > 0,
    addresses: new Map([
      [TYPE.A, all.filter((address) => !isIpv6(address)).join()],
      [TYPE.AAAA, all.filter(isIpv6).join()],
    ]),
  };
}

function expectedByZone(endpoints: readonly ZonalEndpoint[]): ExpectedByZone {
  const names = new Set(endpoints.flatMap(({ zone }) => (zone ? [zone] : [])));
  const inZone = (name: string) => endpoints.filter(({ zone }) => zone === name);
  return {
    all: expectedOf(endpoints),
    zones: new Map([...names].map((name) => [name, expectedOf(inZone(name))])),
  };
}

const EXPECTED = new Map([...ZONAL].map(([name, endpoints]) => [name, expectedByZone(endpoints)]));
const NOTHING = expectedOf([]);

/** What the labels before `_zone` lead to; undefined where the name does not exist. */
function expectedAt(
  labels: readonly string[],
  { all, zones }: ExpectedByZone,
): Expected | undefined {
  const directive = labels.at(-1);
  const zone = labels.slice(0, -1);
  if (directive === undefined) return NOTHING;
  if (directive !== 'pin' && directive !== 'prefer') return undefined;
  if (zone.length === 0) return NOTHING;
  // No zone has a label with a dot in it.
  const found = zone.some((label) => label.includes('.')) ? undefined : zones.get(zone.join('.'));
  return found ?? (directive === 'pin' ? NOTHING : all);
}

/** The addresses in the answer section of a message. */
function addressesIn(answer: Buffer): string[] {
  const found: string[] = [];
  const cursor = new RecordCursor().reset(answer, answer.length);
  while (cursor.next() && cursor.section === SECTION.ANSWER) {
    const { type, rdataStart, end } = cursor;
    if (type === TYPE.A || type === TYPE.AAAA)
      found.push(addressText(answer.subarray(rdataStart, end)));
  }
  return found;
}

/** A cluster whose names beside the zone are all switched on. */
function clusterWithNamesBeside() {
  const flags = parseFlags(KUBEDNS, BESIDE_FLAGS).values;
  const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
  const hosts = new StaticHosts({ ...SHARED, zone });
  atOnce(hosts.applying(parseDnsConfig(new Map([['hosts', HOSTS]])).hosts));
  const beside = namesBeside({
    flags,
    zone,
    changes: SHARED.changes,
    isSynced: SHARED.isSynced,
    isKnown: () => true,
    isDenied: () => false,
    stateOf: () => 'watching',
    isFromSnapshot: () => false,
    hosts,
    federations: { isActive: false, find: () => undefined, locality: undefined },
  });
  const state = new ClusterState({
    records: allStores(
      zone,
      beside.flatMap(({ records = [] }) => records),
    ),
    keeps: keptFields(beside),
    readsImports: true,
    readsZones: true,
  });
  const sinks = beside.flatMap(({ resources }) => resources.map(({ sink }) => sink));
  const stores = [
    ...(sinks.map((sink) => new ObjectStore(sink, () => undefined)) as unknown as AnyStore[]),
    ...storesOf(state),
  ];
  const { services, endpointSlices, namespaces } = CLUSTER_OBJECTS;
  const objects = [...namespaces, ...services, ...endpointSlices];
  for (const object of [...objects, ...OUTSIDE_OBJECTS, ...IMPORTED_OBJECTS]) {
    for (const store of stores) store.put(object);
  }
  return {
    flags: BESIDE_FLAGS,
    zone,
    localNames: combineLocalNames([hosts, ...beside.map(({ names }) => names)]),
  };
}

function storesOf(state: ClusterState): AnyStore[] {
  const { services, endpointSlices, namespaces } = state;
  return [services, endpointSlices, namespaces].map(
    (sink) => new ObjectStore(sink as never, () => undefined),
  );
}

/** Names of each source, such as exist and such as do not. */
function besideNames(): (readonly [name: string, type: string])[] {
  const names = [
    ...['web.default', 'db.default', 'db-0.east.db.default', 'db-0.c1.region-a.db.default'].map(
      (name) => `${name}.svc.clusterset.local`,
    ),
    ...['_http._tcp.web.default', '_dns._udp.db.default', 'east.db.default'].map(
      (name) => `${name}.svc.clusterset.local`,
    ),
    ...['clusterset.local', 'dns-version.clusterset.local', 'ns.dns.clusterset.local'],
    ...[
      'lb.test',
      'ns.dns.lb.test',
      'shop.lb.test',
      'web.shop.lb.test',
      '_http._tcp.web.shop.lb.test',
    ],
    ...['a.example.com', 'x.example.com', 'x.b.example.com', 'c.example.com', 'example.com'],
    ...['a.example.org', 'c.test', '1.2.0.192.in-addr.arpa', '77.0.0.10.in-addr.arpa'],
    ...['web', 'web.default', 'db-0.db', '_http._tcp.web', 'a.example.org', 'n.example.net'].map(
      (name) => `${name}.search.default.cluster.local.ap.k8s.io`,
    ),
    ...['x.search.cluster.local.ap.k8s.io', 'ap.k8s.io', 'web.search.default.lb.test'],
  ];
  const types = ['A', 'SRV', 'AAAA', 'ANY', 'SOA', 'NS', 'TXT', 'PTR'];
  return names.flatMap((name, i) => [
    [name, 'A'] as const,
    [name, types[i % types.length]!] as const,
  ]);
}

/** Kind, namespace and name, as text in any case. */
function idOf(object: object): string {
  const { kind, metadata } = object as { kind?: unknown; metadata?: unknown };
  const { namespace, name } = Object(metadata) as { namespace?: unknown; name?: unknown };
  return JSON.stringify([kind, namespace ?? '', name]);
}

const KINDS: Readonly<Record<string, string>> = {
  ingresses: 'Ingress',
  httproutes: 'HTTPRoute',
  grpcroutes: 'GRPCRoute',
  tlsroutes: 'TLSRoute',
  gateways: 'Gateway',
};

/** Services, namespaces, routes and gateways in what `--route-names` and `--external-domain` make of them. */
class RouteSink {
  readonly #names: RouteNames;
  readonly #external = new ExternalZone({
    ...SHARED,
    domain: 'lb.test.',
    ownRecords: () => ({
      ipv4: { size: 4, bytes: '' },
      ipv6: { size: 16, bytes: '' },
      target: undefined,
    }),
  });
  /** By kind. */
  readonly #sinks: ReadonlyMap<string, unknown>;
  readonly #stores: ReadonlyMap<string, AnyStore>;
  readonly #stored: object[] = [];

  constructor() {
    const zone = new ClusterZone({ domain: 'cluster.local.', negativeTtlSeconds: 5 });
    const names = new RouteNames({ ...SHARED, zone, isSettled: () => true });
    const external = this.#external;
    const records = allStores(zone, [
      { putService: (key, service) => external.putService(key, service) },
      {
        putService: (key, service) => names.putService(key, service),
        putNamespace: (...namespace) => names.putNamespace(...namespace),
      },
    ]);
    const state = new ClusterState({ records, keeps: { outside: true, hostNames: true } });
    this.#names = names;
    this.#sinks = new Map<string, unknown>([
      ['Namespace', state.namespaces],
      ['Service', state.services],
      ...names.resources.map(({ resource, sink }) => [KINDS[resource]!, sink] as const),
    ]);
    this.#stores = new Map(
      [...this.#sinks].map(([kind, sink]) => [
        kind,
        new ObjectStore(sink as never, () => undefined),
      ]),
    );
  }

  /** Names that lead to something. */
  get size(): number {
    return this.#names.index.size + this.#external.size;
  }

  put(object: object): void {
    this.#stored.push(object);
    this.#storeOf(object)?.put(object);
  }

  #storeOf({ kind }: { readonly kind?: unknown }): AnyStore | undefined {
    return typeof kind === 'string' ? this.#stores.get(kind) : undefined;
  }

  /** What is answered, as a text: equal of equal objects. */
  content(): string {
    const all = [
      ...[...this.#names.hosts()].map((host) => JSON.stringify(host)),
      ...[...this.#names.conflicts()].map((conflict) => JSON.stringify(conflict)),
      ...[...this.#external.services].map(({ key, records }) => JSON.stringify([key, records])),
    ];
    return all.sort().join('\n');
  }

  /** Throws where a snapshot would be another object, a host is found wrongly, or a name is too long. */
  check(): void {
    for (const [kind, store] of this.#stores) {
      const sink = this.#sinks.get(kind) as RouteNames['resources'][number]['sink'];
      for (const object of store.objects()) {
        const { namespace, name, resourceVersion = '' } = object.metadata!;
        const key = namespace === undefined ? name! : `${namespace}/${name}`;
        const again = sink.project(key, object, (reason) => {
          throw new Error(`a snapshot has what is refused: ${reason}`);
        });
        const copy = Object.assign(again as object, { version: resourceVersion });
        if (JSON.stringify(sink.objectOf(key, copy as never)) !== JSON.stringify(object))
          throw new Error('a snapshot has another object');
      }
    }
    const hosts = new Set(Array.from(this.#names.hosts(), ({ host }) => host));
    const existing = new Set([...hosts].flatMap(upwards));
    for (const host of hosts) {
      const above = host.slice(host.indexOf('.') + 1);
      for (const name of [host, above, `x.${host}`, `x.${above}`, `x.y.${above}`]) {
        if (name.length + 2 > MAX_NAME_BYTES) continue;
        const wire = encodeKey(name);
        if (this.#names.index.find(wire, wire.length)?.host !== expectedHost(name, hosts, existing))
          throw new Error('a name leads to another host');
      }
    }
    const records = transferableExternal(this.#external, 30).openView().records();
    for (let next = records.next(); next.done !== true; next = records.next()) {
      if ((next.value?.owner.length ?? 0) > MAX_NAME_BYTES) throw new Error('a name is too long');
    }
  }

  /** Throws where something is left of what was put. */
  clear(): void {
    for (const object of this.#stored) this.#storeOf(object)?.delete(object);
    this.#stored.length = 0;
    const { index, allowedNamespaces } = this.#names;
    if (this.size + index.conflicts.size + allowedNamespaces > 0) throw new Error('a host is left');
  }
}

/** The host that a name is, or whose wildcard it matches: below its closest encloser (RFC 4592 section 3.3.1), the longest of those that exist. */
function expectedHost(
  name: string,
  hosts: ReadonlySet<string>,
  existing: ReadonlySet<string>,
): string | undefined {
  const encloser = upwards(name).find((each) => existing.has(each));
  const found = encloser === name ? name : `*.${encloser}`;
  return hosts.has(found) ? found : undefined;
}

/** A name, and those above it but the root. */
function upwards(name: string): string[] {
  const labels = name.split('.');
  return labels.map((_, i) => labels.slice(i).join('.'));
}

const writer = new AnswerWriter();
const out = Buffer.alloc(MAX_MESSAGE_BYTES);

/** Throws where a configured host has no answer, or one record twice (RFC 2181 section 5). */
function checkHost(names: LocalNames, host: string): void {
  const name = encodeKey(host);
  const found: string[] = [];
  for (const type of [TYPE.A, TYPE.AAAA, TYPE.MX]) {
    if (!names.find(name, name.length)) throw new Error('a host is not found');
    const query = readQuery(buildQuery(name, type), true);
    writer.begin(query, out);
    names.answer(type, writer);
    const answer = out.subarray(0, writer.finish());
    checkAnswer(answer, query.id);
    found.push(...addressesIn(answer));
  }
  if (found.length === 0) throw new Error(`${decodeName(name)} has no address`);
  if (new Set(found).size < found.length) throw new Error('a host has one address twice');
}
