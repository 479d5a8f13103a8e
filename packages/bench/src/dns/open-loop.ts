import { chooseUdpEngine, FrameReader, type UdpEngine } from '@kube-dns/transport';
import { ClientSockets } from './client-sockets.js';
import { LatencyHistogram, type Percentiles } from './latency-histogram.js';
import { type LoadClock, MACHINE_CLOCK } from './load-clock.js';
import { ANSWER_LIMIT_MS, LoadWindow, type WindowPlan } from './load-window.js';

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
export interface OpenLoopResult {
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

function queriesOf(file: Uint8Array): readonly Buffer[] {
  const reader = new FrameReader();
  reader.push(Buffer.from(file));
  const queries: Buffer[] = [];
  for (let query = reader.next(); query !== undefined; query = reader.next()) queries.push(query);
  return queries;
}
