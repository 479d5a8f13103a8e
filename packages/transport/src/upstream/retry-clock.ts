import type { RetryPlan } from './retry-plan.js';
import type { ServerGroup } from './server-group.js';

/** When a question is retransmitted next. */
export class RetryClock {
  dueAtMs = Number.POSITIVE_INFINITY;
  /** Retransmissions since it was started last, and how often it was started. */
  retries = 0;
  starts = 0;
  #group!: ServerGroup;
  readonly #plan: RetryPlan;
  #startedAtMs = 0;

  constructor(plan: RetryPlan) {
    this.#plan = plan;
  }

  /** For a question to these servers: it is not sent again before it is started, which may be much later. */
  begin(group: ServerGroup): void {
    this.#group = group;
    this.starts = 0;
    this.dueAtMs = Number.POSITIVE_INFINITY;
  }

  /** The question is sent for the first time, or anew. */
  start(nowMs: number): void {
    this.#startedAtMs = nowMs;
    this.retries = 0;
    this.starts++;
    this.pause(nowMs);
  }

  /** The question was sent: now comes a pause. */
  pause(nowMs: number): void {
    const ageMs = nowMs - this.#startedAtMs;
    this.dueAtMs = nowMs + this.#group.pauseMs(this.#plan, this.retries, ageMs);
  }
}
