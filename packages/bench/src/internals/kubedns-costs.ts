import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseFlags } from '@kube-dns/base';
import { parseDnsConfig } from '@kube-dns/daemon';
import {
  type ApiObject,
  ClusterState,
  ClusterZone,
  composeAnswerer,
  LineReader,
  ObjectStore,
  PROGRAM,
  QueryStatistics,
  Upstreams,
  UpstreamStatistics,
} from '@kube-dns/kubedns/internal';
import { encodeQuery, median } from '@kube-dns/testkit';
import {
  QueryForwarder,
  retryPlan,
  ServerGroup,
  UpstreamServers,
  UpstreamSockets,
} from '@kube-dns/transport';
import { MAX_MESSAGE_BYTES, Query, RCODE, SAFE_UDP_BYTES } from '@kube-dns/wire';
import { CLIENT, cpuMsOf, dearestOf, type Measured, QUIET } from './measured.js';

/** As many as `count`. */
const list = <T>(count: number, make: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i));
/** The IPv4 address with this number, in 10.0.0.0/8 from 10.`net` on. */
const addressOf = (i: number, net = 0) => `10.${net + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;

/** Takes objects as JSON has them. */
type Taker = Pick<ObjectStore<ApiObject, never>, 'put'>;
type Kind = 'service' | 'slice' | 'endpoints';

/** The zone of a cluster, and the stores that fill it. */
function emptyCluster() {
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
const headless = (namespace: string, name: string) => ({
  metadata: { namespace, name },
  spec: { clusterIP: 'None' },
});

interface SliceFields {
  readonly endpoints?: readonly object[];
  readonly ports?: readonly object[];
  readonly labels?: object;
}

/** A slice of a service. */
function sliceOf(namespace: string, service: string, name: string, fields: SliceFields) {
  const { endpoints = [], ports = [], labels } = fields;
  const own = { 'kubernetes.io/service-name': service, ...labels };
  const metadata = { namespace, name, labels: own };
  return { metadata, addressType: 'IPv4', endpoints, ports };
}

/** An endpoint for each address. */
const endpointsAt = (addresses: readonly string[]) =>
  addresses.map((address) => ({ addresses: [address] }));

const metadataOf = (what: string) => ({
  namespace: 'default',
  name: what.toLowerCase().replaceAll(' ', '-'),
});

/** As many of each as an object of 2 MiB with 100,000 brackets, commas and colons can have. */
function longObjects(): readonly (readonly [what: string, kind: Kind, object: object])[] {
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

const QUESTION_WARM_UP = 60;
const QUESTION_SAMPLES = 21;
const QUESTION_MS = { object: 1, address: 0.1, wildcard: 0.2 } as const;
const OBJECT_MS = 25;
const CONFIG_MS = 50;
const CONFIG_SAMPLES = 5;
const DOMAINS = 2_048;
/** As many labels as names may have that take 49,152 characters together. */
const LABELS = '.a'.repeat(5);

const HTTP = [{ name: 'http', port: 80, protocol: 'TCP' }];

/** Of a name server of a stub domain, a text that no other round has. */
const STUB_SERVERS: Readonly<Record<string, (round: number, i: number) => string>> = {
  'an address': (round, i) => `10.${round}.${i >> 8}.${i & 255}`,
  'an IPv6 address': (round, i) => `2001:db8:${round}::${i + 1}`,
  'a name of the cluster': (round, i) => `s${i}.ns${round}.svc.cluster.local`,
  'a name of elsewhere': (round, i) => `s${i}.r${round}.example`,
};

/** The methods of these measurements in a process of their own. */
export interface KubednsCostsMethods {
  answers(): readonly Measured[];
  objects(): Promise<readonly Measured[]>;
  configurations(): Promise<readonly Measured[]>;
}

/** What kubedns takes for one question, one object of the API and one ConfigMap, without its sockets. */
export class KubednsCosts implements KubednsCostsMethods {
  answers(): readonly Measured[] {
    const cluster = new AskedCluster();
    const object = new Map<string, number>();
    const change = cluster.addLarge();
    cluster.ask(
      object,
      ['wide', 'big'].map((name) => `${name}.default`),
      ['A', 'SRV', 'ANY'],
    );
    cluster.ask(object, ['big.default'], ['AAAA']);
    const ports = ['_p77._tcp.wide', '_no._tcp.wide', '_http._tcp.big'];
    cluster.ask(
      object,
      ports.map((name) => `${name}.default`),
      ['SRV'],
    );
    // The label of 10.20.100.5.
    cluster.ask(object, ['6438626363366363.big.default'], ['A', 'SRV']);
    const address = new Map<string, number>();
    cluster.ask(address, ['63.156.20.10.in-addr.arpa'], ['PTR', 'TXT']);
    const wildcard = new Map<string, number>();
    cluster.ask(wildcard, ['*.*.default'], ['A', 'SRV']);
    cluster.ask(object, ['big.default'], ['A', 'SRV'], change);

    cluster.addMany();
    const names = ['s.*', 'none.*', '*.*', '*.many', '_http._tcp.*.many', '_http._tcp.*.*'];
    const others = ['_no._tcp.*.*', '_http._tcp.s.*', '_no._tcp.s.*', 'h.*.many'];
    cluster.ask(wildcard, [...names, ...others, '6438626363366363.*.*'], ['A', 'SRV']);
    cluster.close();
    return Object.entries({ object, address, wildcard }).map(([kind, costs]) => {
      const atMost = QUESTION_MS[kind as keyof typeof QUESTION_MS];
      return dearestOf(`kubedns: dearest question, ${kind}`, atMost, costs);
    });
  }

  async objects(): Promise<readonly Measured[]> {
    const costs = new Map<string, number>();
    const { stores } = emptyCluster();
    stores.service.put(headless('default', 'first'));
    const first = { endpoints: endpointsAt(['10.0.0.1']) };
    stores.slice.put(sliceOf('default', 'first', 'first', first));
    for (const [what, kind, object] of longObjects()) {
      // As it comes in a watch.
      const line = Buffer.from(`${JSON.stringify(object)}\n`);
      const [parsed] = [...new LineReader().push(line)] as readonly ApiObject[];
      if (parsed?.metadata === undefined) throw new Error(`${what} were passed over`);
      const { namespace = '', name = '' } = parsed.metadata;
      if (kind !== 'service') stores.service.put(headless(namespace, name));
      costs.set(
        what,
        cpuMsOf(() => stores[kind].put(parsed)),
      );
      await nextTurn();
    }
    return [dearestOf('kubedns: dearest object of the API', OBJECT_MS, costs)];
  }

  async configurations(): Promise<readonly Measured[]> {
    const sockets = new UpstreamSockets();
    const upstreams = new Upstreams({
      log: QUIET,
      servers: new UpstreamServers(sockets, new UpstreamStatistics()),
      domain: 'cluster.local.',
      resolveOwn: () => ({ addresses: ['10.0.0.10'], target: undefined, services: [] }),
      // As its servers: each of them is compared with the addresses of this machine.
      own: { ownAddresses: [{ address: '0.0.0.0', port: 53 }] },
    });
    const costs = new Map<string, number>();
    for (const [what, serverOf] of Object.entries(STUB_SERVERS)) {
      const times: number[] = [];
      for (let round = 1; round <= CONFIG_SAMPLES; round++) {
        const entries = list(DOMAINS, (i) => [
          `d${i}.r${round}${LABELS}.test`,
          [serverOf(round, i)],
        ]);
        const stubDomains = JSON.stringify(Object.fromEntries(entries));
        const apply = () =>
          upstreams.apply(parseDnsConfig(new Map([['stubDomains', stubDomains]])));
        times.push(cpuMsOf(apply));
        await nextTurn();
      }
      costs.set(what, median(times));
    }
    upstreams.close();
    sockets.close();
    return [dearestOf(`kubedns: ConfigMap of ${DOMAINS} stub domains`, CONFIG_MS, costs)];
  }
}

/** A cluster with large services, and an answerer that is asked directly. */
class AskedCluster {
  readonly #cluster = emptyCluster();
  readonly #sockets = new UpstreamSockets();
  readonly #forwarder = new QueryForwarder({
    maxInFlight: 10,
    plan: retryPlan(1_000),
    maxUdpBytes: SAFE_UDP_BYTES,
    unsentRcode: RCODE.SERVFAIL,
  });
  readonly #answerer = composeAnswerer({
    flags: parseFlags(PROGRAM, ['--ptr=all']).values,
    version: 'dev',
    zone: this.#cluster.zone,
    forwarder: this.#forwarder,
    upstreams: { groupFor: () => new ServerGroup('.', [], 'strict') },
    federations: { isActive: false, find: () => undefined, locality: undefined },
    statistics: new QueryStatistics(),
    isSynced: () => true,
  });
  readonly #out = new Uint8Array(MAX_MESSAGE_BYTES);

  /** A service with 20,000 ports, and one with 40,000 endpoints; returns what changes a slice of that. */
  addLarge(): () => void {
    const { service } = this.#cluster.stores;
    service.put(headless('default', 'wide'));
    const ports = list(20_000, (i) => ({ name: `p${i}`, port: i + 1 }));
    const wide = list(1_000, (i) => addressOf(i, 1));
    this.#put('default', 'wide', 'wide', wide, ports);
    service.put(headless('default', 'big'));
    for (let i = 0; i < 40; i++) {
      const addresses = list(1_000, (at) => addressOf(i * 1_000 + at, 20));
      this.#put('default', 'big', `big-${i}`, addresses);
    }
    let changes = 0;
    return () => this.#put('default', 'big', 'big-x', [addressOf(++changes, 200)]);
  }

  /** 5,000 services of one namespace, and as many namespaces with one. */
  addMany(): void {
    for (let i = 0; i < 5_000; i++) {
      for (const [namespace, name] of [
        [`ns${i}`, 's'],
        ['many', `s${i}`],
      ] as const) {
        this.#cluster.stores.service.put(headless(namespace, name));
        this.#put(namespace, name, name, [addressOf(i, 1)]);
      }
    }
  }

  /** Asks each name for each type, over UDP and TCP; `before` runs before each question. */
  ask(
    costs: Map<string, number>,
    names: readonly string[],
    types: readonly string[],
    before?: () => void,
  ): void {
    for (const name of names) {
      for (const type of types) {
        for (const isOverTcp of [false, true]) {
          const after = before ? ' after a change' : '';
          const what = `${name} ${type} ${isOverTcp ? 'TCP' : 'UDP'}${after}`;
          costs.set(what, this.#cpuMsOf(name, type, isOverTcp, before));
        }
      }
    }
  }

  close(): void {
    this.#forwarder.close();
    this.#sockets.close();
  }

  #cpuMsOf(name: string, type: string, isOverTcp: boolean, before?: () => void): number {
    const qname = name.endsWith('.arpa') ? name : `${name}.svc.cluster.local`;
    const bytes = encodeQuery({ name: qname, type });
    const query = new Query();
    query.read(bytes, bytes.length, isOverTcp, SAFE_UDP_BYTES);
    const times = list(QUESTION_WARM_UP + QUESTION_SAMPLES, () => {
      before?.();
      return cpuMsOf(() => this.#answerer.answer(query, this.#out, CLIENT));
    });
    // A search with a wildcard that takes too long ends in SERVFAIL.
    const rcode = this.#out[3]! & 0x0f;
    const mayFail = name.includes('*') && rcode === RCODE.SERVFAIL;
    if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN && !mayFail) {
      throw new Error(`the answer to ${name} has rcode ${rcode}`);
    }
    return median(times.slice(QUESTION_WARM_UP));
  }

  #put(
    namespace: string,
    service: string,
    name: string,
    addresses: readonly string[],
    ports: readonly object[] = HTTP,
  ): void {
    const endpoints = endpointsAt(addresses);
    this.#cluster.stores.slice.put(sliceOf(namespace, service, name, { endpoints, ports }));
  }
}
