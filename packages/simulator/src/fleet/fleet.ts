import {
  MAX_SUBSCRIPTIONS,
  type Publisher,
  type PublisherProcess,
  type Relay,
  type Subscriptions,
  UNVERSIONED,
  type VersionedAnswerer,
} from '@kube-dns/push';
import type { ReplyPolicy } from '@kube-dns/resolver';
import type { Client } from '@kube-dns/transport';
import {
  CLUSTER_VERSION_BYTES,
  clusterVersionAt,
  knownOf,
  RCODE,
  seenOf,
  TYPE,
  zoneVersionAt,
} from '@kube-dns/wire';
import { Random } from '../random.js';
import { Scheduler } from '../scheduler.js';
import type { Costs } from './costs.js';
import {
  FleetCache,
  type Flight,
  replyPolicy,
  type TakeAnswer,
  zoneServer,
} from './fleet-cache.js';
import { type FleetCode, loadFleetCode } from './fleet-code.js';
import {
  type Change,
  FleetHistory,
  type Known,
  type Resource,
  RESOURCES,
} from './fleet-history.js';
import {
  APEX,
  FleetQuestions,
  indexOf,
  KnownAnswerer,
  knownBy,
  nameOf,
  TTL_SECONDS,
} from './fleet-messages.js';
import { type ConnectionCosts, FleetNetwork, type FleetServer } from './fleet-network.js';
import {
  type FaultPlan,
  type FleetPlan,
  HOT_NAMES,
  LOG,
  ROUND_TRIP_US,
  SERVICE_HOST,
  TIMEOUT_US,
  US,
  Window,
} from './fleet-plan.js';
import { FleetProcess, runAs } from './fleet-process.js';
import { Health } from './health.js';
import { Histogram } from './histogram.js';

/** How busy the processes were in a part of a run: shares of a core. */
export interface CoreUse {
  readonly kubedns: number;
  readonly dnsmasq: number;
  readonly busiestDnsmasq: number;
  readonly nodeCache: number;
  /** Of the node-caches that publish; 0 without them. */
  readonly busiestRelay: number;
}

export interface FleetOutcome {
  readonly calm: Window;
  readonly use: CoreUse;
  readonly longestQueue: number;
  /** Nodes with a live subscription, before the death of a pod. */
  readonly subscribedNodes: number;
  /** The share of the cached answers that are pinned then. */
  readonly coverage: number;
  /** Subscribers of the process that has most. */
  readonly mostSubscribers: number;
  /** From the first to the last subscriber, of a crowd, in microseconds. */
  readonly spreads: Histogram;
  readonly herd: {
    readonly window: Window;
    /** Nodes that were subscribed to the pod that died. */
    readonly lost: number;
    /** Connections that were opened, and questions that pods got, in the first second; in the second before. */
    readonly firstSecond: { readonly connections: number; readonly questions: number };
    readonly questionsBefore: number;
    /** Until as many nodes as before had a live subscription; undefined when that was not so at the end. */
    readonly againSeconds: number | undefined;
    /** How often all answers of a node were dropped. */
    readonly flushes: number;
    readonly longestQueue: number;
  };
  readonly events: number;
  readonly virtualSeconds: number;
}

/** The outcome of a run with faults. */
export interface FaultOutcome {
  readonly window: Window;
  readonly faults: number;
  readonly changes: number;
  readonly coverage: number;
  readonly violation: FleetViolation | undefined;
  /** The lines of the trace. */
  readonly lines: readonly string[];
  readonly events: number;
  readonly virtualSeconds: number;
}

const RELAY_HOST = '10.96.0.11';
/** Of headless services, whose records change with their endpoints. */
const ENDPOINTS_SHARE = 0.5;
/** Nodes start within this time. */
const START_US = 10 * US;
const SETTLE_US = 10 * US;
/** Changes begin so long before what is measured. */
const BEFORE_US = 2 * US;
/** A pod is probed so often; one that does not answer is no backend after this time. */
const PROBE_US = 0.5 * US;
const NOTICED_US = 3.5 * US;
/** A pod that died starts again. */
const RESTARTED_US = 10 * US;
const HERD_US = 15 * US;
/** After the last fault all is well again. */
const QUIET_US = 90 * US;
const GOOD_COVERAGE = 0.95;
const TICK_US = 50_000;

/** Runs the push and cache parts of a fleet in virtual time, measures so many seconds, then kills a pod. */
export function runFleet(plan: FleetPlan, seconds: number): FleetOutcome {
  return new Fleet(plan).measure(seconds);
}

/** The same with faults, until a promise is broken, or so many events have happened. */
export function runFaults(plan: FaultPlan): FaultOutcome {
  return new Fleet(plan, plan.trace).runFaults(plan);
}

class Fleet {
  readonly plan: FleetPlan;
  readonly scheduler = new Scheduler();
  readonly random: Random;
  readonly network: FleetNetwork;
  readonly code: FleetCode;
  readonly history: FleetHistory;
  readonly questions: FleetQuestions;
  readonly policies: { readonly dnsmasq: ReplyPolicy; readonly nodeCache: ReplyPolicy };
  readonly judge: FleetJudge;
  readonly names: readonly Uint8Array[];
  readonly pods: Pod[] = [];
  readonly nodes: Node[] = [];
  /** What is measured now. */
  window = new Window();
  readonly lines: string[] = [];
  readonly #trace: FaultPlan['trace'];
  /** When the first and the last cache of a crowd dropped a name after its last change. */
  readonly #dropped = new Map<number, { readonly sinceUs: number; lastUs: number }>();
  #spreads = new Histogram();
  #backends: readonly Pod[] = [];
  /** Since when a pod does not answer. */
  readonly #silentUs = new Map<Pod, number>();

  constructor(plan: FleetPlan, trace?: FaultPlan['trace']) {
    this.plan = plan;
    this.#trace = trace;
    this.random = new Random(`fleet/${plan.seed}`);
    this.names = Array.from({ length: plan.names }, (_, at) => nameOf(at));
    const { costs } = plan;
    const podOf = new Map<string, Pod>();
    const route = (from: FleetProcess, host: string) => {
      if (host === KUBEDNS_HOST) return podOf.get(from.address)?.kubedns;
      if (host === RELAY_HOST) return this.nodes[this.random.below(plan.relays)]?.server;
      return this.backend()?.dnsmasq;
    };
    const receive = plan.isCrowd === true ? costs.crowd : costs.receive;
    this.network = new FleetNetwork(
      this.scheduler,
      this.random.fork('network'),
      route,
      (process, bytes) => {
        const { message, byte } = process.name.startsWith('dnsmasq') ? costs.receive : receive;
        return message + byte * bytes;
      },
    );
    this.code = loadFleetCode(this.scheduler, this.network, this.random.fork('code'), plan.constants); // prettier-ignore
    this.history = new FleetHistory(plan.names, plan.pods);
    this.questions = new FleetQuestions(this.code);
    this.policies = {
      dnsmasq: replyPolicy(this.code, false),
      nodeCache: replyPolicy(this.code, true),
    };
    this.judge = new FleetJudge(this);
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

  /** Where a node subscribes: at the Service, or at the nodes that publish. */
  publisherHost(node: number): string {
    return node < this.plan.relays || this.plan.relays === 0 ? SERVICE_HOST : RELAY_HOST;
  }

  /** The process behind a subscription. */
  publisherOf(source: PublisherProcess): Node['live'] {
    const pod = this.pods.find(({ relay }) => source.is(relay.instance, 0));
    if (pod !== undefined) return { pod, publisher: pod.dnsmasq.process, source };
    for (let at = 0; at < this.plan.relays; at++) {
      const { relay, live, process } = this.nodes[at]!;
      if (live !== undefined && relay !== undefined && source.is(relay.instance, 0))
        return { pod: live.pod, publisher: process, source };
    }
    return undefined;
  }

  // What happens.

  /** Changes may get to caches, or not any more. */
  noteHealth(): void {
    for (const { health } of this.pods) health.note();
    for (const { health } of this.nodes) health.note();
  }

  /** A node's subscription has begun, or ended. */
  onLive(node: Node, version: Uint8Array | undefined): void {
    node.health.note();
    if (this.#trace?.node !== node.at) return;
    const { live } = node;
    const known = version === undefined ? 'nothing' : RESOURCES.map((each) => knownOf(version, 0, each)).join(' and '); // prettier-ignore
    this.say(live === undefined ? `node ${node.at} has no subscription, and knows ${known}` : `node ${node.at} is subscribed to pod ${live.pod.at}, which knows ${known}`); // prettier-ignore
  }

  /** A node has dropped a name that changed. */
  onDropped(node: Node, at: number): void {
    const { live, process } = node;
    const { nowUs } = process;
    if (this.isTraced(at, node)) this.say(`node ${node.at} drops s${at}`); // prettier-ignore
    const change = live && this.history.lastApplied(at, (each) => live.pod.appliedUs(each));
    if (change === undefined) return;
    this.window.freshness.add(nowUs - change.atUs);
    if (this.plan.isCrowd !== true) return;
    const known = this.#dropped.get(change.version);
    if (known === undefined) this.#dropped.set(change.version, { sinceUs: nowUs, lastUs: nowUs });
    else known.lastUs = nowUs;
  }

  /** Adds a line to the trace. */
  say(text: string): void {
    if (this.#trace === undefined) return;
    this.lines.push(`${(this.scheduler.nowUs / US).toFixed(6).padStart(12)}  ${text}`);
  }

  /** Whether the life of this name is traced. */
  isTraced(at: number, node?: Node): boolean {
    if (this.#trace?.name !== at) return false;
    return node === undefined || node.at === this.#trace.node;
  }

  // Runs.

  measure(seconds: number): FleetOutcome {
    const { scheduler } = this;
    this.#start();
    const calm = this.#begin();
    const busyUs = this.#busy();
    scheduler.runSync(scheduler.nowUs + seconds * US);
    this.#finish(calm);
    const use = this.#use(busyUs, seconds);
    const subscribed = this.#subscribed();
    const longestQueue = this.#longestQueue();
    const coverage = this.#coverage();
    const servers = [...this.pods.map(({ relay }) => relay), ...this.nodes.flatMap(({ relay }) => relay ?? [])]; // prettier-ignore
    const mostSubscribers = Math.max(...servers.map(({ publisher }) => publisher.count));
    for (const { sinceUs, lastUs } of this.#dropped.values()) this.#spreads.add(lastUs - sinceUs);
    const herd = this.#killPod(subscribed, calm.questions / seconds);
    return {
      calm,
      use,
      longestQueue,
      subscribedNodes: subscribed / this.nodes.length,
      coverage,
      mostSubscribers,
      spreads: this.#spreads,
      herd,
      events: scheduler.events,
      virtualSeconds: scheduler.nowUs / US,
    };
  }

  runFaults({ events, without }: FaultPlan): FaultOutcome {
    const { scheduler, plan } = this;
    const window = this.window;
    let faults = 0;
    let violation: FleetViolation | undefined;
    try {
      this.#start();
      while (scheduler.events < events) {
        const fault = drawFault(this.random, faults++, plan.pods);
        scheduler.runSync(scheduler.nowUs + fault.afterUs);
        if (without.has(fault.number)) continue;
        this.say(describeFault(fault));
        beginFault(this, fault);
      }
      scheduler.runSync(scheduler.nowUs + QUIET_US);
      this.#judgeEnd();
    } catch (error) {
      if (!(error instanceof FleetViolation)) throw error;
      violation = error;
    }
    return {
      window,
      faults,
      changes: this.history.version,
      coverage: this.#coverage(),
      violation,
      lines: this.lines,
      events: scheduler.events,
      virtualSeconds: scheduler.nowUs / US,
    };
  }

  #start(): void {
    const { scheduler, plan } = this;
    for (const node of this.nodes) scheduler.at(this.random.below(START_US), () => node.start());
    scheduler.at(START_US + SETTLE_US - BEFORE_US, () =>
      this.#repeat(plan.changesPerSecond, () => this.#change()),
    );
    for (const node of this.nodes)
      scheduler.at(START_US, () => this.#repeat(plan.questionsPerSecond, () => node.ask()));
    this.#probe();
    scheduler.runSync(START_US + SETTLE_US);
  }

  /** All has been well for a while: nothing may be missing. */
  #judgeEnd(): void {
    const lonely = this.nodes.find(({ live }) => live === undefined);
    if (lonely !== undefined) throw new FleetViolation('recovery', `recovery: node ${lonely.at} has no subscription a while after the last fault`, 0, lonely); // prettier-ignore
    const coverage = this.#coverage();
    if (coverage < GOOD_COVERAGE) throw new FleetViolation('recovery', `recovery: ${(100 * coverage).toFixed(1)} % of the cached answers are pinned a while after the last fault`, 0, this.nodes[0]!); // prettier-ignore
  }

  #killPod(subscribed: number, questionsBefore: number): FleetOutcome['herd'] {
    const { scheduler } = this;
    const window = this.#begin();
    for (const { process } of this.#servers()) process.longestQueue = 0;
    const flushesBefore = this.#flushes();
    const dead = this.pods.reduce((one, other) =>
      one.relay.publisher.count < other.relay.publisher.count ? other : one,
    );
    const diedUs = scheduler.nowUs;
    const lost = dead.relay.publisher.count;
    dead.kill();
    scheduler.at(diedUs + RESTARTED_US, () => dead.restart());
    let againSeconds: number | undefined;
    const look = () => {
      if (this.#subscribed() >= subscribed) againSeconds = (scheduler.nowUs - diedUs) / US;
      else if (scheduler.nowUs < diedUs + HERD_US) scheduler.after(TICK_US, look);
    };
    // Nodes notice within a round trip.
    scheduler.after(2 * ROUND_TRIP_US, look);
    const openedBefore = this.network.opened;
    scheduler.runSync(diedUs + US);
    const firstSecond = {
      connections: this.network.opened - openedBefore,
      questions: window.questions,
    };
    scheduler.runSync(diedUs + HERD_US);
    this.#finish(window);
    return {
      window,
      lost,
      firstSecond,
      questionsBefore,
      againSeconds,
      flushes: this.#flushes() - flushesBefore,
      longestQueue: this.#longestQueue(),
    };
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
    const { pods, relays } = this.plan;
    const dnsmasq = shares.slice(pods, 2 * pods);
    return {
      kubedns: mean(shares.slice(0, pods)),
      dnsmasq: mean(dnsmasq),
      busiestDnsmasq: Math.max(...dnsmasq),
      nodeCache: mean(shares.slice(2 * pods)),
      busiestRelay: Math.max(0, ...shares.slice(2 * pods, 2 * pods + relays)),
    };
  }

  #longestQueue(): number {
    return Math.max(...this.#servers().map(({ process }) => process.longestQueue));
  }

  #subscribed(): number {
    return this.nodes.filter(({ live }) => live !== undefined).length;
  }

  /** Of all nodes together. */
  #coverage(): number {
    let pinned = 0;
    let all = 0;
    for (const node of this.nodes) {
      runAs(node.process, () => {
        const { coverage } = node;
        pinned += coverage.pinned;
        all += coverage.all;
      });
    }
    return all === 0 ? 1 : pinned / all;
  }

  #flushes(): number {
    let count = 0;
    for (const node of this.nodes) runAs(node.process, () => (count += node.flushes));
    return count;
  }

  #change(): void {
    const at = this.random.below(this.plan.names);
    const resource: Resource = this.random.chance(ENDPOINTS_SHARE) ? RESOURCES[1] : RESOURCES[0];
    const change = this.history.add(at, resource, this.scheduler.nowUs);
    if (this.isTraced(at)) this.say(`s${at} changes: version ${change.version} of ${['services', 'endpoints'][resource]!}`); // prettier-ignore
    for (const pod of this.pods) pod.watch(change);
  }

  /** Takes pods that do not answer out of the Service. */
  #probe(): void {
    const { nowUs } = this.scheduler;
    for (const pod of this.pods) {
      if (pod.isReady) this.#silentUs.delete(pod);
      else if (!this.#silentUs.has(pod)) this.#silentUs.set(pod, nowUs);
    }
    this.#backends = this.pods.filter((pod) => {
      const silentUs = this.#silentUs.get(pod) ?? nowUs;
      return !pod.isLeaving && nowUs - silentUs < NOTICED_US;
    });
    this.scheduler.after(PROBE_US, () => this.#probe());
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

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

const KUBEDNS_HOST = '127.0.0.1';
const KUBEDNS_PORT = 10_053;
/** From the API server to a kubedns: at least, and more in the mean. */
const [WATCH_US, WATCH_MORE_US] = [1_000, 2_000] as const;
/** A kubedns lists the cluster: so long at least, and up to so much more. */
const [LIST_US, LIST_MORE_US] = [0.3 * US, 0.7 * US] as const;
const LOOPBACK_US = 20;
/** An answer of kubedns while it is written. */
const out = new Uint8Array(512);
/** Questions come without a listener. */
const CLIENT: Client = {
  address: KUBEDNS_HOST,
  port: 1,
  answersFrom: () => undefined,
  defer: () => {
    throw new Error('kubedns answers at once');
  },
};

/** kubedns, which has the cluster's version and publishes, and dnsmasq, which is subscribed to it and publishes again. */
class Pod {
  readonly at: number;
  readonly address: string;
  kubedns!: FleetServer;
  dnsmasq!: FleetServer;
  relay!: Relay;
  cache!: FleetCache;
  /** It is to end, and no backend any more. */
  isLeaving = false;
  /** How late its watches are, in microseconds. */
  lagUs = 0;
  /** Whether changes get from its kubedns to its dnsmasq. */
  readonly health: Health;
  /** The kubedns that its dnsmasq is subscribed to. */
  #live: FleetProcess | undefined;
  /** When the kubedns that runs listed the cluster, and at which version. */
  listedUs = 0;
  listed = Number.POSITIVE_INFINITY;
  readonly #fleet: Fleet;
  #publisher!: Publisher;
  #answerer!: VersionedAnswerer;
  /** Of the cluster: a new one each time kubedns starts. */
  #version = new Uint8Array(CLUSTER_VERSION_BYTES);
  readonly #known: [number, number] = [0, 0];
  readonly #arrivesUs = new Float64Array(RESOURCES.length);
  #starts = 0;

  constructor(fleet: Fleet, at: number) {
    this.#fleet = fleet;
    this.at = at;
    this.address = `10.244.${at}.53`;
    this.health = new Health(fleet.scheduler, () => this.isSound);
    this.#startKubedns();
    this.#startDnsmasq();
  }

  /** After it was killed; also one that another fault has started meanwhile. */
  restart(): void {
    this.restartKubedns();
    this.killDnsmasq();
    this.#startDnsmasq();
  }

  restartKubedns(): void {
    this.killKubedns();
    this.#startKubedns();
  }

  /** Whether its kubedns has listed the cluster, and both answer. */
  get isReady(): boolean {
    const isListed = Number.isFinite(this.listed);
    return isListed && this.kubedns.process.isRunning && this.dnsmasq.process.isRunning;
  }

  #startKubedns(): void {
    const { scheduler, code, plan, random } = this.#fleet;
    const process = new FleetProcess(`kubedns ${this.#name()}`, this.address, scheduler);
    this.listed = Number.POSITIVE_INFINITY;
    const version = (this.#version = new Uint8Array(CLUSTER_VERSION_BYTES));
    process.post(() => {
      const isListed = () => Number.isFinite(this.listed);
      const zones = {
        apex: APEX,
        isKnown: true,
        get version() {
          return isListed() ? version : undefined;
        },
        rcodeFor: () => (isListed() ? RCODE.NOERROR : RCODE.SERVFAIL),
      };
      this.#publisher = new code.Publisher({ zones });
      const answerer = new KnownAnswerer(code, () => this.#known);
      this.#answerer = new code.VersionedAnswerer(answerer, this.#publisher);
      this.kubedns = { process, costs: connectionCosts(plan.costs), sessions: this.#publisher };
    }, 0);
    scheduler.after(LIST_US + random.below(LIST_MORE_US), () => {
      const { version: listed, lastOf } = this.#fleet.history;
      const seen = RESOURCES.map((resource) => lastOf[resource]!);
      process.post(() => this.#list(listed, seen), 0);
    });
  }

  #startDnsmasq(): void {
    const { scheduler, code, plan, policies } = this.#fleet;
    const process = new FleetProcess(`dnsmasq ${this.#name()}`, this.address, scheduler);
    process.post(() => {
      const servers = [zoneServer(KUBEDNS_HOST, KUBEDNS_PORT)];
      const subscriptions = new code.Subscriptions({ servers, log: LOG });
      const relay = new code.Relay(subscriptions);
      subscriptions.passOnTo({
        onLive: (source) => {
          relay.onLive(source);
          this.#setLive(this.kubedns.process);
        },
        onEnded: (source) => {
          this.#setLive(undefined);
          relay.onEnded(source);
        },
        onChanged: (source, name) => {
          relay.onChanged(source, name);
          const changed = indexOf(name);
          if (this.#fleet.isTraced(changed)) this.#fleet.say(`pod ${this.at}: its dnsmasq passes s${changed} on`); // prettier-ignore
        },
        onFlushed: () => {
          relay.onFlushed();
          this.#fleet.say(`pod ${this.at}: its dnsmasq flushes`);
        },
      });
      const forward = (at: number, flight: Flight) => this.#forward(at, flight);
      const policy = policies.dnsmasq;
      this.cache = new FleetCache({ code, policy, subscriptions, relay, forward });
      this.relay = relay;
      this.dnsmasq = { process, costs: connectionCosts(plan.costs), sessions: relay.publisher };
      subscriptions.start([]);
    }, 0);
  }

  kill(): void {
    this.killKubedns();
    this.killDnsmasq();
  }

  killKubedns(): void {
    this.#fleet.network.kill(this.kubedns.process);
    this.listed = Number.POSITIVE_INFINITY;
  }

  killDnsmasq(): void {
    this.#fleet.network.kill(this.dnsmasq.process);
    this.#live = undefined;
  }

  /** Whether what its kubedns announces gets to its dnsmasq now. */
  get isSound(): boolean {
    return this.isReady && this.#live === this.kubedns.process;
  }

  /** The API server sends its kubedns an event: it arrives after those before it of the resource. */
  watch(change: Change): void {
    const { scheduler, random, plan } = this.#fleet;
    const { process } = this.kubedns;
    const delayUs = WATCH_US + random.exponential(WATCH_MORE_US) + this.lagUs;
    const { resource } = change;
    const atUs = Math.max(scheduler.nowUs + delayUs, this.#arrivesUs[resource]!);
    this.#arrivesUs[resource] = atUs;
    scheduler.at(atUs, () => process.post(() => this.#apply(change), plan.costs.event));
  }

  /** Of the publisher whose changes its cache gets. */
  get publisher(): this {
    return this;
  }

  /** When its kubedns applied a change; NaN before. */
  appliedUs({ version, appliedUs }: Change): number {
    return version <= this.listed && Number.isFinite(this.listed)
      ? this.listedUs
      : appliedUs[this.at]!;
  }

  /** A node asks its dnsmasq for a name. */
  ask(at: number, take: TakeAnswer): void {
    const { questions, judge } = this.#fleet;
    const query = questions.ofCache(at);
    const hit = this.cache.lookup(query);
    if (hit === undefined) this.cache.ask(at, take);
    else {
      const rightUs = judge.judge(this, at, hit);
      take(hit.answer.slice(), rightUs);
    }
  }

  #forward(at: number, flight: Flight): void {
    const { scheduler, questions, plan } = this.#fleet;
    const { process } = this.dnsmasq;
    const { kubedns, cache } = this;
    scheduler.at(process.nowUs + LOOPBACK_US, () =>
      kubedns.process.post(() => {
        // Questions are refused until it has all records.
        if (!Number.isFinite(this.listed)) return;
        const length = this.#answerer.answer(questions.ofCache(at), out, CLIENT);
        const reply = out.slice(0, length);
        const answeredUs = kubedns.process.nowUs;
        scheduler.at(answeredUs + LOOPBACK_US, () =>
          process.post(() => cache.take(at, flight, reply, answeredUs), 0),
        );
      }, plan.costs.question),
    );
  }

  #setLive(kubedns: FleetProcess | undefined): void {
    this.#live = kubedns;
    this.#fleet.say(
      `pod ${this.at}: its dnsmasq is ${kubedns === undefined ? 'not ' : ''}subscribed`,
    );
    this.#fleet.noteHealth();
  }

  /** A list has this version, and the last objects in it these. */
  #list(version: number, seen: readonly number[]): void {
    this.listed = version;
    this.listedUs = this.kubedns.process.nowUs;
    for (const resource of RESOURCES) this.#know(resource, version, seen[resource]);
    this.#publisher.remember();
  }

  #apply(change: Change): void {
    const { resource, version } = change;
    if (version <= this.listed) return;
    const { nowUs } = this.kubedns.process;
    change.appliedUs[this.at] = nowUs;
    this.#know(resource, version);
    this.#publisher.feed.add(this.#fleet.names[change.name]!);
    if (this.#fleet.isTraced(change.name)) this.#fleet.say(`pod ${this.at}: its kubedns applies version ${version} of s${change.name}`); // prettier-ignore
  }

  #know(resource: Resource, version: number, seen = version): void {
    const { code } = this.#fleet;
    this.#known[resource] = version;
    code.setKnown(this.#version, resource, version);
    code.setSeen(this.#version, resource, seen);
    code.setChanged(this.#version, resource, version);
  }

  #name(): string {
    return `${this.address}/${this.#starts++}`;
  }

  /** What its kubedns knows. */
  get known(): Known {
    return this.#known;
  }
}

/** Of a server. */
function connectionCosts({ send, accept, request }: Costs): ConnectionCosts {
  return { sendUs: send, acceptUs: accept, receiveUs: request };
}

const DNS_PORT = 53;

/** What a node's subscription leads to. */
interface Live {
  readonly pod: Pod;
  /** That of the pod, or another node's node-cache. */
  readonly publisher: FleetProcess;
  readonly source: PublisherProcess;
}

/** A node-cache, and its clients, who ask for some names. */
class Node {
  readonly at: number;
  readonly process: FleetProcess;
  /** Whether changes get to it from a kubedns. */
  readonly health: Health;
  live: Live | undefined;
  server: FleetServer | undefined;
  relay: Relay | undefined;
  cache!: FleetCache;
  /** When an answer of another replica knew more than this one's publisher, and which version. */
  ahead: { readonly sinceUs: number; readonly known: Known } | undefined;
  readonly #fleet: Fleet;
  readonly #firstName: number;
  #subscriptions!: Subscriptions;

  constructor(fleet: Fleet, at: number, crowd: FleetProcess | undefined) {
    this.at = at;
    this.#fleet = fleet;
    this.#firstName = fleet.random.below(fleet.plan.names);
    const address = `10.${1 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`;
    this.process = crowd ?? new FleetProcess(`node-${at}`, address, fleet.scheduler);
    this.health = new Health(fleet.scheduler, () => this.#isSound);
  }

  start(): void {
    this.process.post(() => this.#start(), 0);
  }

  /** The pod whose changes it gets. */
  get publisher(): Pod | undefined {
    return this.live?.pod;
  }

  /** The share of its cached answers that a live subscription pins. */
  get coverage(): { readonly pinned: number; readonly all: number } {
    const [row] = this.#subscriptions.rows();
    return { pinned: row?.pinnedAnswers ?? 0, all: row?.zoneAnswers ?? 0 };
  }

  get flushes(): number {
    const [row] = this.#subscriptions.rows();
    return Object.values(row?.flushes ?? {}).reduce((sum, count) => sum + count, 0);
  }

  /** A client asks for a name. */
  ask(): void {
    const at = (this.#firstName + this.#fleet.random.below(HOT_NAMES)) % this.#fleet.plan.names;
    this.process.post(() => this.#ask(at), 0);
  }

  #start(): void {
    const { code, plan, policies } = this.#fleet;
    const servers = [zoneServer(this.#fleet.publisherHost(this.at), DNS_PORT)];
    const subscriptions = new code.Subscriptions({ servers, log: LOG });
    const relay = this.at < plan.relays ? new code.Relay(subscriptions) : undefined;
    const policy = policies.nodeCache;
    const forward = (at: number, flight: Flight) => this.#forward(at, flight);
    this.cache = new FleetCache({ code, policy, subscriptions, relay, forward });
    subscriptions.passOnTo({
      onLive: (source) => {
        relay?.onLive(source);
        this.live = this.#fleet.publisherOf(source);
        this.ahead = undefined;
        this.#fleet.onLive(this, source.version);
      },
      onEnded: (source) => {
        if (this.live?.source === source) this.live = undefined;
        this.#fleet.onLive(this, source.version);
        relay?.onEnded(source);
      },
      onChanged: (source, name) => {
        relay?.onChanged(source, name);
        this.#fleet.onDropped(this, indexOf(name));
      },
      onFlushed: () => relay?.onFlushed(),
    });
    this.#subscriptions = subscriptions;
    this.relay = relay;
    if (relay !== undefined) {
      const costs = connectionCosts(plan.costs);
      this.server = { process: this.process, costs, sessions: relay.publisher };
    }
    subscriptions.start([]);
  }

  get #isSound(): boolean {
    const { live } = this;
    if (live === undefined) return false;
    const { pod, publisher } = live;
    if (!pod.isSound || pod.dnsmasq.process !== publisher) return false;
    return this.#fleet.network.arrives(this.process, publisher);
  }

  #ask(at: number): void {
    const { window, questions, judge } = this.#fleet;
    const query = questions.ofClient(at);
    const hit = this.cache.lookup(query);
    if (hit !== undefined) {
      window.answers++;
      window.hits++;
      if (this.#isPinned(hit.subscription)) window.pinned++;
      judge.judge(this, at, hit);
      return;
    }
    this.cache.ask(at, (answer) => {
      window.answers++;
      const entry = this.cache.cache.inspect(query.name, query.nameLength, TYPE.AAAA);
      if (this.#isPinned(entry?.subscription ?? 0)) window.pinned++;
      judge.note(at, answer);
    });
  }

  #isPinned(subscription: number): boolean {
    return subscription > 0 && subscription <= MAX_SUBSCRIPTIONS && this.live?.source.number === subscription; // prettier-ignore
  }

  #forward(at: number, flight: Flight): void {
    const { scheduler, network, window, plan } = this.#fleet;
    const pod = this.#fleet.backend();
    const askedUs = this.process.nowUs;
    // Asks another one when nothing comes.
    scheduler.at(askedUs + TIMEOUT_US, () => {
      if (flight.isDone) return;
      this.#fleet.window.unanswered++;
      this.process.post(() => this.#forward(at, flight), 0);
    });
    if (pod === undefined) return;
    const { process } = pod.dnsmasq;
    const { question } = plan.costs;
    scheduler.at(askedUs + ROUND_TRIP_US / 2, () => {
      if (network.isCut(this.process, process)) return;
      const arrivedUs = scheduler.nowUs;
      this.#fleet.window.questions++;
      process.post(() => {
        window.waits.add(process.nowUs - arrivedUs - question);
        pod.ask(at, (answer, rightUs) => this.#receive(at, flight, pod, answer, rightUs));
      }, question);
    });
  }

  #receive(at: number, flight: Flight, pod: Pod, answer: Uint8Array, rightUs: number): void {
    const { scheduler, network, judge } = this.#fleet;
    const { process } = pod.dnsmasq;
    scheduler.at(process.nowUs + ROUND_TRIP_US / 2, () => {
      if (network.isCut(this.process, process)) return;
      this.process.post(() => {
        if (!flight.isDone) judge.noteReply(this, at, pod.at, answer);
        this.cache.take(at, flight, answer, rightUs);
      }, 0);
    });
  }
}

/**
 * Heartbeats come each 2 s, and a dnsmasq sends them for 3 s after the last one of its kubedns: then a cache counts its TTLs. An
 * answer on its way adds a little.
 */
const TTL_US = (TTL_SECONDS + 4) * US;
/** An answer of which no version says how old it is. */
const UNVERSIONED_US = 1.1 * US;
/** A publisher is left that does not know after 2 s what another replica knew; it has a quarter of a second more for what it says of itself. */
const LAG_US = 3.5 * US;

/** A promise that was broken. */
export class FleetViolation extends Error {
  readonly rule: string;
  /** The number of the name. */
  readonly service: number;
  /** The node-cache, or undefined where a pod's dnsmasq did it. */
  readonly node: number | undefined;
  readonly pod: number | undefined;

  constructor(rule: string, text: string, service: number, cache: JudgedCache) {
    super(text);
    this.rule = rule;
    this.service = service;
    this.node = 'live' in cache ? cache.at : undefined;
    this.pod = cache.publisher?.at;
  }
}

/** A cache whose answers are judged, and the pod whose changes it gets. */
interface JudgedCache {
  readonly at: number;
  readonly health: Health;
  readonly cache: FleetCache;
  readonly publisher: { readonly at: number; appliedUs(change: Change): number } | undefined;
}

interface JudgedHit {
  readonly answer: Uint8Array;
  readonly subscription: number;
}

/**
 * Judges what caches give:
 *
 * - `fresh`: while changes get to a cache, it knows each one that its publisher knew a moment before.
 * - `ttl`: in a gap, and of what others answered, nothing is older than its TTL, since changes got to it last.
 * - `unversioned`: an answer of which nothing says how old it is lives for a second.
 * - `lag`: a publisher that is behind another replica is left.
 */
class FleetJudge {
  readonly #fleet: Fleet;
  readonly #history: FleetHistory;
  readonly #freshUs: number;
  readonly #isOn: boolean;

  constructor(fleet: Fleet) {
    const { plan, history } = fleet;
    this.#fleet = fleet;
    this.#history = history;
    this.#freshUs = plan.freshMs * 1_000;
    this.#isOn = plan.relays === 0;
  }

  /** A cache gives an answer. Returns when that was right. */
  judge(cache: JudgedCache, at: number, hit: JudgedHit): number {
    const { nowUs } = this.#fleet.scheduler;
    const stored = cache.cache.stored.get(at)!;
    if (this.#fleet.isTraced(at)) this.#trace(cache, at, hit);
    const isUnversioned = hit.subscription >= UNVERSIONED;
    const lastSoundUs = isUnversioned ? 0 : cache.health.lastSoundUs;
    const rightUs = Math.max(stored.rightUs, lastSoundUs);
    if (this.#isOn) {
      const isOld = nowUs - stored.storedUs > UNVERSIONED_US;
      if (isUnversioned && isOld) this.#fail('unversioned', at, cache, nowUs - stored.storedUs);
      if (nowUs - rightUs > TTL_US) this.#fail('ttl', at, cache, nowUs - rightUs);
    }
    if ('live' in cache) this.#judgeLag(cache as Node, at);
    const unknown = this.note(at, hit.answer, 'live' in cache);
    if (unknown.length === 0 || isUnversioned || !this.#isOn) return rightUs;
    const { publisher, health } = cache;
    if (publisher === undefined || !health.isSoundFor(this.#freshUs)) return rightUs;
    for (const change of unknown) {
      const knownUs = nowUs - publisher.appliedUs(change);
      if (knownUs > this.#freshUs) this.#fail('fresh', at, cache, knownUs);
    }
    return rightUs;
  }

  /** An answer is given; notes how old it is, and returns the changes that it does not know. */
  note(at: number, answer: Uint8Array, isGiven = true): readonly Change[] {
    const { questions, scheduler, window } = this.#fleet;
    const known = knownBy(questions.ofClient(at), answer);
    if (this.#history.isKnown(at, known)) return [];
    const unknown = this.#history.unknown(at, known);
    if (isGiven && unknown.length > 0) window.staleness.add(scheduler.nowUs - unknown[0]!.atUs);
    return unknown;
  }

  /** A reply has come to a node: its publisher is to know soon what it says that it has seen. */
  noteReply(node: Node, at: number, pod: number, answer: Uint8Array): void {
    const { questions, scheduler } = this.#fleet;
    if (this.#fleet.isTraced(at, node)) {
      const [services, endpoints] = knownBy(questions.ofClient(at), answer);
      this.#fleet.say(`node ${node.at} gets s${at} from pod ${pod}, which knows services ${services}, endpoints ${endpoints}`); // prettier-ignore
    }
    const seen = seenBy(answer);
    if (seen === undefined || node.live === undefined || knowsAll(node.live.pod.known, seen))
      return;
    node.ahead ??= { sinceUs: scheduler.nowUs, known: seen };
  }

  #trace(cache: JudgedCache, at: number, { answer, subscription }: JudgedHit): void {
    const [services, endpoints] = knownBy(this.#fleet.questions.ofClient(at), answer);
    if ('live' in cache && !this.#fleet.isTraced(at, cache as Node)) return;
    this.#fleet.say(`${whoIs(cache)} gives s${at} from its cache (subscription ${subscription}), knows services ${services}, endpoints ${endpoints}`); // prettier-ignore
  }

  #judgeLag(node: Node, at: number): void {
    const { ahead, live } = node;
    if (ahead === undefined || live === undefined) return;
    if (knowsAll(live.pod.known, ahead.known)) node.ahead = undefined;
    else {
      const forUs = this.#fleet.scheduler.nowUs - ahead.sinceUs;
      if (forUs > LAG_US && this.#isOn) this.#fail('lag', at, node, forUs);
    }
  }

  #fail(rule: string, name: number, cache: JudgedCache, forUs: number): never {
    const { nowUs } = this.#fleet.scheduler;
    const text = `${rule}: at ${(nowUs / US).toFixed(3)} s ${whoIs(cache)} gives s${name} as it was ${(forUs / US).toFixed(3)} s ago`;
    throw new FleetViolation(rule, text, name, cache);
  }
}

function whoIs(cache: JudgedCache): string {
  return 'live' in cache ? `node ${cache.at}` : `the dnsmasq of pod ${cache.at}`;
}

/** What a reply says that its server has seen. */
function seenBy(reply: Uint8Array): Known | undefined {
  const at = zoneVersionAt(reply);
  const clusterAt = at < 0 ? at : clusterVersionAt(reply, at);
  return clusterAt < 0 ? undefined : [seenOf(reply, clusterAt, 0), seenOf(reply, clusterAt, 1)];
}

function knowsAll(own: Known, other: Known): boolean {
  return RESOURCES.every((resource) => own[resource] >= other[resource]);
}

/** Between two faults, in the mean. */
const BETWEEN_US = 15 * US;
const KINDS = ['kill', 'kill-kubedns', 'freeze', 'freeze-kubedns', 'lag', 'cut', 'roll'] as const;
type Kind = (typeof KINDS)[number];
/** How long they are at most: a killed program starts again sooner. */
const LONGEST_US: Readonly<Record<Kind, number>> = {
  kill: 10 * US,
  'kill-kubedns': 10 * US,
  freeze: 40 * US,
  'freeze-kubedns': 40 * US,
  lag: 40 * US,
  cut: 50 * US,
  roll: 0,
};
const MOST_LAG_US = 20 * US;
/** Of a rolling update: a pod is no backend, then ends; the next one follows. */
const [LEAVES_US, NEXT_US] = [1 * US, 5 * US] as const;

/** A fault as the seed draws it: the same whatever was before. */
interface Fault {
  readonly number: number;
  readonly kind: Kind;
  readonly afterUs: number;
  readonly forUs: number;
  readonly pod: number;
  /** Of nodes that are cut off, one of so many; how late a watch is. */
  readonly oneOf: number;
  readonly lagUs: number;
}

function drawFault(random: Random, number: number, pods: number): Fault {
  const own = random.fork(`fault/${number}`);
  const kind = own.pick(KINDS);
  return {
    number,
    kind,
    afterUs: own.exponential(BETWEEN_US),
    forUs: own.fraction() * LONGEST_US[kind],
    pod: own.below(pods),
    oneOf: own.between(1, 4),
    lagUs: own.fraction() * MOST_LAG_US,
  };
}

function describeFault({ kind, pod, forUs, oneOf, lagUs }: Fault): string {
  if (kind === 'roll') return 'all pods are replaced, one after the other';
  const seconds = `for ${(forUs / US).toFixed(1)} s`;
  if (kind === 'lag')
    return `pod ${pod}: its watches are ${(lagUs / US).toFixed(1)} s late ${seconds}`;
  const whom = kind === 'cut' ? `, from one node of ${oneOf}` : '';
  return `pod ${pod}: ${kind}${whom} ${seconds}`;
}

/** Begins a fault; it ends by itself. */
function beginFault(fleet: Fleet, fault: Fault): void {
  const { scheduler, network, nodes } = fleet;
  const pod = fleet.pods[fault.pod]!;
  const { kubedns, dnsmasq } = pod;
  const later = (run: () => void) =>
    scheduler.after(fault.forUs, () => {
      run();
      fleet.noteHealth();
      fleet.say(`end of: ${describeFault(fault)}`);
    });
  switch (fault.kind) {
    case 'kill':
      pod.kill();
      later(() => pod.restart());
      break;
    case 'kill-kubedns':
      pod.killKubedns();
      later(() => pod.restartKubedns());
      break;
    case 'freeze':
      for (const { process } of [kubedns, dnsmasq]) freezeFor(process);
      break;
    case 'freeze-kubedns':
      freezeFor(kubedns.process);
      break;
    case 'lag':
      pod.lagUs = fault.lagUs;
      later(() => (pod.lagUs = 0));
      break;
    case 'cut': {
      const cut = nodes.filter(({ at }) => at % fault.oneOf === 0).map(({ process }) => process);
      for (const process of cut) network.cut(process, dnsmasq.process);
      later(() => {
        for (const process of cut) network.heal(process, () => fleet.noteHealth());
      });
      break;
    }
    case 'roll':
      roll(fleet, fleet.pods);
      break;
  }
  fleet.noteHealth();

  function freezeFor(process: Pod['kubedns']['process']): void {
    process.freeze();
    later(() => process.thaw());
  }
}

function roll(fleet: Fleet, [pod, ...rest]: readonly Pod[]): void {
  if (pod === undefined) return;
  pod.isLeaving = true;
  fleet.scheduler.after(LEAVES_US, () => {
    pod.restart();
    pod.isLeaving = false;
    fleet.noteHealth();
    fleet.scheduler.after(NEXT_US, () => roll(fleet, rest));
  });
}
