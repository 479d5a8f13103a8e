import {
  becomesTrue,
  MeasureError,
  MetricPage,
  monotonicMs,
  type Owned,
  Remote,
  type RunningProgram,
} from '@kube-dns/testkit';
import type { ClientHostMethods } from '../fixtures/client-host.js';
import { HOST_ADDRESS, HostNetwork } from '../fixtures/host-network.js';
import type { FaultSigns } from '../fixtures/witness.js';
import { startDnsmasq, startKubedns } from '../fixtures/pod-containers.js';
import type { Seen } from '../fixtures/steady-client.js';
import {
  API_PORT,
  DELETED_SERVICE,
  type FarServersMethods,
  LEFT_ADDRESSES,
  UPSTREAM_PORTS,
} from './far-servers.js';
import { type FaultContext, questionRate } from './fault.js';
import { HEADLESS_NAME, rightTexts, serviceName } from './small-cluster.js';
import { isCached, isRight, NAMES, NETWORK } from './upstream-testbed.js';

/** How the containers of a pod on a separate host are started. */
interface HostPodOptions {
  readonly node: string;
  readonly nodeFlags: readonly string[];
  readonly owned: Owned;
  readonly network: HostNetwork;
  /** The host that reads its HTTP pages. */
  readonly clients: Remote<ClientHostMethods>;
}

const HOST = HOST_ADDRESS.pod;
/** As in the manifests: no other program uses these ports on the host. */
const PORT = {
  dnsmasq: 53,
  dnsmasqMetrics: 9153,
  kubedns: 10053,
  readiness: 8081,
  kubednsMetrics: 10055,
} as const;

/** The address and port of a container for DNS. */
export const DNSMASQ_SERVICE = { address: HOST, port: PORT.dnsmasq } as const;
const KUBEDNS_SERVICE = { address: HOST, port: PORT.kubedns } as const;

/** The containers of a pod on a host of a network, those that are started. */
class HostPod {
  readonly #options: HostPodOptions;

  constructor(options: HostPodOptions) {
    this.#options = options;
  }

  /** Starts dnsmasq with further arguments, kubedns as the server of `cluster.local`. */
  async startDnsmasq(args: readonly string[]): Promise<RunningProgram> {
    const start = {
      ...this.#program,
      nannyFlags: [`-metrics-addr=${HOST}:${PORT.dnsmasqMetrics}`, '-status'],
      args: [
        `--listen-address=${HOST}`,
        '--cache-size=1000',
        `--server=/cluster.local/127.0.0.1#${PORT.kubedns}`,
        ...args,
      ],
    };
    const ports = { dns: PORT.dnsmasq, metrics: PORT.dnsmasqMetrics };
    return this.#options.owned.add(await startDnsmasq({ ...start, ports })).server;
  }

  /** Starts kubedns with more flags; `readiness` reports when it has seen the cluster. */
  async startKubedns(...flags: readonly string[]): Promise<RunningProgram> {
    const { kubedns: dns, readiness, kubednsMetrics: metrics } = PORT;
    const ports = { dns, readiness, metrics };
    const start = {
      ...this.#program,
      flags: ['--status', ...flags],
      ports,
      address: '0.0.0.0',
    };
    return this.#options.owned.add(await startKubedns(start)).server;
  }

  /** The base URLs of the status pages, that of dnsmasq first; other hosts get no explanations. */
  pages(containers: readonly string[]): string[] {
    const ports = [
      ...(containers.includes('dnsmasq') ? [PORT.dnsmasqMetrics] : []),
      ...(containers.includes('kubedns') ? [PORT.kubednsMetrics] : []),
    ];
    return ports.map((port) => `http://${HOST}:${port}`);
  }

  /** The status of kubedns' `/readiness`; 0 without an answer. */
  async readiness(): Promise<number> {
    const url = `http://${HOST}:${PORT.readiness}/readiness`;
    return (await this.#options.clients.call('page', url)).status;
  }

  dnsmasqMetrics(): Promise<MetricPage> {
    return this.#metrics(PORT.dnsmasqMetrics);
  }

  kubednsMetrics(): Promise<MetricPage> {
    return this.#metrics(PORT.kubednsMetrics);
  }

  get #program() {
    const { node, nodeFlags, network } = this.#options;
    return { node, nodeFlags, through: network.entrance('pod') };
  }

  async #metrics(port: number): Promise<MetricPage> {
    const { status, text } = await this.#options.clients.call(
      'page',
      `http://${HOST}:${port}/metrics`,
    );
    if (status !== 200) throw new MeasureError(`no metrics at port ${port} of the pod: ${status}`);
    return new MetricPage(text);
  }
}

/** Services of the cluster. */
export const NETWORK_SERVICES = 5;
const CLUSTER_TEXTS = rightTexts(NETWORK_SERVICES);
const RATE_PER_SECOND = 100;
const START_LIMIT_MS = 60_000;
const STEP_MS = 20;
/** After this many questions each cached name was asked for. */
const WARM_QUESTIONS = 60;

/** What runs in the pod, in addition to the parts of every row. */
interface NetworkTestbedOptions {
  /** The containers; the client asks dnsmasq where it is one. */
  readonly containers: readonly ('dnsmasq' | 'kubedns')[];
  /** Of the client: 5 s unless given. */
  readonly timeoutMs?: number;
}

/** Whether an answer is right, as long as nothing of the cluster has changed. */
export function isAsEver(seen: Seen): boolean {
  const text = CLUSTER_TEXTS.get(seen.name);
  return text === undefined ? isRight(seen) : text === seen.text;
}

/**
 * A pod, its clients, and its upstreams and API server, on a host each; a client asks all the time. All
 * moments are those of `monotonicMs`.
 */
export class NetworkTestbed {
  readonly network: HostNetwork;
  readonly servers: Remote<FarServersMethods>;
  readonly pod: HostPod;
  readonly #clients: Remote<ClientHostMethods>;
  readonly #signs: FaultSigns;

  private constructor(
    network: HostNetwork,
    servers: Remote<FarServersMethods>,
    clients: Remote<ClientHostMethods>,
    pod: HostPod,
    signs: FaultSigns,
  ) {
    this.network = network;
    this.servers = servers;
    this.#clients = clients;
    this.pod = pod;
    this.#signs = signs;
  }

  /** Starts it all, and waits until all is well and some names are in the cache. */
  static async start(
    context: FaultContext,
    options: NetworkTestbedOptions,
  ): Promise<NetworkTestbed> {
    const { owned } = context;
    const { containers, timeoutMs } = options;
    const network = await HostNetwork.start(owned, HOST_ADDRESS);
    const servers = owned.add(
      new Remote<FarServersMethods>(
        'the host of the servers',
        new URL('./far-servers.js#FarServers', import.meta.url),
        { through: network.entrance('servers') },
      ),
    );
    const clients = owned.add(
      new Remote<ClientHostMethods>(
        'the host of the clients',
        new URL('../fixtures/client-host.js#ClientHost', import.meta.url),
        { through: network.entrance('clients') },
      ),
    );
    const pod = new HostPod({ ...context, network, clients });
    const testbed = new NetworkTestbed(network, servers, clients, pod, context.signs);
    const programs: RunningProgram[] = [];
    if (containers.includes('kubedns')) {
      await servers.call('startApi', NETWORK_SERVICES);
      const api = `http://${HOST_ADDRESS.servers}:${API_PORT}`;
      programs.push(await pod.startKubedns(`--kube-master-url=${api}`));
    }
    const hasDnsmasq = containers.includes('dnsmasq');
    if (hasDnsmasq) {
      await servers.call('startUpstreams', NETWORK);
      const args = UPSTREAM_PORTS.map((port) => `--server=${HOST_ADDRESS.servers}#${port}`);
      programs.push(await pod.startDnsmasq(args));
    }
    const clusterNames = containers.includes('kubedns') ? [...CLUSTER_TEXTS.keys()] : [];
    const names = hasDnsmasq ? withNames(clusterNames) : clusterNames;
    await testbed.#awaitReady(programs, containers.includes('kubedns'));
    const questions = {
      ...(hasDnsmasq ? DNSMASQ_SERVICE : KUBEDNS_SERVICE),
      names,
      ratePerSecond: questionRate(context, RATE_PER_SECOND),
      pages: pod.pages(containers),
      ...(timeoutMs !== undefined && { timeoutMs }),
    };
    await clients.call('ask', questions, context.signs.shows?.source);
    await testbed.#awaitWarm(programs);
    return testbed;
  }

  /** Resolves to when the last question was sent whose answers show that the cluster has changed. */
  async changesShown(limitMs: number): Promise<number> {
    const shown = await Promise.all(
      CHANGED.map(([name, text]) => this.#clients.call('awaitText', name, text, limitMs)),
    );
    return Math.max(...shown);
  }

  /** Waits until a name that is not in the cache was asked for after a moment, and answered right. */
  async rightAgain(sinceMs: number, limitMs: number): Promise<void> {
    let count = 0;
    const isFine = async () => {
      const seen = await this.#clients.call('seenFrom', count);
      count += seen.length;
      return seen.some((each) => each.sentMs >= sinceMs && !isCached(each) && isAsEver(each));
    };
    if (await becomesTrue(isFine, { limitMs, stepMs: STEP_MS })) return;
    throw new MeasureError(`no right answer within ${limitMs / 1_000} s after all is well`);
  }

  /** Sends no more, and returns what became of all questions. */
  async finish(): Promise<readonly Seen[]> {
    this.#signs.add(await this.#clients.call('signs'));
    return this.#clients.call('finish');
  }

  /** Sends no more, and returns what became of the questions from a moment on. */
  async seenSince(sinceMs: number): Promise<readonly Seen[]> {
    return (await this.finish()).filter(({ sentMs }) => sentMs >= sinceMs);
  }

  /** Messages that came to the client and answered no question that waited. */
  strays(): Promise<number> {
    return this.#clients.call('strays');
  }

  /** The pages of kubedns, for the claims of its rows. */
  get kubedns(): {
    readonly metrics: () => Promise<MetricPage>;
    readonly readiness: () => Promise<number>;
  } {
    const { pod } = this;
    return { metrics: () => pod.kubednsMetrics(), readiness: () => pod.readiness() };
  }

  async #awaitReady(programs: readonly RunningProgram[], hasKubedns: boolean): Promise<void> {
    if (!hasKubedns) return;
    const isReady = async () => {
      for (const program of programs) program.check();
      return (await this.pod.readiness()) === 200;
    };
    if (await becomesTrue(isReady, { limitMs: START_LIMIT_MS, stepMs: STEP_MS })) return;
    throw new MeasureError(`kubedns is not ready within ${START_LIMIT_MS / 1_000} s`);
  }

  async #awaitWarm(programs: readonly RunningProgram[]): Promise<void> {
    const startMs = monotonicMs();
    let latest: readonly Seen[] = [];
    let count = 0;
    const isWarm = async () => {
      for (const program of programs) program.check();
      const seen = await this.#clients.call('seenFrom', count);
      count += seen.length;
      latest = [...latest, ...seen].slice(-WARM_QUESTIONS);
      return latest.length === WARM_QUESTIONS && latest.every(isAsEver);
    };
    if (await becomesTrue(isWarm, { limitMs: START_LIMIT_MS, stepMs: STEP_MS })) return;
    const last = latest.at(-1)?.text ?? 'nothing';
    const seconds = Math.round((monotonicMs() - startMs) / 1_000);
    throw new MeasureError(`the client has no right answers after ${seconds} s: ${last}`);
  }
}

/** The names whose texts a change of the cluster changes, and what they are afterwards. */
export const CHANGED: readonly (readonly [name: string, text: string])[] = [
  [HEADLESS_NAME, LEFT_ADDRESSES.join(',')],
  [serviceName(DELETED_SERVICE), 'NXDOMAIN'],
];

/** Names of the world, and after every third of them one of the cluster. */
function withNames(clusterNames: readonly string[]): readonly string[] {
  if (clusterNames.length === 0) return NAMES;
  return NAMES.flatMap((name, i) => {
    return i % 3 === 2 ? [name, clusterNames[((i - 2) / 3) % clusterNames.length]!] : [name];
  });
}
