import type * as push from '@kube-dns/push';
import { encodeKey } from '@kube-dns/wire';
import { Random } from '../random.js';
import { Scheduler } from '../scheduler.js';
import { COSTS, type Costs } from './costs.js';
import { FleetNetwork, type FleetServer } from './fleet-network.js';
import { FleetProcess } from './fleet-process.js';
import { Histogram } from './histogram.js';
import { type Constants, loadPush } from './push-code.js';

/** What a run of a fleet is made of. */
export interface FleetPlan {
  readonly seed: string;
  /** Nodes, each with a node-cache; DNS pods behind the Service. */
  readonly nodes: number;
  readonly pods: number;
  readonly changesPerSecond: number;
  /** Of each node. */
  readonly questionsPerSecond: number;
  /** What is measured; starting, settling, the death of a pod and what follows come on top. */
  readonly seconds: number;
  readonly costs: Costs;
  /** Other limits than those of the code. */
  readonly constants: Constants;
  /** All node-caches are one process, as the subscribers of the bench are: to compare both. */
  readonly isCrowd?: boolean;
}

/** What clients and caches see in some part of a run. */
export class Window {
  /** From a change at a kubedns until the caches that are subscribed to its pod drop the name, in microseconds. */
  readonly freshness = new Histogram();
  /** Answers; those that are pinned; those with their TTL that also go with a change that another process announces; and those of a cache. */
  answers = 0;
  pinned = 0;
  besides = 0;
  hits = 0;
  /** Questions that a pod did not answer: it was dead, and another one was asked later. */
  unanswered = 0;
  /** How long a question waited at a pod, in microseconds. */
  readonly waits = new Histogram();
  connections = 0;
  refused = 0;
  /** Messages of servers to subscribers. */
  messages = 0;
  /** When the first and the last cache got a message of a pod, by its serial: of a crowd. */
  readonly arrivals = new Map<number, { readonly firstUs: number; lastUs: number }>();
}

/** How busy the processes were in a part of a run: shares of a core. */
export interface CoreUse {
  readonly kubedns: number;
  readonly dnsmasq: number;
  readonly busiestDnsmasq: number;
  readonly nodeCache: number;
}

export interface FleetOutcome {
  readonly calm: Window;
  readonly use: CoreUse;
  readonly longestQueue: number;
  /** Nodes with a live subscription, before the death of a pod; live subscriptions of a node, in the mean. */
  readonly subscribedNodes: number;
  readonly subscriptions: number;
  readonly herd: {
    readonly window: Window;
    /** Nodes that were subscribed to the pod that died, and connections that were opened in the first second. */
    readonly lost: number;
    readonly firstSecond: number;
    /** Until as many nodes as before had a live subscription; undefined when that was not so at the end. */
    readonly againSeconds: number | undefined;
    readonly longestQueue: number;
  };
  readonly events: number;
  readonly virtualSeconds: number;
}

const US = 1_000_000;
const SERVICE_HOST = '10.96.0.10';
const KUBEDNS_HOST = '127.0.0.1';
const DNS_PORT = 53;
const APEX = encodeKey('cluster.local');
/** Names of the cluster, and those that a node asks for. */
const NAMES = 10_000;
const HOT_NAMES = 50;
const TTL_US = 30 * US;
/** From the API server to a kubedns: at least, and more in the mean. */
const [WATCH_US, WATCH_MORE_US] = [1_000, 2_000] as const;
/** Nodes start within this time, then find more processes of the Service. */
const START_US = 10 * US;
const SETTLE_US = 30 * US;
/** Changes begin so long before what is measured. */
const BEFORE_US = 2 * US;
/** A pod that died is no backend after three failed probes, starts again, and is one again. */
const NOTICED_US = 3.7 * US;
const RESTARTED_US = 10 * US;
const READY_US = 13 * US;
const HERD_US = 30 * US;
/** A client asks again after this time. */
const TIMEOUT_US = 2 * US;
const ROUND_TRIP_US = 400;
const TICK_US = 100_000;

const LOG = { info: () => undefined, warn: () => undefined };

/** Runs the push and cache parts of a fleet in virtual time. */
export function runFleet(plan: FleetPlan): FleetOutcome {
  return new Fleet(plan).run();
}

class Fleet {
  readonly plan: FleetPlan;
  readonly scheduler = new Scheduler();
  readonly random: Random;
  readonly network: FleetNetwork;
  readonly code: typeof push;
  readonly names = Array.from({ length: NAMES }, (_, at) => encodeKey(nameOf(at)));
  readonly pods: Pod[] = [];
  readonly nodes: Node[] = [];
  /** What is measured now. */
  window = new Window();
  #backends: readonly Pod[] = [];

  constructor(plan: FleetPlan) {
    this.plan = plan;
    this.random = new Random(`fleet/${plan.seed}`);
    const { costs } = plan;
    const podOf = new Map<string, Pod>();
    this.network = new FleetNetwork(
      this.scheduler,
      this.random.fork('network'),
      (from, host) =>
        host === KUBEDNS_HOST ? podOf.get(from.address)?.kubedns : this.backend()?.dnsmasq,
      (process) => (process.name.startsWith('dnsmasq') ? COSTS.receive : costs.receive),
    );
    this.code = loadPush(this.scheduler, this.network, this.random.fork('push'), plan.constants);
    for (let i = 0; i < plan.pods; i++) {
      const pod = new Pod(this, i);
      podOf.set(pod.address, pod);
      this.pods.push(pod);
    }
    const crowd = plan.isCrowd === true ? new FleetProcess('crowd', '10.1.0.1', this.scheduler) : undefined; // prettier-ignore
    for (let i = 0; i < plan.nodes; i++) this.nodes.push(new Node(this, i, crowd));
    this.#backends = this.pods;
  }

  /** A pod that the Service leads to. */
  backend(): Pod | undefined {
    return this.#backends.length === 0 ? undefined : this.random.pick(this.#backends);
  }

  run(): FleetOutcome {
    const { scheduler, plan } = this;
    for (const node of this.nodes) scheduler.at(this.random.below(START_US), () => node.start());
    scheduler.at(START_US + SETTLE_US - BEFORE_US, () =>
      this.#repeat(plan.changesPerSecond, () => this.#change()),
    );
    for (const node of this.nodes) this.#repeat(plan.questionsPerSecond, () => node.ask());
    scheduler.runSync(START_US + SETTLE_US);

    const calm = this.#begin();
    const busyUs = this.#busy();
    scheduler.runSync(scheduler.nowUs + plan.seconds * US);
    this.#finish(calm);
    const use = this.#use(busyUs, plan.seconds);
    const subscribed = this.#subscribed();
    const subscriptions = this.nodes.reduce((sum, node) => sum + node.live, 0) / this.nodes.length;
    const longestQueue = this.#longestQueue();
    const herd = this.#killPod(subscribed);
    return {
      calm,
      use,
      longestQueue,
      subscribedNodes: subscribed / this.nodes.length,
      subscriptions,
      herd,
      events: scheduler.events,
      virtualSeconds: scheduler.nowUs / US,
    };
  }

  #killPod(subscribed: number): FleetOutcome['herd'] {
    const { scheduler } = this;
    const window = this.#begin();
    for (const { process } of this.#servers()) process.longestQueue = 0;
    const [dead] = this.pods as [Pod];
    const diedUs = scheduler.nowUs;
    const lost = this.nodes.filter((node) => node.hasSource(dead)).length;
    dead.kill();
    const rest = this.pods.slice(1);
    scheduler.at(diedUs + NOTICED_US, () => (this.#backends = rest));
    scheduler.at(diedUs + RESTARTED_US, () => dead.start());
    scheduler.at(diedUs + READY_US, () => (this.#backends = this.pods));
    let againSeconds: number | undefined;
    const look = () => {
      if (this.#subscribed() >= subscribed) againSeconds = (scheduler.nowUs - diedUs) / US;
      else if (scheduler.nowUs < diedUs + HERD_US) scheduler.after(TICK_US, look);
    };
    // Nodes notice within a round trip.
    scheduler.after(ROUND_TRIP_US, look);
    const openedBefore = this.network.opened;
    scheduler.runSync(diedUs + US);
    const firstSecond = this.network.opened - openedBefore;
    scheduler.runSync(diedUs + HERD_US);
    this.#finish(window);
    return { window, lost, firstSecond, againSeconds, longestQueue: this.#longestQueue() };
  }

  /** From now on another part of the run is measured; connections are counted from what there were until now. */
  #begin(): Window {
    this.window = new Window();
    this.window.connections = this.network.opened;
    this.window.refused = this.network.refused;
    this.window.messages = this.network.sent;
    return this.window;
  }

  #finish(window: Window): void {
    window.connections = this.network.opened - window.connections;
    window.refused = this.network.refused - window.refused;
    window.messages = this.network.sent - window.messages;
  }

  #busy(): readonly number[] {
    return this.#processes().map(({ busyUs }) => busyUs);
  }

  #processes(): FleetProcess[] {
    return [...this.#servers(), ...this.nodes].map(({ process }) => process);
  }

  /** All kubedns, then all dnsmasq. */
  #servers(): FleetServer[] {
    return [...this.pods.map(({ kubedns }) => kubedns), ...this.pods.map(({ dnsmasq }) => dnsmasq)];
  }

  #use(before: readonly number[], seconds: number): CoreUse {
    const shares = this.#busy().map((busyUs, at) => (busyUs - before[at]!) / US / seconds);
    const { pods } = this.plan;
    const dnsmasq = shares.slice(pods, 2 * pods);
    return {
      kubedns: mean(shares.slice(0, pods)),
      dnsmasq: mean(dnsmasq),
      busiestDnsmasq: Math.max(...dnsmasq),
      nodeCache: mean(shares.slice(2 * pods)),
    };
  }

  #longestQueue(): number {
    return Math.max(...this.#servers().map(({ process }) => process.longestQueue));
  }

  #subscribed(): number {
    return this.nodes.filter(({ live }) => live > 0).length;
  }

  #change(): void {
    const at = this.random.below(NAMES);
    for (const pod of this.pods) {
      const delayUs = WATCH_US + this.random.exponential(WATCH_MORE_US);
      this.scheduler.after(delayUs, () => pod.change(at));
    }
  }

  #repeat(perSecond: number, run: () => void): void {
    if (perSecond === 0) return;
    const next = () => {
      run();
      this.scheduler.after(this.random.exponential(US / perSecond), next);
    };
    this.scheduler.after(this.random.exponential(US / perSecond), next);
  }
}

/** kubedns, which publishes, and dnsmasq, which is subscribed to it and publishes again. */
class Pod {
  readonly address: string;
  kubedns!: FleetServer;
  dnsmasq!: FleetServer;
  relay!: push.Relay;
  /** When this kubedns saw the last change of each name. */
  readonly changedUs = new Float64Array(NAMES);
  readonly #fleet: Fleet;
  #publisher!: push.Publisher;
  #starts = 0;

  constructor(fleet: Fleet, at: number) {
    this.#fleet = fleet;
    this.address = `10.244.${at}.53`;
    this.start();
  }

  start(): void {
    const { scheduler, code, plan } = this.#fleet;
    const { costs } = plan;
    const name = `${this.address}/${this.#starts++}`;
    const own = new FleetProcess(`kubedns ${name}`, this.address, scheduler);
    const relaying = new FleetProcess(`dnsmasq ${name}`, this.address, scheduler);
    const connection = { sendUs: costs.send, acceptUs: costs.accept, receiveUs: costs.request };
    own.post(() => {
      const zones = { apex: APEX, isKnown: true, rcodeFor: () => 0 };
      this.#publisher = new code.Publisher({ zones });
      this.kubedns = { process: own, costs: connection, sessions: this.#publisher };
    }, 0);
    relaying.post(() => {
      const server = { address: KUBEDNS_HOST, port: 10_053 };
      const subscriptions = new code.Subscriptions({ servers: [{ server, zones: [APEX] }], log: LOG }); // prettier-ignore
      this.relay = new code.Relay(subscriptions);
      this.dnsmasq = { process: relaying, costs: connection, sessions: this.relay.publisher };
      subscriptions.start([]);
    }, 0);
  }

  kill(): void {
    this.#fleet.network.kill(this.kubedns.process);
    this.#fleet.network.kill(this.dnsmasq.process);
  }

  /** An event of the API server arrives that changes a name. */
  change(at: number): void {
    this.kubedns.process.post(() => {
      this.changedUs[at] = this.kubedns.process.nowUs;
      this.#publisher.feed.add(this.#fleet.names[at]!);
    }, this.#fleet.plan.costs.event);
  }
}

/** An answer in the cache of a node. */
interface Entry {
  /** The process that gave it, if that announces changes; else another one that does: a change drops it, too. */
  readonly source: push.PublisherProcess | undefined;
  readonly isOfSource: boolean;
  readonly expiresUs: number;
}

/** A node-cache: its subscriptions, and the answers for some names. */
class Node implements push.ChangeSink {
  readonly process: FleetProcess;
  readonly #fleet: Fleet;
  readonly #cache = new Map<number, Entry>();
  readonly #sources = new Map<push.ChangeSource, Pod>();
  readonly #firstName: number;
  #subscriptions: push.Subscriptions | undefined;

  constructor(fleet: Fleet, at: number, crowd: FleetProcess | undefined) {
    this.#fleet = fleet;
    this.#firstName = fleet.random.below(NAMES);
    const address = `10.${1 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`;
    this.process = crowd ?? new FleetProcess(`node-${at}`, address, fleet.scheduler);
  }

  start(): void {
    this.process.post(() => {
      const { code, pods } = this.#fleet;
      const server = { address: SERVICE_HOST, port: DNS_PORT };
      const subscriptions = new code.Subscriptions({ servers: [{ server, zones: [APEX] }], log: LOG }); // prettier-ignore
      subscriptions.attach(this);
      subscriptions.passOnTo({
        onLive: (source) => {
          const pod = pods.find(({ relay }) => source.is(relay.instance, 0));
          if (pod !== undefined) this.#sources.set(source, pod);
        },
        onEnded: (source) => this.#sources.delete(source),
        onChanged: () => undefined,
        onFlushed: () => undefined,
      });
      this.#subscriptions = subscriptions;
      subscriptions.start([]);
    }, 0);
  }

  /** Processes whose changes are announced to it now. */
  get live(): number {
    return this.#sources.size;
  }

  hasSource(pod: Pod): boolean {
    return [...this.#sources.values()].includes(pod);
  }

  /** A client of the node asks for a name. */
  ask(): void {
    const at = (this.#firstName + this.#fleet.random.below(HOT_NAMES)) % NAMES;
    const { window, scheduler } = this.#fleet;
    const entry = this.#cache.get(at);
    const isLive = entry?.source?.isLive === true;
    const isPinned = isLive && entry.isOfSource;
    if (entry === undefined || (!isPinned && entry.expiresUs < scheduler.nowUs)) {
      this.#forward(at);
      return;
    }
    window.answers++;
    window.hits++;
    if (isPinned) window.pinned++;
    else if (isLive) window.besides++;
  }

  #forward(at: number): void {
    const { scheduler } = this.#fleet;
    const pod = this.#fleet.backend();
    if (pod?.dnsmasq.process.isAlive !== true) {
      this.#fleet.window.unanswered++;
      scheduler.after(TIMEOUT_US, () => this.#forward(at));
      return;
    }
    const { process } = pod.dnsmasq;
    const askedUs = scheduler.nowUs;
    const { question } = this.#fleet.plan.costs;
    scheduler.after(ROUND_TRIP_US / 2, () =>
      process.post(() => {
        const id = pod.relay.instance;
        this.#fleet.window.waits.add(process.nowUs - askedUs - ROUND_TRIP_US / 2 - question);
        scheduler.at(process.nowUs + ROUND_TRIP_US / 2, () =>
          this.process.post(() => this.#store(at, id), 0),
        );
      }, question),
    );
  }

  /** An answer of a process has come, with its version. */
  #store(at: number, id: Uint8Array): void {
    const { window, scheduler, names } = this.#fleet;
    const name = names[at]!;
    const own = this.#subscriptions?.find(id, 0);
    if (own === undefined) this.#subscriptions?.search(name, name.length);
    const source = own ?? this.#subscriptions?.publisherOf(name, name.length);
    const isOfSource = own !== undefined;
    this.#cache.set(at, { source, isOfSource, expiresUs: scheduler.nowUs + TTL_US });
    window.answers++;
    if (isOfSource) window.pinned++;
    else if (source !== undefined) window.besides++;
  }

  dropChanged(name: Uint8Array, source: push.ChangeSource, serial: number): number {
    const at = indexOf(name);
    const pod = this.#sources.get(source);
    const { window, plan } = this.#fleet;
    const { nowUs } = this.process;
    if (pod !== undefined) window.freshness.add(nowUs - pod.changedUs[at]!);
    if (plan.isCrowd === true) {
      const known = window.arrivals.get(serial);
      if (known === undefined) window.arrivals.set(serial, { firstUs: nowUs, lastUs: nowUs });
      else known.lastUs = nowUs;
    }
    if (this.#cache.get(at)?.source !== source) return 0;
    this.#cache.delete(at);
    return 1;
  }

  dropBelow(): void {
    this.#cache.clear();
  }

  pinnedAnswers(): number {
    return 0;
  }

  zoneAnswers(): number {
    return 0;
  }

  forgetQuestions(): void {
    // Answers on their way have their version.
  }
}

function nameOf(at: number): string {
  return `s${at}.shop.svc.cluster.local`;
}

/** Of a name of `nameOf` in wire form. */
function indexOf(name: Uint8Array): number {
  let at = 0;
  for (let i = 2; i <= name[0]!; i++) at = at * 10 + name[i]! - 48;
  return at;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
