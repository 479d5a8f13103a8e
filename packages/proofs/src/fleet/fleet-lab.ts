import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderFolder } from '@kube-dns/cli';
import {
  becomesTrue,
  ConfigVolume,
  nodeFlagsOf,
  MeasureError,
  monotonicMs,
  NodeCache,
  type Owned,
  Remote,
  type RunningProgram,
} from '@kube-dns/testkit';
import { HostNetwork } from '../fixtures/host-network.js';
import { startDnsmasq, startKubedns } from '../fixtures/pod-containers.js';
import type { CrowdPoint } from '../outage/crowd.js';
import { API_PORT, type FleetDriverMethods, type FleetPage, type Point } from './fleet-driver.js';

/** How many of each, and with what they are started. */
export interface FleetOptions {
  readonly node: string;
  readonly nodeFlags: readonly string[];
  /** DNS pods behind the Service. */
  readonly pods: number;
  /** kubedns of their own behind a Service of their own; 0: one in each pod. */
  readonly servers: number;
  readonly nodeCaches: number;
  readonly slotsPerKind: number;
  /** Further services, 0 unless given. */
  readonly crowd?: number;
  /** Where each kubedns and each node-cache has its snapshot; none has one unless given. */
  readonly snapshots?: string;
}

/** A program of the lab: what can happen to it. */
export interface FleetProgram {
  readonly name: string;
  readonly host: string;
  /** Sends SIGKILL, and waits for the end. */
  readonly kill: () => Promise<void>;
  /** Starts it again, and waits until it is ready. */
  readonly start: () => Promise<void>;
  readonly signal: (signal: 'SIGSTOP' | 'SIGCONT') => void;
  /** The process ID of the last one of it. */
  readonly pid: () => number;
  /** Where it keeps its snapshot; '' where it has none. */
  readonly snapshot: string;
  /** What the last one of it has printed. */
  readonly output: () => string;
}

/** A Service, and the hosts that it leads to. */
interface Service {
  readonly address: string;
  readonly port: number;
  readonly ofPort: number;
  readonly clients: readonly string[];
  readonly backends: Map<string, string>;
}

const NETWORK = '10.99.0';
const CLUSTER = 'cluster';
const CLUSTER_ADDRESS = `${NETWORK}.1`;
const FIRST_POD = 10;
const FIRST_SERVER = 50;
const FIRST_NODE = 100;
const DNS_SERVICE = '10.96.0.10';
const KUBEDNS_SERVICE = '10.96.0.11';
/** On the node's loopback, as in the manifests. */
const LOCAL_ADDRESS = '169.254.20.10';
const PORT = { dns: 53, kubedns: 10_053, readiness: 8081, metrics: 10_055, dnsmasqMetrics: 9153 };
const START_LIMIT_MS = 60_000;
const STEP_MS = 5;
const NODE_CACHE_FOLDER = fileURLToPath(
  new URL('../../../../manifests/node-cache', import.meta.url),
);

/** The template of `manifests/node-cache`. */
function shippedCorefile(): string {
  const objects = renderFolder(NODE_CACHE_FOLDER).objects as readonly {
    readonly data?: { readonly Corefile?: string };
  }[];
  const found = objects.map(({ data }) => data?.Corefile).find((text) => text !== undefined);
  if (found === undefined) throw new MeasureError('manifests/node-cache has no Corefile');
  return found;
}

const named = (word: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${word}-${i + 1}`);

/**
 * DNS pods behind a Service, node-caches in front, one API server: each on a host of its own. The Service is what
 * kube-proxy makes of one: a new flow leads to any of the ready pods, by chance.
 */
export class FleetLab {
  readonly network: HostNetwork<string>;
  readonly driver: Remote<FleetDriverMethods>;
  /** By name: `kubedns-1`, `dnsmasq-1`, `node-1`, and so on. */
  readonly programs = new Map<string, FleetProgram>();
  readonly points: readonly Point[];
  readonly #options: FleetOptions;
  readonly #owned: Owned;
  readonly #addresses: Readonly<Record<string, string>>;
  readonly #services: readonly Service[];
  #config!: ConfigVolume;

  private constructor(
    network: HostNetwork<string>,
    addresses: Readonly<Record<string, string>>,
    options: FleetOptions,
    owned: Owned,
  ) {
    this.network = network;
    this.#addresses = addresses;
    this.#options = options;
    this.#owned = owned;
    const entry = new URL('./fleet-driver.js#FleetDriver', import.meta.url);
    this.driver = owned.add(
      new Remote<FleetDriverMethods>('the host of the clients', entry, {
        through: network.entrance(CLUSTER),
      }),
    );
    const pods = named('pod', options.pods);
    const nodes = named('node', options.nodeCaches);
    this.points = [...nodes, ...pods].map((name) => ({ name, address: addresses[name]! }));
    const service = (address: string, ofPort: number, clients: readonly string[]) => {
      return { address, port: PORT.dns, ofPort, clients, backends: new Map<string, string>() };
    };
    this.#services = [
      // A kubedns of a pod looks its replicas up there.
      service(DNS_SERVICE, PORT.dns, [...nodes, ...pods]),
      ...(options.servers > 0 ? [service(KUBEDNS_SERVICE, PORT.kubedns, pods)] : []),
    ];
  }

  /** Makes the network, and starts all programs at once; resolves when all are ready. It ends with `owned`. */
  static async start(options: FleetOptions, owned: Owned): Promise<FleetLab> {
    const places = (names: readonly string[], first: number) =>
      names.map((name, i) => [name, `${NETWORK}.${first + i}`] as const);
    const addresses = Object.fromEntries([
      [CLUSTER, CLUSTER_ADDRESS],
      ...places(named('pod', options.pods), FIRST_POD),
      ...places(named('server', options.servers), FIRST_SERVER),
      ...places(named('node', options.nodeCaches), FIRST_NODE),
    ]);
    const network = await HostNetwork.start(owned, addresses);
    const lab = new FleetLab(network, addresses, options, owned);
    await lab.#startAll();
    return lab;
  }

  /** The process of each program. */
  get pids(): ReadonlyMap<string, number> {
    const pids = [...this.programs.values()].map(({ name, pid }) => [name, pid()] as const);
    return new Map([...pids, ['the clients', this.driver.pid]]);
  }

  /** How the n-th kubedns is late, from 1 on. */
  async delay(server: number, delayMs: number): Promise<void> {
    await this.driver.call('setDelay', server - 1, delayMs);
  }

  /** Whether the n-th kubedns, from 1 on, reaches the API server. */
  async setReachable(server: number, isReachable: boolean): Promise<void> {
    await this.driver.call('setReachable', server - 1, isReachable);
  }

  /** A program by its name; throws where there is none. */
  program(name: string): FleetProgram {
    const found = this.programs.get(name);
    if (found === undefined) throw new MeasureError(`there is no ${name} in the lab`);
    return found;
  }

  /** The Services lead to a host, or no more: what the node does once the readiness of the pod has changed. */
  async setReady(host: string, isReady: boolean): Promise<void> {
    for (const service of this.#services) await this.#setBackend(service, host, isReady);
  }

  async #startAll(): Promise<void> {
    const { servers, pods, nodeCaches, slotsPerKind, crowd = 0 } = this.#options;
    const kubednsHosts = servers > 0 ? named('server', servers) : named('pod', pods);
    await this.driver.call('start', CLUSTER_ADDRESS, kubednsHosts.length, {
      slotsPerKind,
      crowd,
      pods: named('pod', pods).map((pod) => this.#addresses[pod]!),
    });
    const nameServers = { upstreamNameservers: JSON.stringify([CLUSTER_ADDRESS]) };
    this.#config = this.#owned.add(await ConfigVolume.create(nameServers));
    for (const { clients } of this.#services) {
      for (const host of clients) {
        await this.network.run(host, 'ip route replace 10.96.0.0/16 dev eth0');
      }
    }
    for (const [i, host] of kubednsHosts.entries()) this.#addKubedns(i, host);
    await this.#startOf('kubedns');
    if (servers > 0) for (const host of kubednsHosts) await this.setReady(host, true);
    for (const [i, host] of named('pod', pods).entries()) this.#addDnsmasq(i, host);
    await this.#startOf('dnsmasq');
    for (const host of named('pod', pods)) await this.setReady(host, true);
    for (const [i, host] of named('node', nodeCaches).entries()) await this.#addNodeCache(i, host);
    await this.#startOf('node');
  }

  async #startOf(word: string): Promise<void> {
    const programs = [...this.programs.values()].filter(({ name }) => name.startsWith(word));
    await Promise.all(programs.map((program) => program.start()));
  }

  get #start() {
    const { node, nodeFlags } = this.#options;
    return { node, nodeFlags };
  }

  #add(
    name: string,
    host: string,
    start: () => Promise<RunningProgram>,
    isReady: () => Promise<boolean>,
    snapshot = '',
  ): void {
    let program: RunningProgram | undefined;
    this.programs.set(name, {
      name,
      host,
      snapshot,
      kill: async () => program?.close(),
      signal: (signal) => program?.signal(signal),
      pid: () => program?.pid ?? 0,
      output: () => program?.output ?? '',
      start: async () => {
        const started = this.#owned.add(await start());
        program = started;
        const isThere = () => {
          started.check();
          return isReady();
        };
        if (await becomesTrue(isThere, { limitMs: START_LIMIT_MS, stepMs: STEP_MS })) return;
        throw new MeasureError(`${name} is not ready within ${START_LIMIT_MS / 1_000} s`);
      },
    });
  }

  #addKubedns(i: number, host: string): void {
    const address = this.#addresses[host]!;
    const name = `kubedns-${i + 1}`;
    const { snapshots } = this.#options;
    const snapshot = snapshots === undefined ? '' : join(snapshots, name);
    const flags = [
      `--kube-master-url=http://${CLUSTER_ADDRESS}:${API_PORT + i}`,
      `--config-dir=${this.#config.path}`,
      `--nameservers=${CLUSTER_ADDRESS}`,
      ...(snapshots === undefined
        ? []
        : [
            `--snapshot-file=${snapshot}`,
            `--snapshot-replicas=kube-dns-replicas.kube-system.svc.cluster.local`,
            `--snapshot-token=${join(snapshots, 'token')}`,
          ]),
    ];
    const ports = { dns: PORT.kubedns, readiness: PORT.readiness, metrics: PORT.metrics };
    const through = this.network.entrance(host);
    const env = { KUBE_DNS_SERVICE_HOST: DNS_SERVICE };
    const start = { ...this.#start, through, flags, ports, env, address: '0.0.0.0' };
    this.#add(
      name,
      host,
      async () => (await startKubedns(start)).server,
      async () => (await this.#page(address, PORT.readiness, '/readiness')).status === 200,
      snapshot,
    );
  }

  #addDnsmasq(i: number, host: string): void {
    const address = this.#addresses[host]!;
    const kubedns =
      this.#options.servers > 0 ? `${KUBEDNS_SERVICE}#${PORT.dns}` : `127.0.0.1#${PORT.kubedns}`;
    // As in manifests/kube-dns; its cache has room for all slots.
    const args = [
      `--listen-address=${address}`,
      ...['--cache-size=10000', '--no-negcache', '--negcache=push', '--dns-loop-detect'],
      ...['cluster.local', 'in-addr.arpa', 'ip6.arpa'].map(
        (zone) => `--server=/${zone}/${kubedns}`,
      ),
    ];
    const ports = { dns: PORT.dns, metrics: PORT.dnsmasqMetrics };
    const nannyFlags = [`-configDir=${this.#config.path}`, '-restartDnsmasq=true'];
    const through = this.network.entrance(host);
    const start = { ...this.#start, through, nannyFlags, args, ports };
    this.#add(
      `dnsmasq-${i + 1}`,
      host,
      async () => (await startDnsmasq(start)).server,
      () => this.driver.call('answers', address),
    );
  }

  async #addNodeCache(i: number, host: string): Promise<void> {
    const address = this.#addresses[host]!;
    await this.network.run(host, `ip address add ${LOCAL_ADDRESS}/32 dev lo`);
    const cache = this.#owned.add(await NodeCache.create());
    await cache.putTemplate(shippedCorefile());
    const name = `node-${i + 1}`;
    const { snapshots } = this.#options;
    const snapshot = snapshots === undefined ? '' : join(snapshots, name);
    const start = {
      node: this.#options.node,
      nodeFlags: nodeFlagsOf('node-cache', this.#options.nodeFlags),
      through: this.network.entrance(host),
      flags: [
        `-localip=${address},${LOCAL_ADDRESS}`,
        `-kubednscm=${this.#config.path}`,
        '-upstreamsvc=kube-dns-upstream',
        ...(snapshot === '' ? [] : [`-snapshot-file=${snapshot}`]),
      ],
      env: {
        CLUSTER_DOMAIN: 'cluster.local',
        LOCAL_DNS: address,
        KUBE_DNS_UPSTREAM_SERVICE_HOST: DNS_SERVICE,
      },
    };
    this.#add(
      name,
      host,
      () => cache.start(start),
      () => this.driver.call('answers', address),
      snapshot,
    );
  }

  /** A page of the n-th kubedns, from 1 on. */
  page(server: number, port: 'readiness' | 'metrics', path: string): Promise<FleetPage> {
    const { host } = this.program(`kubedns-${server}`);
    return this.#page(this.#addresses[host]!, PORT[port], path);
  }

  /** Where the n-th kubedns, from 1 on, answers itself. */
  kubednsPoint(server: number): CrowdPoint {
    const { host } = this.program(`kubedns-${server}`);
    return { address: this.#addresses[host]!, port: PORT.kubedns };
  }

  #page(address: string, port: number, path: string): Promise<FleetPage> {
    return this.driver.call('page', `http://${address}:${port}${path}`);
  }

  async #setBackend(service: Service, host: string, isReady: boolean): Promise<void> {
    const { address, port, ofPort, clients, backends } = service;
    const isOfPods = service.ofPort === PORT.dns;
    if (host.startsWith('pod') !== isOfPods || backends.has(host) === isReady) return;
    const to = this.#addresses[host]!;
    if (isReady) backends.set(host, to);
    else backends.delete(host);
    const all = [...backends.values()];
    const rules = ['udp', 'tcp'].flatMap((protocol) =>
      all.map((backend, i) => {
        const chance = `-m statistic --mode random --probability ${1 / (all.length - i)}`;
        return `-A OUTPUT -p ${protocol} -d ${address} --dport ${port} ${chance} -j DNAT --to-destination ${backend}:${ofPort}`;
      }),
    );
    const table = ['*nat', '-F OUTPUT', ...rules, 'COMMIT'].join('\n');
    const script = `iptables-restore --noflush <<'END'\n${table}\nEND`;
    // What kube-proxy does for flows to a pod that is none of the Service any more.
    const forget = `conntrack -D -p udp --orig-dst ${address} --reply-src ${to} >/dev/null 2>&1 || true`;
    for (const client of clients) {
      await this.network.run(client, isReady ? script : `${script}\n${forget}`);
    }
  }
}

/** When a program that was started says that it has a live subscription, on the monotonic clock. */
export async function subscribedMs({
  name,
  output,
}: Pick<FleetProgram, 'name' | 'output'>): Promise<number> {
  const isLive = () => output().includes('announces the changes of');
  if (await becomesTrue(isLive, { limitMs: START_LIMIT_MS, stepMs: STEP_MS })) return monotonicMs();
  throw new MeasureError(`${name} has no subscription within ${START_LIMIT_MS / 1_000} s`);
}
