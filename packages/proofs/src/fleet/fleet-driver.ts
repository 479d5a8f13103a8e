import { setTimeout as delay } from 'node:timers/promises';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import {
  addressRecords,
  connectUdp,
  decodeMessage,
  encodeQuery,
  monotonicMs,
  ScriptedNameServer,
  sendQuietly,
} from '@kube-dns/testkit';
import { answerText } from '../fixtures/answer-text.js';
import { TcpRelay } from '../fixtures/relays.js';
import { Crowd, type CrowdAnswer, type CrowdAnswers, type CrowdPoint } from '../outage/crowd.js';
import { Random } from '../random.js';
import {
  createSlots,
  firstObjects,
  isWide,
  OUTSIDE,
  outsideAddress,
  type Slot,
} from './fleet-slots.js';

/** The first port of the API server: each kubedns has one of its own, which may be late. */
export const API_PORT = 6443;

/** A cache that clients ask. */
export interface Point {
  readonly name: string;
  readonly address: string;
}

/** What is asked and changed. */
export interface ChangePlan {
  readonly points: readonly Point[];
  readonly changes: number;
  readonly seed: number;
  /** Only those of which this is a part. */
  readonly kinds: string;
  /** Changes at once, at most; one round in three has one. */
  readonly together: number;
  /** How long each name is asked for after its change, at least. */
  readonly watchMs: number;
  /** An answer may be old for so long. */
  readonly limitMs: number;
  /** How long a name is asked for that has its old answer. */
  readonly giveUpMs: number;
}

/** A change of which some cache gave the old answer for too long, or gave none of the two. */
export interface FleetFinding {
  readonly kind: string;
  readonly name: string;
  readonly point: string;
  /** When the change was made, on the monotonic clock. */
  readonly changedMs: number;
  /** From the change to the last question that had the old answer; with another answer: to that. */
  readonly oldMs: number;
  readonly wanted: string;
  readonly given: string;
  /** It is the old answer, and not just another one than the new. */
  readonly isOld: boolean;
  /** It came back after the new one. */
  readonly isBack: boolean;
  /** The cache, or a server before it, was cut off at that time: how long before the answer that ended; else undefined. */
  readonly afterCutMs: number | undefined;
}

/** What became of all changes. */
export interface FleetResult {
  readonly changes: Readonly<Record<string, number>>;
  /** How long each cache gave the old answer of each change, in milliseconds; 0: never. */
  readonly oldMs: readonly number[];
  readonly findings: readonly FleetFinding[];
  readonly questions: number;
  readonly unanswered: number;
  /** When it began and ended, on the monotonic clock. */
  readonly startMs: number;
  readonly endMs: number;
  /** How long this process stood still at most. */
  readonly stallMs: number;
}

/** What the API server of the lab has at the start. */
export interface FleetObjects {
  readonly slotsPerKind: number;
  /** Further services, see {@link crowdName}. */
  readonly crowd: number;
  /** The addresses of the DNS pods, behind the headless service `kube-dns-replicas`. */
  readonly pods: readonly string[];
}

/** The methods of the host of the API server and of the clients. */
export interface FleetDriverMethods {
  /** Serves the API at this address, at a port for each server that follows it, and the names outside. */
  start(address: string, servers: number, objects: FleetObjects): Promise<void>;
  /** From now on a kubedns sees each event so much later. */
  setDelay(server: number, delayMs: number): void;
  /** From now on the API server can be reached by a kubedns, or no more: its connections end. */
  setReachable(server: number, isReachable: boolean): void;
  /** From now on no server reaches the API server, or all do. */
  setApi(way: ApiWay): Promise<void>;
  /** A page, without an answer of status 0. */
  page(url: string): Promise<FleetPage>;
  /** Whether a server answers a name of the cluster. */
  answers(address: string): Promise<boolean>;
  /** Makes changes until all are made; may run beside faults. */
  run(plan: ChangePlan): Promise<FleetResult>;
  /** Asks a server for all services of the crowd. */
  askCrowd(address: string, port: number): Promise<CrowdAnswers>;
  /** Asks a server for one name, again for so long as there is no answer, 5 s at most. */
  askOne(address: string, port: number, name: string): Promise<CrowdAnswer>;
  /** Changes so many services of the crowd, and creates and deletes as many. */
  changeCrowd(each: number): void;
  /**
   * Lets all servers reach the API server again, and asks these for what has changed meanwhile: resolves to how long each took until
   * all of its answers were right, in milliseconds; Infinity after `limitMs`.
   */
  reopen(points: readonly CrowdPoint[], limitMs: number): Promise<readonly number[]>;
  /** How many changes `run` has made so far. */
  progress(): number;
  /** From now on, or no more, old answers of these caches are those of caches that are cut off. */
  setCutOff(points: readonly string[], isCutOff: boolean): void;
}

/** Refused: the ports are closed. Silent: connections are taken, and nothing is said. */
export type ApiWay = 'open' | 'refused' | 'silent';

/** A page of a program. */
export interface FleetPage {
  /** 0 without an answer. */
  readonly status: number;
  readonly text: string;
}

const DNS_PORT = 53;
const PAGE_LIMIT_MS = 1_000;
const ANSWER_LIMIT_MS = 1_000;
/** Between two questions for a name that has just changed, and at most once it has its new answer. */
const STEP_MS = 4;
const MAX_STEP_MS = 100;
/** Changes of one round are made within this time. */
const SPREAD_MS = 60;
const OUTSIDE_TTL = 300;
const NONE = 'no answer';
const TICK_MS = 10;
/** Of a timer of this time: what is later stood still. */
const STALL_MS = 40;
/** Findings that are passed on; more are as bad. */
const MAX_FINDINGS = 500;

/** Asks one cache. */
class PointClient {
  readonly name: string;
  asked = 0;
  unanswered = 0;
  /** Times in which it is cut off, from and to. */
  readonly #cutOff: { readonly fromMs: number; toMs: number }[] = [];
  readonly #waiting = new Map<number, (text: string) => void>();
  #socket!: Awaited<ReturnType<typeof connectUdp>>;
  #id = 0;

  constructor({ name }: Point) {
    this.name = name;
  }

  async open({ address }: Point): Promise<void> {
    const onMessage = (message: Buffer) => {
      const id = message.readUInt16BE(0);
      this.#waiting.get(id)?.(answerText(decodeMessage(message)));
    };
    this.#socket = await connectUdp(DNS_PORT, onMessage, address);
  }

  /** The text of the answer; NONE after a second. */
  ask({ name, type }: Pick<Slot, 'name' | 'type'>): Promise<string> {
    const id = (this.#id = (this.#id + 1) & 0xffff);
    this.asked++;
    return new Promise((resolve) => {
      const end = (text: string) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        if (text === NONE) this.unanswered++;
        resolve(text);
      };
      const timer = setTimeout(end, ANSWER_LIMIT_MS, NONE);
      this.#waiting.set(id, end);
      sendQuietly(this.#socket, encodeQuery({ id, name, type, ednsBytes: 1_232 }));
    });
  }

  setCutOff(isCutOff: boolean): void {
    const last = this.#cutOff.at(-1);
    const nowMs = monotonicMs();
    if (isCutOff) this.#cutOff.push({ fromMs: nowMs, toMs: Number.POSITIVE_INFINITY });
    else if (last !== undefined) last.toMs = nowMs;
  }

  /** How long before `toMs` it was cut off last, if that was after `fromMs`; undefined if it was not. */
  cutOffBefore(fromMs: number, toMs: number): number | undefined {
    const last = this.#cutOff.findLast((each) => each.fromMs <= toMs && fromMs <= each.toMs);
    return last && Math.max(0, toMs - last.toMs);
  }

  close(): void {
    this.#socket.close();
  }
}

/** A slot with the answer that it has now. */
interface Live {
  readonly slot: Slot;
  state: 0 | 1;
  /** A client asks for it, or it has no right answer yet. */
  isBusy: boolean;
  changedMs: number;
}

/** Changes names at random, and asks every cache for each before and after. */
class ChangeRun {
  made = 0;
  readonly clients: readonly PointClient[];
  readonly #api: ApiServer;
  readonly #lives: readonly Live[];
  readonly #plan: ChangePlan;
  readonly #random: Random;
  readonly #startMs = monotonicMs();
  readonly #counts: Record<string, number> = {};
  readonly #oldMs: number[] = [];
  readonly #stalls: { readonly fromMs: number; readonly toMs: number }[] = [];
  readonly #findings: FleetFinding[] = [];

  constructor(api: ApiServer, lives: readonly Live[], plan: ChangePlan) {
    this.#api = api;
    this.#lives = lives.filter(({ slot }) => slot.kind.includes(plan.kinds));
    this.#plan = plan;
    this.#random = new Random(plan.seed);
    this.clients = plan.points.map((point) => new PointClient(point));
  }

  async run(): Promise<FleetResult> {
    const { points, changes } = this.#plan;
    await Promise.all(this.clients.map((client, i) => client.open(points[i]!)));
    let lastMs = monotonicMs();
    const ticks = setInterval(() => {
      const fromMs = lastMs;
      lastMs = monotonicMs();
      if (lastMs - fromMs >= STALL_MS) this.#stalls.push({ fromMs, toMs: lastMs });
    }, TICK_MS);
    const late: Promise<void>[] = [];
    while (this.made < changes) late.push(...(await this.#round()));
    await Promise.all(late);
    clearInterval(ticks);
    for (const client of this.clients) client.close();
    const sum = (key: 'asked' | 'unanswered') =>
      this.clients.reduce((total, client) => total + client[key], 0);
    return {
      changes: this.#counts,
      oldMs: this.#oldMs,
      findings: this.#findings,
      questions: sum('asked'),
      unanswered: sum('unanswered'),
      startMs: this.#startMs,
      endMs: monotonicMs(),
      stallMs: Math.max(0, ...this.#stalls.map(({ fromMs, toMs }) => toMs - fromMs)),
    };
  }

  /** The time in between, without that in which this process, with the API server, stood still. */
  #runningMs(fromMs: number, toMs: number): number {
    const stoodMs = this.#stalls.reduce((sum, stall) => {
      return sum + Math.max(0, Math.min(toMs, stall.toMs) - Math.max(fromMs, stall.fromMs));
    }, 0);
    return Math.max(0, toMs - fromMs - stoodMs);
  }

  /**
   * Some changes at about the same time. Of one alone no other change drops what is cached. Resolves once the time is over in
   * which each name is asked for, to those names that have not their new answers.
   */
  async #round(): Promise<readonly Promise<void>[]> {
    const { changes, together, watchMs } = this.#plan;
    const isAlone = this.#random.isOneIn(3);
    const count = isAlone ? 1 : 1 + this.#random.below(together);
    const chosen: Live[] = [];
    const left = Math.min(count, changes - this.made);
    for (let tries = 0; chosen.length < left && tries < 50 * left; tries++) {
      const live = this.#lives[this.#random.below(this.#lives.length)]!;
      if (live.isBusy || (isAlone && tries < 20 && !isWide(live.slot))) continue;
      live.isBusy = true;
      chosen.push(live);
    }
    await Promise.all(chosen.map((live) => this.#cacheEverywhere(live)));
    this.made += chosen.length;
    const watched = chosen.map((live) =>
      this.#change(live, chosen.length === 1 ? 0 : this.#random.below(SPREAD_MS)),
    );
    // Where all names have old answers, as in a long fault, it waits, too.
    const all = chosen.length > 0 ? Promise.all(watched) : delay(SPREAD_MS);
    await Promise.race([all, delay(SPREAD_MS + watchMs)]);
    return watched;
  }

  /** Asks each cache twice; an answer that is not the one of the last change came back. */
  async #cacheEverywhere(live: Live): Promise<void> {
    const { text } = live.slot.states[live.state];
    await Promise.all(
      this.clients.map(async (client) => {
        const askedMs = monotonicMs();
        const given = await client.ask(live.slot);
        const isNew = given === text || given === NONE;
        if (!isNew && live.changedMs > 0)
          this.#find(live, client, { askedMs, given, isBack: true });
        await client.ask(live.slot);
      }),
    );
  }

  async #change(live: Live, afterMs: number): Promise<void> {
    if (afterMs > 0) await delay(afterMs);
    const { slot } = live;
    live.state = live.state === 0 ? 1 : 0;
    slot.states[live.state].write(this.#api);
    live.changedMs = monotonicMs();
    this.#counts[slot.kind] = (this.#counts[slot.kind] ?? 0) + 1;
    await Promise.all(this.clients.map((client) => this.#watch(live, client)));
    live.isBusy = false;
  }

  /** Asks a cache until it has had the new answer for some time, or has the old one for too long. */
  async #watch(live: Live, client: PointClient): Promise<void> {
    const { limitMs, watchMs, giveUpMs } = this.#plan;
    const { slot, changedMs } = live;
    const wanted = slot.states[live.state].text;
    const old = slot.states[live.state === 0 ? 1 : 0].text;
    let oldMs = 0;
    let other: { askedMs: number; given: string } | undefined;
    let isBack = false;
    let isNew = false;
    let stepMs = STEP_MS;
    for (;;) {
      const askedMs = monotonicMs();
      const sinceMs = askedMs - changedMs;
      if (sinceMs >= (isNew ? watchMs : giveUpMs)) break;
      const given = await client.ask(slot);
      if (given === old) {
        oldMs = sinceMs;
        isBack ||= isNew;
      }
      isNew = given === wanted;
      if (!isNew && given !== old && given !== NONE) other = { askedMs, given };
      stepMs = isNew ? Math.min(2 * stepMs, MAX_STEP_MS) : Math.max(STEP_MS, sinceMs / 20);
      await delay(stepMs);
    }
    const ranMs = this.#runningMs(changedMs, changedMs + oldMs);
    const isCutOff = client.cutOffBefore(changedMs, changedMs + oldMs) !== undefined;
    this.#oldMs.push(isCutOff ? 0 : ranMs);
    if (ranMs > limitMs) {
      this.#find(live, client, { askedMs: changedMs + oldMs, given: old, isBack });
    }
    if (other !== undefined) this.#find(live, client, { ...other, isBack: false });
  }

  #find(
    { slot, state, changedMs }: Live,
    client: PointClient,
    { askedMs, given, isBack }: { askedMs: number; given: string; isBack: boolean },
  ): void {
    if (this.#findings.length >= MAX_FINDINGS) return;
    const isOld = given === slot.states[state === 0 ? 1 : 0].text;
    this.#findings.push({
      kind: slot.kind,
      name: slot.name,
      point: client.name,
      changedMs,
      oldMs: this.#runningMs(changedMs, askedMs),
      wanted: slot.states[state].text,
      given,
      isOld,
      isBack,
      afterCutMs: client.cutOffBefore(changedMs, askedMs),
    });
  }
}

/** The API server with a port for each kubedns, the name server outside, and the clients of all caches, on one host. */
export class FleetDriver implements FleetDriverMethods {
  readonly #relays: TcpRelay[] = [];
  readonly #lives: Live[] = [];
  readonly #crowd = new Crowd();
  #address = '';
  #isRefused = false;
  #api: ApiServer | undefined;
  #run: ChangeRun | undefined;

  async start(
    address: string,
    servers: number,
    { slotsPerKind, crowd, pods }: FleetObjects,
  ): Promise<void> {
    const slots = createSlots(slotsPerKind);
    // Each kubedns reaches it at the port of its relay, which an API server of one address would refuse.
    const api = await createApiServer({
      host: '0.0.0.0',
      historyLimit: 10_000,
      seed: (objects) => {
        objects.load(firstObjects(slots, pods));
        objects.load(this.#crowd.create(crowd));
      },
    });
    this.#api = api;
    for (const slot of slots) {
      slot.states[0].write(api);
      this.#lives.push({ slot, state: 0, isBusy: false, changedMs: 0 });
    }
    this.#address = address;
    for (let i = 0; i < servers; i++) this.#relays.push(await this.#relay(i));
    await ScriptedNameServer.start(
      ({ name, type }) => {
        if (!name.endsWith(OUTSIDE)) return { rcode: 'NXDOMAIN' };
        return type === 'A' ? { answers: addressRecords(OUTSIDE_TTL, outsideAddress(name)) } : {};
      },
      { address, port: DNS_PORT },
    );
  }

  setDelay(server: number, delayMs: number): void {
    this.#relays[server]!.delayMs = delayMs;
  }

  setReachable(server: number, isReachable: boolean): void {
    this.#relays[server]!.way = isReachable ? 'open' : 'closed';
  }

  async setApi(way: ApiWay): Promise<void> {
    for (const [i, relay] of this.#relays.entries()) {
      if (way === 'refused') await relay.close();
      else if (this.#isRefused) this.#relays[i] = await this.#relay(i);
      this.#relays[i]!.way = way === 'refused' ? 'closed' : way;
    }
    this.#isRefused = way === 'refused';
  }

  async page(url: string): Promise<FleetPage> {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(PAGE_LIMIT_MS) });
      return { status: response.status, text: await response.text() };
    } catch {
      // no server listens, or none answers
      return { status: 0, text: '' };
    }
  }

  askCrowd(address: string, port: number): Promise<CrowdAnswers> {
    return this.#crowd.askAll({ address, port });
  }

  askOne(address: string, port: number, name: string): Promise<CrowdAnswer> {
    return this.#crowd.askOne({ address, port }, name);
  }

  changeCrowd(each: number): void {
    if (this.#api === undefined) throw new Error('there is no API server');
    this.#crowd.change(this.#api, each);
  }

  async reopen(points: readonly CrowdPoint[], limitMs: number): Promise<readonly number[]> {
    const openedMs = monotonicMs();
    await this.setApi('open');
    return Promise.all(points.map((point) => this.#crowd.freshMs(point, openedMs, limitMs)));
  }

  async answers(address: string): Promise<boolean> {
    const point = { name: address, address };
    const client = new PointClient(point);
    await client.open(point);
    const text = await client.ask({ name: 'kube-dns.kube-system.svc.cluster.local', type: 'A' });
    client.close();
    return text.startsWith('NOERROR');
  }

  run(plan: ChangePlan): Promise<FleetResult> {
    if (this.#api === undefined) throw new Error('there is no API server');
    this.#run = new ChangeRun(this.#api, this.#lives, plan);
    return this.#run.run();
  }

  progress(): number {
    return this.#run?.made ?? 0;
  }

  setCutOff(points: readonly string[], isCutOff: boolean): void {
    for (const client of this.#run?.clients ?? []) {
      if (points.includes(client.name)) client.setCutOff(isCutOff);
    }
  }

  #relay(server: number): Promise<TcpRelay> {
    return TcpRelay.start(this.#address, API_PORT + server, this.#api!.port);
  }
}
