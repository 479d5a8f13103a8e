import type { RetryPlan } from './retry-plan.js';
import type { ServerGroup } from './server-group.js';

/** It does not come. */
export const NEVER = Number.POSITIVE_INFINITY;

/** When something is due for a question. */
export class RetryClock {
  /** It is retransmitted. */
  dueAtMs = NEVER;
  /** It has waited for a server long enough, or for a better reply than the one that it has. */
  heldUntilMs = NEVER;
  relayAtMs = NEVER;
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
    this.dueAtMs = this.heldUntilMs = this.relayAtMs = NEVER;
  }

  /** The question is sent for the first time, or anew. */
  start(nowMs: number): void {
    this.#startedAtMs = nowMs;
    this.retries = 0;
    this.starts++;
    this.relayAtMs = NEVER;
    this.pause(nowMs);
  }

  /** A better reply is waited for until then at the latest. */
  relayBy(atMs: number): void {
    this.relayAtMs = Math.min(this.relayAtMs, atMs);
  }

  /** The question was sent: now comes a pause. */
  pause(nowMs: number): void {
    const ageMs = nowMs - this.#startedAtMs;
    this.dueAtMs = nowMs + this.#group.pauseMs(this.#plan, this.retries, ageMs);
  }
}
