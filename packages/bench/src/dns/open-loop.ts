import { setTimeout as delay } from 'node:timers/promises';
import { MeasureError } from '@kube-dns/testkit';
import { chooseUdpEngine, FrameReader, type UdpEngine } from '@kube-dns/transport';
import { HEADER_BYTES, RCODE_MASK, readUint16, writeUint16 } from '@kube-dns/wire';

/** What an open loop goes by. */
export interface LoadClock {
  readonly nowMs: () => number;
  /** The CPU time that this thread has had. */
  readonly cpuMs: () => number;
  /** Calls back when what has arrived until now was received. */
  readonly nextTurn: (callback: () => void) => void;
  readonly pause: (ms: number) => Promise<unknown>;
}

/** The clock of this machine. */
const MACHINE_CLOCK: LoadClock = {
  nowMs: () => performance.now(),
  cpuMs: ownCpuMs,
  nextTurn: (callback) => void setImmediate(callback),
  pause: (ms) => delay(ms),
};

/** Of this thread: the others of the process take its core from it, too. Before Node 23.9 of the whole process. */
function ownCpuMs(): number {
  const known: Partial<Pick<NodeJS.Process, 'threadCpuUsage'>> = process;
  const { user, system } = known.threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / 1_000;
}

/** Times are counted in steps of 0.1 µs. */
const STEPS_PER_MS = 10_000;
/** Each power of two of steps is cut into this many parts, so a value is known to 1.6 %. */
const PARTS = 64;
const PART_BITS = 6;
/** Up to 2^31 steps, which is 214 s. */
const BUCKETS = (32 - PART_BITS) * PARTS;
const MAX_STEPS = 0x7fff_ffff;

/** Percentiles of many times, in ms; NaN where there are none. */
interface Percentiles {
  readonly count: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

/**
 * Times in buckets that become wider with the time: adding one allocates nothing.
 *
 *     0 1 2 … 63 │ 64 … 127 │ 128, 130 … 254 │ 256, 260 … 508 │ …
 */
export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKETS);
  #count = 0;
  #maxMs = Number.NaN;

  add(ms: number, count = 1): void {
    if (count === 0) return;
    const steps = Math.max(0, Math.min(MAX_STEPS, Math.round(ms * STEPS_PER_MS)));
    this.#counts[bucketOf(steps)]! += count;
    this.#count += count;
    if (!(ms <= this.#maxMs)) this.#maxMs = ms;
  }

  /** Takes in all times of another one. */
  addAll(other: LatencyHistogram): void {
    if (other.#count === 0) return;
    other.#counts.forEach((count, bucket) => (this.#counts[bucket]! += count));
    this.#count += other.#count;
    if (!(other.#maxMs <= this.#maxMs)) this.#maxMs = other.#maxMs;
  }

  percentiles(): Percentiles {
    const at = (part: number) => this.#percentileMs(part);
    return {
      count: this.#count,
      p50Ms: at(0.5),
      p90Ms: at(0.9),
      p99Ms: at(0.99),
      p999Ms: at(0.999),
      maxMs: this.#maxMs,
    };
  }

  /** The end of the bucket in which the time is that at least `part` of all do not exceed (nearest rank). */
  #percentileMs(part: number): number {
    let left = Math.ceil(part * this.#count);
    if (left === 0) return Number.NaN;
    let bucket = 0;
    while ((left -= this.#counts[bucket]!) > 0) bucket++;
    return Math.min(lastOf(bucket) / STEPS_PER_MS, this.#maxMs);
  }
}

function bucketOf(steps: number): number {
  if (steps < PARTS) return steps;
  const shift = 31 - Math.clz32(steps) - PART_BITS;
  return (shift + 1) * PARTS + ((steps >>> shift) & (PARTS - 1));
}

/** The largest number of steps that is in a bucket. */
function lastOf(bucket: number): number {
  if (bucket < PARTS) return bucket;
  const shift = Math.floor(bucket / PARTS) - 1;
  return (PARTS + (bucket % PARTS) + 1) * 2 ** shift - 1;
}

type Port = NonNullable<ReturnType<UdpEngine['openUpstreamPort']>>;

/** The server that is asked, and from how many sockets. */
interface ClientPlan {
  readonly port: number;
  readonly sockets: number;
  readonly rcodes: readonly number[];
  /** An answer after this time, in ms, is late: its time is not counted. */
  readonly limitMs: number;
}

const IDS = 0x1_0000;
/** Questions in flight of all sockets, where they are many. */
const MAX_IN_FLIGHT = 1 << 20;
const MIN_IN_FLIGHT = 4_096;
const QR = 0x80;
const NOT_ASKED = Number.NaN;

/** Sockets that are connected to one server, and when each of their questions in flight was planned. */
class ClientSockets {
  readonly #server: { readonly address: string; readonly port: number };
  readonly #ports: readonly Port[];
  readonly #isRight: readonly boolean[];
  #times = new LatencyHistogram();
  readonly #limitMs: number;
  readonly #clock: Pick<LoadClock, 'nowMs'>;
  /** Of each socket this many questions can be in flight. */
  readonly #window: number;
  readonly #nextId: Uint16Array;
  /** By socket and by the last bits of the ID. */
  readonly #ids: Uint16Array;
  readonly #plannedMs: Float64Array;
  #current = -1;
  /** In time. */
  answered = 0;
  late = 0;
  wrong = 0;

  /** Throws a MeasureError where there cannot be as many sockets. */
  constructor(
    engine: Pick<UdpEngine, 'openUpstreamPort'>,
    { port, sockets, rcodes, limitMs }: ClientPlan,
    clock: Pick<LoadClock, 'nowMs'>,
  ) {
    this.#clock = clock;
    this.#server = { address: '127.0.0.1', port };
    this.#limitMs = limitMs;
    this.#isRight = Array.from({ length: RCODE_MASK + 1 }, (_, rcode) => rcodes.includes(rcode));
    const share = 2 ** Math.floor(Math.log2(MAX_IN_FLIGHT / sockets));
    this.#window = Math.max(MIN_IN_FLIGHT, Math.min(IDS, share));
    this.#nextId = new Uint16Array(sockets);
    this.#ids = new Uint16Array(sockets * this.#window);
    this.#plannedMs = new Float64Array(sockets * this.#window).fill(NOT_ASKED);
    const options = { port: 0, sourceAddress: undefined, server: this.#server, isIpv6: false };
    const ports: Port[] = [];
    for (let i = 0; i < sockets; i++) {
      const opened = engine.openUpstreamPort(options, {
        onDatagram: (bytes) => this.#receive(i, bytes),
        onUnreachable: () => undefined,
      });
      if (opened !== undefined) ports.push(opened);
    }
    this.#ports = ports;
    if (ports.length === sockets) return;
    this.close();
    throw new MeasureError(`the load has only ${ports.length} of its ${sockets} sockets`);
  }

  /** Forgets what is in flight, and counts from 0 again; the times of answers go to `times` from now on. */
  restart(times: LatencyHistogram): void {
    this.#times = times;
    this.#plannedMs.fill(NOT_ASKED);
    this.answered = 0;
    this.late = 0;
    this.wrong = 0;
  }

  /** The next questions leave from the next socket. */
  turn(): void {
    this.#current = (this.#current + 1) % this.#ports.length;
  }

  /** Sends a question under an ID of its own; `plannedMs` is when it should have left. */
  ask(query: Buffer, plannedMs: number): void {
    const socket = this.#current;
    const id = this.#nextId[socket]!++;
    const at = socket * this.#window + (id & (this.#window - 1));
    this.#ids[at] = id;
    this.#plannedMs[at] = plannedMs;
    writeUint16(query, 0, id);
    this.#ports[socket]!.send(query, this.#server);
  }

  close(): void {
    for (const port of this.#ports) port.close();
  }

  #receive(socket: number, answer: Buffer): void {
    if (answer.length < HEADER_BYTES || (answer[2]! & QR) === 0) return;
    const id = readUint16(answer, 0);
    const at = socket * this.#window + (id & (this.#window - 1));
    const plannedMs = this.#plannedMs[at]!;
    if (this.#ids[at] !== id || Number.isNaN(plannedMs)) return;
    this.#plannedMs[at] = NOT_ASKED;
    const tookMs = this.#clock.nowMs() - plannedMs;
    if (tookMs > this.#limitMs) {
      this.late++;
      return;
    }
    this.answered++;
    if (!this.#isRight[answer[3]! & RCODE_MASK]!) this.wrong++;
    this.#times.add(tookMs);
  }
}

/** Part of a load that does not wait for answers. */
interface WindowPlan {
  /** Questions a second. */
  readonly rate: number;
  readonly seconds: number;
  readonly sockets: number;
}

/** The questions of the whole load in turn, and how many of them were asked before. */
interface Questions {
  readonly queries: readonly Buffer[];
  readonly asked: number;
}

/** A lost question and a late answer count alike, so that no server looks better for giving no answer. */
const ANSWER_LIMIT_MS = 1_000;
/** What is overdue is sent for this long after the plan's end, then given up. */
const GRACE_MS = 200;
/** At most this many questions are sent before answers are received. */
const MAX_TOGETHER = 256;

/** Some time of asking at a fixed rate, and its results. */
class LoadWindow {
  readonly #engine: UdpEngine;
  readonly #clients: ClientSockets;
  readonly #plan: WindowPlan;
  readonly #questions: Questions;
  readonly #clock: LoadClock;
  readonly answers = new LatencyHistogram();
  readonly ownDelays = new LatencyHistogram();
  readonly planned: number;
  sent = 0;
  sentInTime = 0;
  answered = 0;
  wrong = 0;
  #startMs = 0;
  #due = 0;
  #onEnd: () => void = () => undefined;

  constructor(
    engine: UdpEngine,
    clients: ClientSockets,
    plan: WindowPlan,
    questions: Questions,
    clock: LoadClock,
  ) {
    this.#engine = engine;
    this.#clients = clients;
    this.#plan = plan;
    this.#questions = questions;
    this.#clock = clock;
    this.planned = Math.round(plan.rate * plan.seconds);
  }

  /** Asks all, and waits for the answers, as long as they are in time. */
  async run(): Promise<void> {
    this.#clients.restart(this.answers);
    this.#startMs = this.#clock.nowMs();
    await new Promise<void>((resolve) => {
      this.#onEnd = resolve;
      this.#step();
    });
    this.answered = this.#clients.answered;
    this.wrong = this.#clients.wrong;
  }

  readonly #step = (): void => {
    const { rate, seconds } = this.#plan;
    const passedMs = this.#clock.nowMs() - this.#startMs;
    const endMs = seconds * 1_000;
    const due = Math.min(this.planned, Math.floor((passedMs * rate) / 1_000) + 1);
    if (this.sent < due && passedMs < endMs + GRACE_MS) {
      this.#due = Math.min(due, this.sent + MAX_TOGETHER);
      this.#engine.sendTogether(this.#sendDue);
      if (passedMs <= endMs) this.sentInTime = this.sent;
    } else if (this.sent === this.planned || passedMs >= endMs + GRACE_MS) {
      const isOver = passedMs >= endMs + GRACE_MS + ANSWER_LIMIT_MS;
      const { answered, late } = this.#clients;
      if (isOver || answered + late === this.sent) {
        this.#onEnd();
        return;
      }
    }
    this.#clock.nextTurn(this.#step);
  };

  /** Those of one socket one after the other, so that they leave in one system call. */
  readonly #sendDue = (): void => {
    const { rate, sockets } = this.#plan;
    const { queries, asked } = this.#questions;
    const inRow = Math.ceil((this.#due - this.sent) / sockets);
    const nowMs = this.#clock.nowMs();
    for (let i = 0; this.sent < this.#due; i++) {
      if (i % inRow === 0) this.#clients.turn();
      const plannedMs = this.#startMs + (this.sent * 1_000) / rate;
      this.ownDelays.add(nowMs - plannedMs);
      this.#clients.ask(queries[(asked + this.sent) % queries.length]!, plannedMs);
      this.sent++;
    }
  };
}

/** A load that does not wait for answers. */
export interface OpenLoopPlan {
  /** Of 127.0.0.1. */
  readonly port: number;
  /** Questions a second. */
  readonly rate: number;
  readonly seconds: number;
  readonly sockets: number;
  /** As `encodeQuestionFile` has them; asked in turn. */
  readonly questions: Uint8Array;
  /** The rcodes that answers may have. */
  readonly rcodes: readonly number[];
  /**
   * The load is cut into windows so long, with a pause between them, and a window in which the machine kept
   * this process from its core is run again; default: one window, which counts in any case.
   */
  readonly windowSeconds?: number;
}

/** The results of such a load; windows that were run again are in none but the last. */
interface OpenLoopResult {
  readonly planned: number;
  readonly sent: number;
  /** The part of the planned questions that was sent before the plan's end, in per cent. */
  readonly sentInTimePercent: number;
  /** In time. */
  readonly answered: number;
  /** Answers with another rcode. */
  readonly wrong: number;
  /** Those with no answer within ANSWER_LIMIT_MS of when they should have left: lost, or late. */
  readonly unanswered: number;
  /** From when each question should have left to its answer; an unanswered one counts as ANSWER_LIMIT_MS. */
  readonly answers: Percentiles;
  /** How late each question left: a tail that is here, too, is one of the machine. */
  readonly ownDelays: Percentiles;
  /** Windows that were run again, of all that were run, in per cent. */
  readonly repeatedPercent: number;
}

/** The methods of a load in its own process. */
export interface OpenLoopMethods {
  run(plan: OpenLoopPlan): Promise<OpenLoopResult>;
}

/** Not longer than this may other work keep this process from its core. */
const KEPT_BACK_MS = 1;
/** At most this many windows are run for one that counts; then those count, too, that should be repeated. */
const MAX_ATTEMPTS = 3;
/** Between two windows, so that what else needs the core has it. */
const PAUSE_MS = 50;

/**
 * Asks at a rate of its own. Each question has a moment when it should leave, and its time runs from
 * there, whether it left then or was kept back: a pause of the server or of this process makes all
 * questions late that fall into it, not only one (no "coordinated omission"). It takes a whole core: a
 * timer would be late by as much as an answer takes.
 */
export class OpenLoop implements OpenLoopMethods {
  readonly #clock: LoadClock;
  readonly #engine: UdpEngine | undefined;

  /** `engine` is the best of this machine unless given. */
  constructor(clock: LoadClock = MACHINE_CLOCK, engine?: UdpEngine) {
    this.#clock = clock;
    this.#engine = engine;
  }

  async run(plan: OpenLoopPlan): Promise<OpenLoopResult> {
    const { port, sockets, rcodes, rate, seconds, windowSeconds = seconds } = plan;
    const engine = this.#engine ?? (await chooseUdpEngine('auto')).engine;
    const clients = new ClientSockets(
      engine,
      { port, sockets, rcodes, limitMs: ANSWER_LIMIT_MS },
      this.#clock,
    );
    const queries = queriesOf(plan.questions);
    const count = Math.max(1, Math.round(seconds / windowSeconds));
    const window: WindowPlan = { rate, seconds: seconds / count, sockets };
    const counted: LoadWindow[] = [];
    const repeated: LoadWindow[] = [];
    try {
      while (counted.length < count && counted.length + repeated.length < MAX_ATTEMPTS * count) {
        if (counted.length + repeated.length > 0) await this.#clock.pause(PAUSE_MS);
        const asked = counted.length * Math.round(window.rate * window.seconds);
        const load = new LoadWindow(engine, clients, window, { queries, asked }, this.#clock);
        const notRunMs = await this.#notRunMs(() => load.run());
        const isLate = notRunMs > KEPT_BACK_MS && load.ownDelays.percentiles().maxMs > KEPT_BACK_MS;
        (isLate && plan.windowSeconds !== undefined ? repeated : counted).push(load);
      }
    } finally {
      clients.close();
    }
    const run = counted.length + repeated.length;
    counted.push(...repeated.splice(0, count - counted.length));
    return resultOf(counted, (100 * repeated.length) / run);
  }

  /** How long this thread had no core, though it never slept; work for the kernel is not that. */
  async #notRunMs(work: () => Promise<void>): Promise<number> {
    const { nowMs, cpuMs } = this.#clock;
    const before = [nowMs(), cpuMs()] as const;
    await work();
    return nowMs() - before[0] - (cpuMs() - before[1]);
  }
}

function resultOf(windows: readonly LoadWindow[], repeatedPercent: number): OpenLoopResult {
  const sum = (of: (window: LoadWindow) => number) => windows.reduce((all, it) => all + of(it), 0);
  const answers = new LatencyHistogram();
  const ownDelays = new LatencyHistogram();
  for (const window of windows) {
    answers.addAll(window.answers);
    ownDelays.addAll(window.ownDelays);
  }
  const planned = sum((window) => window.planned);
  const sent = sum((window) => window.sent);
  const answered = sum((window) => window.answered);
  answers.add(ANSWER_LIMIT_MS, sent - answered);
  return {
    planned,
    sent,
    sentInTimePercent: (100 * sum((window) => window.sentInTime)) / planned,
    answered,
    wrong: sum((window) => window.wrong),
    unanswered: sent - answered,
    answers: answers.percentiles(),
    ownDelays: ownDelays.percentiles(),
    repeatedPercent,
  };
}

/** The queries of a file of `encodeQuestionFile`. */
export function queriesOf(file: Uint8Array): readonly Buffer[] {
  const reader = new FrameReader();
  reader.push(Buffer.from(file));
  const queries: Buffer[] = [];
  for (let query = reader.next(); query !== undefined; query = reader.next()) queries.push(query);
  return queries;
}
