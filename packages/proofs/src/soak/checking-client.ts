import type { Socket } from 'node:dgram';
import { setTimeout as delay } from 'node:timers/promises';
import {
  connectUdp,
  encodeQuery,
  exchange,
  monotonicMs,
  sendQuietly,
  spreadOf,
} from '@kube-dns/testkit';
import { writeUint16 } from '@kube-dns/wire';
import { Schedule, type SchedulePlan } from './cluster-state.js';
import { type Asking, type Question, QuestionMix, readAnswer } from './questions.js';

/**
 * Asks on a new connection. Resolves to undefined after `limitMs`, not earlier: a client whose connection
 * is refused or reset asks again as late as one whose datagram is lost.
 */
function askOverTcp(port: number, query: Buffer, limitMs: number): Promise<Buffer | undefined> {
  const timeout = delay(limitMs, undefined, { ref: false });
  const answer = exchange(port, query, { isOverTcp: true, limitMs }).catch(() => timeout);
  return Promise.race([answer, timeout]);
}

/** A query whose answer is outstanding. */
export interface Waiting<A = Asking> {
  readonly asking: A;
  /** When the client wanted to know, and when this try was sent. */
  readonly firstSentMs: number;
  readonly sentMs: number;
  readonly tries: number;
}

interface ClientSocketsOptions<A = Asking> {
  readonly port: number;
  readonly count: number;
  readonly timeoutMs: number;
  readonly onAnswer: (waiting: Waiting<A>, message: Buffer) => void;
  readonly onTimeout: (waiting: Waiting<A>) => void;
}

interface ClientSocket<A> {
  readonly socket: Socket;
  /** By ID, the oldest first. */
  readonly waiting: Map<number, Waiting<A>>;
  nextId: number;
}

const MAX_IDS = 0x1_0000;
const RENEWAL_MS = 1_000;

/** The sockets of many clients of one server. Each second a new one replaces the oldest. */
export class ClientSockets<A = Asking> {
  readonly #options: ClientSocketsOptions<A>;
  #sockets: ClientSocket<A>[] = [];
  /** Replaced, but with answers outstanding. */
  #old: ClientSocket<A>[] = [];
  #turn = 0;
  #renewedMs = 0;
  #isClosed = false;

  private constructor(options: ClientSocketsOptions<A>) {
    this.#options = options;
  }

  static async open<A = Asking>(options: ClientSocketsOptions<A>): Promise<ClientSockets<A>> {
    const sockets = new ClientSockets<A>(options);
    for (let i = 0; i < options.count; i++) await sockets.#add();
    return sockets;
  }

  send(query: Buffer, waiting: Waiting<A>): void {
    const to = this.#sockets[this.#turn++ % this.#sockets.length]!;
    while (to.waiting.has(to.nextId)) to.nextId = (to.nextId + 1) % MAX_IDS;
    const id = to.nextId;
    to.nextId = (id + 1) % MAX_IDS;
    writeUint16(query, 0, id);
    to.waiting.set(id, waiting);
    sendQuietly(to.socket, query);
  }

  /** Ends queries after their time-out, and replaces the oldest socket once a second. */
  sweep(nowMs: number): void {
    const { timeoutMs, onTimeout } = this.#options;
    for (const { waiting } of [...this.#sockets, ...this.#old]) {
      for (const [id, one] of waiting) {
        if (nowMs - one.sentMs < timeoutMs) break;
        waiting.delete(id);
        onTimeout(one);
      }
    }
    this.#old = this.#old.filter((old) => {
      if (old.waiting.size === 0) old.socket.close();
      return old.waiting.size > 0;
    });
    if (nowMs - this.#renewedMs < RENEWAL_MS) return;
    this.#renewedMs = nowMs;
    void this.#add().then(() => this.#old.push(...this.#sockets.splice(0, 1)));
  }

  close(): void {
    this.#isClosed = true;
    for (const { socket } of [...this.#sockets, ...this.#old]) socket.close();
    this.#sockets = this.#old = [];
  }

  async #add(): Promise<void> {
    const waiting = new Map<number, Waiting<A>>();
    // "Connection refused" counts as no answer: the time-out handles it.
    const socket = await connectUdp(this.#options.port, (message) => {
      const id = message.length < 2 ? -1 : message.readUInt16BE(0);
      const asked = waiting.get(id);
      if (asked === undefined) return;
      waiting.delete(id);
      this.#options.onAnswer(asked, message);
    });
    if (this.#isClosed) socket.close();
    else this.#sockets.push({ socket, waiting, nextId: 0 });
  }
}

/** What became of the questions of some seconds. */
export interface AnswerFigures {
  readonly asked: number;
  readonly right: number;
  /** Neither right nor SERVFAIL. */
  readonly wrong: number;
  readonly servfails: number;
  /** Without an answer at the first try, whatever came later. */
  readonly firstTryLost: number;
  /** Without an answer after all tries. */
  readonly lost: number;
  /** Of right answers over UDP, from the first try, in ms; NaN when there were none. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How late the clients themselves were, for want of a core: no server can be faster. */
  readonly ownLateP99Ms: number;
  /** A few of those that were wrong, then of those that were lost, as text. */
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 5;

/** Counts answers between two looks. */
export class AnswerLog {
  #counts = { asked: 0, right: 0, wrong: 0, servfails: 0, firstTryLost: 0, lost: 0 };
  #latenciesMs: number[] = [];
  #latesMs: number[] = [];
  #wrong: string[] = [];
  #lost: string[] = [];

  /** The clients ran so much later than they wanted. */
  ranLate(byMs: number): void {
    this.#latesMs.push(byMs);
  }

  asked(): void {
    this.#counts.asked++;
  }

  answered(afterMs: number, isOverTcp: boolean): void {
    this.#counts.right++;
    // A connection has to be made first: another figure.
    if (!isOverTcp) this.#latenciesMs.push(afterMs);
  }

  /** An answer that is not right; `rcode` begins with the name of its rcode. */
  wrong(rcode: string, example: string): void {
    if (rcode.startsWith('SERVFAIL')) this.#counts.servfails++;
    else this.#counts.wrong++;
    if (this.#wrong.length < MAX_EXAMPLES) this.#wrong.push(example);
  }

  firstTryLost(): void {
    this.#counts.firstTryLost++;
  }

  lost(example: string): void {
    this.#counts.lost++;
    if (this.#lost.length < MAX_EXAMPLES) this.#lost.push(`no answer: ${example}`);
  }

  take(): AnswerFigures {
    const { p50, p99, max } = spreadOf(this.#latenciesMs);
    const figures = {
      ...this.#counts,
      p50Ms: p50,
      p99Ms: p99,
      maxMs: max,
      ownLateP99Ms: spreadOf(this.#latesMs).p99,
      examples: [...this.#wrong, ...this.#lost],
    };
    this.#counts = { asked: 0, right: 0, wrong: 0, servfails: 0, firstTryLost: 0, lost: 0 };
    this.#latenciesMs = [];
    this.#latesMs = [];
    this.#wrong = [];
    this.#lost = [];
    return figures;
  }
}

/** How long an old answer is still right. */
interface AcceptanceWindow {
  /** From the write in the API, or of the files, until kubedns and dnsmasq have it. */
  readonly settleMs: number;
  /** In addition, how long dnsmasq may cache an answer of kubedns: the TTL of a record. */
  readonly cacheMs: number;
}

/** Finds the answers that are right at a moment: during a change the old and the new one. */
export class Judge {
  readonly #schedule: Schedule;
  readonly #window: AcceptanceWindow;

  constructor(schedule: Schedule, window: AcceptanceWindow) {
    this.#schedule = schedule;
    this.#window = window;
  }

  /** All answers that are right to a question that was sent and answered at these moments. */
  rightAnswers(
    question: Question,
    isCached: boolean,
    sentMs: number,
    answeredMs: number,
  ): readonly string[] {
    const { settleMs, cacheMs } = this.#window;
    const { subject } = question;
    // A change of the configuration takes what it concerns out of the cache.
    const mayBeStale = isCached && subject.kind === 'service';
    const oldest = this.#version(question, sentMs - settleMs - (mayBeStale ? cacheMs : 0));
    const newest = this.#version(question, answeredMs);
    const answers: string[] = [];
    for (let version = newest; version >= oldest; version--) {
      answers.push(question.expected(version));
    }
    return answers;
  }

  #version({ subject }: Question, atMs: number): number {
    switch (subject.kind) {
      case 'service':
        return subject.index < this.#schedule.plan.churned
          ? this.#schedule.serviceVersion(subject.index, atMs)
          : 0;
      case 'config':
        return this.#schedule.configVersion(atMs);
      case 'none':
        return 0;
    }
  }
}

/** What resolvers offer since the flag day of 2020. */
const EDNS_BYTES = 1_232;

/** The servers, the load, and how answers are judged. */
interface CheckingClientOptions {
  readonly plan: SchedulePlan;
  readonly window: AcceptanceWindow;
  readonly queriesPerSecond: number;
  /** Ports on 127.0.0.1; those of one server may be the same. */
  readonly ports: { readonly dnsmasq: number; readonly kubedns: number };
  /** How long a client waits for an answer. */
  readonly timeoutMs: number;
  /** How often it asks again after that. */
  readonly retries: number;
  /** Sockets to each server; each second a new one replaces one of them. */
  readonly sockets: number;
}

/** The methods of a load in its own process. */
export interface CheckingClientMethods {
  start(options: CheckingClientOptions): Promise<void>;
  /** The figures of the questions since the last call. */
  take(): AnswerFigures;
  /** Sends no more queries, waits for those in flight, and returns the figures since the last call. */
  finish(): Promise<AnswerFigures>;
}

const TICK_MS = 2;
const SWEEP_MS = 50;

/** A load of a fixed rate in which every answer is judged. */
export class CheckingClient implements CheckingClientMethods {
  readonly #log = new AnswerLog();
  #options!: CheckingClientOptions;
  #judge!: Judge;
  #sockets!: { readonly dnsmasq: ClientSockets; readonly kubedns: ClientSockets };
  #timers: NodeJS.Timeout[] = [];
  #inFlight = 0;

  async start(options: CheckingClientOptions): Promise<void> {
    const schedule = new Schedule(options.plan);
    const mix = new QuestionMix(schedule);
    this.#options = options;
    this.#judge = new Judge(schedule, options.window);
    const open = (port: number) => {
      const onAnswer = (waiting: Waiting, message: Buffer) => this.#receive(waiting, message);
      const onTimeout = (waiting: Waiting) => this.#giveUp(waiting);
      const { sockets: count, timeoutMs } = options;
      return ClientSockets.open({ port, count, timeoutMs, onAnswer, onTimeout });
    };
    const { dnsmasq, kubedns } = options.ports;
    this.#sockets = { dnsmasq: await open(dnsmasq), kubedns: await open(kubedns) };
    const startMs = monotonicMs();
    let sent = 0;
    let lastMs = startMs;
    this.#timers = [
      setInterval(() => {
        const nowMs = monotonicMs();
        this.#log.ranLate(Math.max(0, nowMs - lastMs - TICK_MS));
        lastMs = nowMs;
        const due = Math.floor(((nowMs - startMs) * options.queriesPerSecond) / 1_000);
        for (; sent < due; sent++) {
          this.#inFlight++;
          this.#log.asked();
          this.#ask(mix.next(nowMs), nowMs, 0);
        }
      }, TICK_MS),
      setInterval(() => {
        // After what has arrived meanwhile, where this process had no core.
        setImmediate(() => this.#sweep());
      }, SWEEP_MS),
    ];
  }

  take(): AnswerFigures {
    return this.#log.take();
  }

  async finish(): Promise<AnswerFigures> {
    clearInterval(this.#timers[0]);
    while (this.#inFlight > 0) await new Promise((resolve) => setTimeout(resolve, SWEEP_MS));
    clearInterval(this.#timers[1]);
    for (const sockets of Object.values(this.#sockets)) sockets.close();
    return this.take();
  }

  #sweep(): void {
    for (const sockets of Object.values(this.#sockets)) sockets.sweep(monotonicMs());
  }

  #ask(asking: Asking, firstSentMs: number, tries: number): void {
    const sentMs = monotonicMs();
    const waiting = { asking, firstSentMs, sentMs, tries };
    const query = encodeQuery({
      ...asking.question,
      ...(asking.hasEdns && { ednsBytes: EDNS_BYTES, hasCookie: true }),
    });
    if (!asking.isOverTcp) {
      this.#sockets[asking.isStraight ? 'kubedns' : 'dnsmasq'].send(query, waiting);
      return;
    }
    const port = this.#options.ports[asking.isStraight ? 'kubedns' : 'dnsmasq'];
    void askOverTcp(port, query, this.#options.timeoutMs).then((message) => {
      if (message === undefined) this.#giveUp(waiting);
      else this.#receive(waiting, message);
    });
  }

  #receive({ asking, sentMs, firstSentMs }: Waiting, message: Buffer): void {
    this.#inFlight--;
    const nowMs = monotonicMs();
    const text = readAnswer(message);
    const { question, isStraight } = asking;
    const right = this.#judge.rightAnswers(question, !isStraight, sentMs, nowMs);
    if (right.includes(text)) {
      this.#log.answered(nowMs - firstSentMs, asking.isOverTcp);
      return;
    }
    const server = isStraight ? 'kubedns' : 'dnsmasq';
    const how = `${question.name} ${question.type} of ${server}${asking.isOverTcp ? ', TCP' : ''}`;
    this.#log.wrong(text, `${how}: ${text}; right is ${right.join(' or ')}`);
  }

  #giveUp({ asking, firstSentMs, tries }: Waiting): void {
    if (tries === 0) this.#log.firstTryLost();
    if (tries < this.#options.retries) {
      this.#ask(asking, firstSentMs, tries + 1);
      return;
    }
    this.#inFlight--;
    this.#log.lost(`${asking.question.name} ${asking.question.type}`);
  }
}
