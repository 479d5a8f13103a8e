import { chooseUdpEngine, FrameReader, type UdpEngine } from '@kube-dns/transport';
import { ClientSockets } from './client-sockets.js';
import { LatencyHistogram, type Percentiles } from './latency-histogram.js';

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
}

/** The results of such a load. */
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
}

/** The methods of a load in its own process. */
export interface OpenLoopMethods {
  run(plan: OpenLoopPlan): Promise<OpenLoopResult>;
}

/** A lost question and a late answer count alike, so that no server looks better for giving no answer. */
export const ANSWER_LIMIT_MS = 1_000;
/** What is overdue is sent for this long after the plan's end, then given up. */
const GRACE_MS = 200;
/** At most this many questions are sent before answers are received. */
const MAX_TOGETHER = 256;

/**
 * Asks at a rate of its own. Each question has a moment when it should leave, and its time runs from
 * there, whether it left then or was kept back: a pause of the server or of this process makes all
 * questions late that fall into it, not only one (no "coordinated omission"). It takes a whole core: a
 * timer would be late by as much as an answer takes.
 */
export class OpenLoop implements OpenLoopMethods {
  async run(plan: OpenLoopPlan): Promise<OpenLoopResult> {
    const { engine } = await chooseUdpEngine('auto');
    const load = new Load(engine, plan);
    try {
      return await load.run();
    } finally {
      load.close();
    }
  }
}

class Load {
  readonly #engine: UdpEngine;
  readonly #plan: OpenLoopPlan;
  readonly #planned: number;
  readonly #queries: readonly Buffer[];
  readonly #sockets: ClientSockets;
  readonly #answers = new LatencyHistogram();
  readonly #ownDelays = new LatencyHistogram();
  #startMs = 0;
  #sent = 0;
  #sentInTime = 0;
  #due = 0;
  #onEnd: () => void = () => undefined;

  constructor(engine: UdpEngine, plan: OpenLoopPlan) {
    const { port, sockets, questions, rate, seconds, rcodes } = plan;
    this.#engine = engine;
    this.#plan = plan;
    this.#planned = Math.round(rate * seconds);
    this.#queries = queriesOf(questions);
    this.#sockets = new ClientSockets(
      engine,
      { port, sockets, rcodes, limitMs: ANSWER_LIMIT_MS },
      this.#answers,
    );
  }

  async run(): Promise<OpenLoopResult> {
    this.#startMs = performance.now();
    await new Promise<void>((resolve) => {
      this.#onEnd = resolve;
      this.#step();
    });
    const { answered, wrong } = this.#sockets;
    const unanswered = this.#sent - answered;
    this.#answers.add(ANSWER_LIMIT_MS, unanswered);
    return {
      planned: this.#planned,
      sent: this.#sent,
      sentInTimePercent: (100 * this.#sentInTime) / this.#planned,
      answered,
      wrong,
      unanswered,
      answers: this.#answers.percentiles(),
      ownDelays: this.#ownDelays.percentiles(),
    };
  }

  close(): void {
    this.#sockets.close();
  }

  readonly #step = (): void => {
    const { rate, seconds } = this.#plan;
    const passedMs = performance.now() - this.#startMs;
    const endMs = seconds * 1_000;
    const due = Math.min(this.#planned, Math.floor((passedMs * rate) / 1_000) + 1);
    if (this.#sent < due && passedMs < endMs + GRACE_MS) {
      this.#due = Math.min(due, this.#sent + MAX_TOGETHER);
      this.#engine.sendTogether(this.#sendDue);
      if (passedMs <= endMs) this.#sentInTime = this.#sent;
    } else if (this.#sent === this.#planned || passedMs >= endMs + GRACE_MS) {
      const isOver = passedMs >= endMs + GRACE_MS + ANSWER_LIMIT_MS;
      const { answered, late } = this.#sockets;
      if (isOver || answered + late === this.#sent) {
        this.#onEnd();
        return;
      }
    }
    setImmediate(this.#step);
  };

  /** Those of one socket one after the other, so that they leave in one system call. */
  readonly #sendDue = (): void => {
    const { rate, sockets } = this.#plan;
    const inRow = Math.ceil((this.#due - this.#sent) / sockets);
    const nowMs = performance.now();
    for (let i = 0; this.#sent < this.#due; i++) {
      if (i % inRow === 0) this.#sockets.turn();
      const plannedMs = this.#startMs + (this.#sent * 1_000) / rate;
      this.#ownDelays.add(nowMs - plannedMs);
      this.#sockets.ask(this.#queries[this.#sent % this.#queries.length]!, plannedMs);
      this.#sent++;
    }
  };
}

function queriesOf(file: Uint8Array): readonly Buffer[] {
  const reader = new FrameReader();
  reader.push(Buffer.from(file));
  const queries: Buffer[] = [];
  for (let query = reader.next(); query !== undefined; query = reader.next()) queries.push(query);
  return queries;
}
