import type { UdpEngine } from '@kube-dns/transport';
import type { ClientSockets } from './client-sockets.js';
import { LatencyHistogram } from './latency-histogram.js';
import type { LoadClock } from './load-clock.js';

/** Part of a load that does not wait for answers. */
export interface WindowPlan {
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
export const ANSWER_LIMIT_MS = 1_000;
/** What is overdue is sent for this long after the plan's end, then given up. */
const GRACE_MS = 200;
/** At most this many questions are sent before answers are received. */
const MAX_TOGETHER = 256;

/** Some time of asking at a fixed rate, and its results. */
export class LoadWindow {
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
