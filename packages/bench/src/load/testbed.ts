import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CorePlan,
  Dnsmasq,
  HeldNameServer,
  type HeldNameServerMethods,
  Kubedns,
  Owned,
  pinProcess,
  RealDnsmasq,
  type RealDnsmasqOptions,
  Remote,
  type RunningProgram,
  TemporaryFolder,
  Unbound,
  type UnboundOptions,
  type DnsperfOptions,
  type DnsperfResult,
  type Methods,
  runDnsperf,
  nodeFlagsOf,
} from '@kube-dns/testkit';
import type { BenchClusterMethods } from '../cluster/bench-cluster.js';
import { ClusterPlan, type ClusterSize } from '../cluster/cluster-plan.js';
import { encodeQuestionFile, inRandomOrder, type LoadQuestion } from '../queries.js';
import {
  followingKubedns,
  type OutsideServer,
  type PeerName,
  type PeerOptions,
  READY_STEP_MS,
  PeerProgram,
  startEcho,
  startOutside,
  stockArguments,
} from '../servers/peers.js';
import type { RelayMethods } from '../servers/relay.js';
import type { Subject, Series } from './scores.js';

/** The programs that are measured. */
export interface Programs {
  readonly node: string;
  /** After those of the image of each. */
  readonly nodeFlags: readonly string[];
  /** Bundles, and flags for each measured start of them. */
  readonly dnsmasq: string;
  readonly dnsmasqFlags: readonly string[];
  readonly kubedns: string;
  readonly kubednsFlags: readonly string[];
  /** Paths of peers; undefined where there is none. */
  readonly realDnsmasq: string | undefined;
  readonly peers: Readonly<Partial<Record<PeerName, string>>>;
}

/** A cluster that can be followed. */
export interface TestbedCluster {
  readonly plan: ClusterPlan;
  readonly apiUrl: string;
  readonly remote: Remote<BenchClusterMethods>;
  /** Bytes of JSON in a list of everything, by resource. */
  readonly listBytes: Readonly<Record<string, number>>;
}

/** The cluster is not measured; it may take the memory that it needs. */
const CLUSTER_NODE_FLAGS = ['--expose-gc', '--max-old-space-size=8192'];

/** Fills an API server in a process of its own. */
export async function startCluster(owned: Owned, size: ClusterSize): Promise<TestbedCluster> {
  const entry = new URL('../cluster/bench-cluster.js#BenchCluster', import.meta.url);
  const how = { nodeFlags: CLUSTER_NODE_FLAGS };
  const remote = owned.add(new Remote<BenchClusterMethods>('the API server', entry, how));
  const { url: apiUrl, listBytes } = await remote.call('start', size);
  return { plan: new ClusterPlan(size), apiUrl, remote, listBytes };
}

/** kubedns and the dnsmasq in front of it, which gets the changes. */
interface Pod {
  readonly kubedns: Subject;
  readonly dnsmasq: Subject;
}

/** Whether a server is measured or is the upstream of a measured one, and its further flags. */
interface Part {
  readonly isUpstream?: boolean;
  /** Default: a free one. */
  readonly port?: number;
  /** Of a kubedns; default: 127.0.0.1. */
  readonly address?: string;
  readonly flags?: readonly string[];
  /** Of a dnsmasq: waits until it gets the changes. */
  readonly isSubscribed?: boolean;
  /** A command with arguments that becomes the words after it. */
  readonly through?: readonly string[];
}

export const OUR_DNSMASQ = 'our dnsmasq';
export const OUR_KUBEDNS = 'our kubedns';
export const DNSMASQ = 'dnsmasq';
export const COREDNS = 'coredns';
export const KUBE_DNS = 'kube-dns';

const READY_LIMIT_MS = 120_000;

/** Starts the servers of a workload, each on its core; closing `owned` ends them. */
export class ServerTestbed {
  readonly programs: Programs;
  readonly owned: Owned;
  readonly #cores: CorePlan | undefined;

  constructor(programs: Programs, owned: Owned, cores: CorePlan | undefined) {
    this.programs = programs;
    this.owned = owned;
    this.#cores = cores;
  }

  async cluster(size: ClusterSize): Promise<TestbedCluster> {
    const cluster = await startCluster(this.owned, size);
    await pinProcess(cluster.remote.pid, this.#cores?.upstream);
    return cluster;
  }

  async kubedns({ apiUrl }: TestbedCluster, part: Part = {}): Promise<Subject> {
    const { node, nodeFlags, kubedns: program, kubednsFlags } = this.programs;
    const flags = [...kubednsFlags, ...(part.flags ?? [])];
    const { address = '127.0.0.1', through = [], port } = part;
    const ports = port === undefined ? {} : { dns: port };
    const how = { node, program, address, through, ports };
    const start = { ...followingKubedns(apiUrl, flags, nodeFlags), ...how };
    const started = this.owned.add(await Kubedns.start(start));
    await started.ready(READY_LIMIT_MS, { stepMs: READY_STEP_MS });
    return this.#subject(OUR_KUBEDNS, started.server, started.ports.dns, part);
  }

  async ourDnsmasq(args: readonly string[], part: Part = {}): Promise<Subject> {
    const { node, dnsmasq: program, dnsmasqFlags } = this.programs;
    const started = this.owned.add(
      await Dnsmasq.start({
        node,
        nodeFlags: nodeFlagsOf('dnsmasq', this.programs.nodeFlags),
        program,
        nannyFlags: dnsmasqFlags,
        args: [...args, ...(part.flags ?? [])],
        hasNoMetrics: true,
        through: part.through ?? [],
        ports: part.port === undefined ? {} : { dns: part.port },
      }),
    );
    await started.ready();
    if (part.isSubscribed === true) await started.subscribed();
    return this.#subject(OUR_DNSMASQ, started.server, started.ports.dns, part);
  }

  /** A kubedns, and a dnsmasq with the arguments of the manifest and more, once it gets the changes. */
  async pod(cluster: TestbedCluster, args: readonly string[] = []): Promise<Pod> {
    const kubedns = await this.kubedns(cluster, { isUpstream: true });
    return { kubedns, dnsmasq: await this.subscribedDnsmasq(kubedns, args) };
  }

  /** Another dnsmasq of that kind. */
  subscribedDnsmasq(
    kubedns: Subject,
    args: readonly string[] = [],
    part: Part = {},
  ): Promise<Subject> {
    const subscribed = { ...part, isSubscribed: true };
    return this.ourDnsmasq([...stockArguments(kubedns.port), ...args], subscribed);
  }

  /** None where there is no such program. */
  async realDnsmasq(options: RealDnsmasqOptions): Promise<readonly Subject[]> {
    const { realDnsmasq: path } = this.programs;
    if (path === undefined) return [];
    const started = this.owned.add(await RealDnsmasq.start(path, options));
    await started.ready();
    // It has a process for each TCP connection.
    const subject = await this.#subject(DNSMASQ, started.server, started.port);
    return [{ ...subject, isOneProcess: false }];
  }

  /** The peers of kubedns that a path was given for. */
  async peers(cluster: TestbedCluster, knownName: string): Promise<readonly Subject[]> {
    const kubeDns = await this.kubeDns(cluster, { knownName });
    return [...kubeDns, ...(await this.coredns(cluster, { knownName }))];
  }

  /** None where no path was given for it. */
  kubeDns(
    cluster: TestbedCluster,
    options: PeerOptions,
    part: Part = {},
  ): Promise<readonly Subject[]> {
    return this.#peer(KUBE_DNS, cluster, options, part);
  }

  /** None where no path was given for it. */
  coredns(cluster: TestbedCluster, options: PeerOptions): Promise<readonly Subject[]> {
    return this.#peer(COREDNS, cluster, options);
  }

  /** A CoreDNS without a cluster; none where no path was given for it. */
  corednsWith(options: PeerOptions): Promise<readonly Subject[]> {
    return this.#peer(COREDNS, { apiUrl: '' }, options);
  }

  /** That, and the original node-cache likewise. */
  async cachesWith(options: PeerOptions): Promise<readonly Subject[]> {
    return [...(await this.corednsWith(options)), ...(await this.nodeCacheWith(options))];
  }

  /** The original node-cache likewise; none where no path was given for it. */
  nodeCacheWith(options: PeerOptions): Promise<readonly Subject[]> {
    return this.#peer('node-cache', { apiUrl: '' }, options);
  }

  async #peer(
    name: PeerName,
    { apiUrl }: Pick<TestbedCluster, 'apiUrl'>,
    options: PeerOptions,
    part: Part = {},
  ): Promise<readonly Subject[]> {
    const path = this.programs.peers[name];
    if (path === undefined) return [];
    const isOnOneCore = this.#cores !== undefined;
    const start = { ...options, apiUrl, isOnOneCore };
    const { server, port } = this.owned.add(await PeerProgram.start(name, path, start));
    return [await this.#subject(name, server, port, part)];
  }

  /** A name server that answers every name, as the upstream of a dnsmasq. */
  async nameServer(): Promise<{
    readonly remote: Remote<HeldNameServerMethods>;
    readonly port: number;
  }> {
    const remote = this.owned.add(HeldNameServer.remote());
    const port = await remote.call('start');
    await pinProcess(remote.pid, this.#cores?.upstream);
    return { remote, port };
  }

  /** A name server that is as fast as can be, over a network. */
  outside(): Promise<OutsideServer> {
    return startOutside(this.owned, this.#cores);
  }

  /** What passes every query on to that server, on the core of the measured ones. */
  async relay({ address, port: upstreamPort }: OutsideServer): Promise<Subject> {
    const entry = new URL('../servers/relay.js#Relay', import.meta.url);
    const nodeFlags = nodeFlagsOf('dnsmasq', this.programs.nodeFlags);
    const remote = this.owned.add(new Remote<RelayMethods>('the relay', entry, { nodeFlags }));
    const { port, engine } = await remote.call('start', address, upstreamPort);
    await pinProcess(remote.pid, this.#cores?.server);
    const { pid } = remote;
    return {
      name: `${engine} relay`,
      port,
      pid,
      isOneProcess: true,
      isUdpOnly: true,
      check: () => undefined,
    };
  }

  /** A name server over TLS, and the file with the certificate `ca` of its authority. */
  async encryptedNameServer(
    options: UnboundOptions,
    ca: string,
  ): Promise<{ readonly port: number; readonly ca: string }> {
    const { server, ports } = this.owned.add(await Unbound.start(options));
    await pinProcess(server.pid, this.#cores?.upstream);
    return { port: ports.tls, ca: this.owned.add(new TemporaryFolder()).file('ca.pem', ca) };
  }

  echo(): Promise<Subject> {
    const { nodeFlags } = this.programs;
    return startEcho(this.owned, nodeFlags, this.#cores);
  }

  async #subject(
    name: string,
    server: RunningProgram,
    port: number,
    { isUpstream = false }: Part = {},
  ): Promise<Subject> {
    const { pid } = server;
    await pinProcess(pid, isUpstream ? this.#cores?.upstream : this.#cores?.server);
    return { name, port, pid, server, isOneProcess: true, check: () => server.check() };
  }
}

/** What the parts of the measurement share. */
export interface LoadContext {
  readonly programs: Programs;
  readonly cores: CorePlan | undefined;
  readonly owned: Owned;
  readonly progress: (text: string) => void;
  readonly series: Series;
  readonly runs: number;
  readonly seconds: number;
  /** Enough names to measure the memory of one beside that of the process. */
  readonly manyNames: number;
}

/** What one part starts; `close` ends it. */
export class LoadTestbed {
  readonly servers: ServerTestbed;
  readonly #owned: Owned;
  readonly #cores: CorePlan | undefined;
  readonly #folder: TemporaryFolder;
  #files = 0;

  constructor({ programs, cores, owned }: Pick<LoadContext, 'programs' | 'cores' | 'owned'>) {
    this.#owned = owned.add(new Owned());
    this.#cores = cores;
    this.#folder = this.#owned.add(new TemporaryFolder());
    this.servers = new ServerTestbed(programs, this.#owned, cores);
  }

  /** A client of `src/dns` in its own process; `module` is its file and, after `#`, its class. */
  async client<T extends Methods<T>>(what: string, module: string): Promise<Remote<T>> {
    const entry = new URL(`../dns/${module}`, import.meta.url);
    const client = this.#owned.add(new Remote<T>(what, entry));
    await pinProcess(client.pid, this.#cores?.load);
    return client;
  }

  /** A file of questions in random order. */
  questionFile(questions: readonly LoadQuestion[]): string {
    const path = join(this.#folder.path, String(this.#files++));
    writeFileSync(path, encodeQuestionFile(inRandomOrder(questions)));
    return path;
  }

  async dnsperf(
    { port }: Subject,
    options: Omit<DnsperfOptions, 'owned' | 'core' | 'isBinary'>,
  ): Promise<DnsperfResult> {
    const owned = this.#owned;
    const whole = { ...options, isBinary: true, core: this.#cores?.load, owned };
    return runDnsperf({ host: '127.0.0.1', port }, whole);
  }

  close(): Promise<void> {
    return this.#owned.close();
  }
}
