import type { ServerGroup, StaleAnswer, StaleReason } from '@kube-dns/transport';
import type { AnswerCounters } from './answer-counters.js';

/** After a question was asked in vain, its expired answer is given at once for so long (RFC 8767 section 5). */
const RECHECK_MS = 30_000;

export interface StaleAnswersOptions {
  readonly counters: AnswerCounters;
  /** The forwarder's clock, in milliseconds. */
  readonly now: () => number;
  /** Called with each expired answer that is given. */
  readonly onGiven?: ((message: Uint8Array) => void) | undefined;
}

/** Decides when clients get expired answers (`--stale`), and counts them. */
export class StaleAnswers {
  readonly #options: StaleAnswersOptions;

  constructor(options: StaleAnswersOptions) {
    this.#options = options;
  }

  /**
   * Whether a question is not asked now: it was, in vain, less than 30 s ago. When no server replied to anything then,
   * only until one does, which is found out.
   */
  isHeld(triedAtMs: number, group: ServerGroup | undefined): boolean {
    if (group === undefined) return true;
    if (triedAtMs === 0) return false;
    const nowMs = this.#options.now();
    const sinceMs = Math.abs(triedAtMs);
    if (nowMs - sinceMs >= RECHECK_MS) return false;
    if (triedAtMs > 0) return true;
    if (group.repliedAtMs > sinceMs) return false;
    group.look(nowMs);
    return true;
  }

  /** An expired answer for a client that asks a server. */
  offer(message: Uint8Array): StaleAnswer {
    return new OfferedAnswer(message.slice(), this);
  }

  /** A client gets an expired answer. */
  note(message: Uint8Array, reason: StaleReason): void {
    const { counters, onGiven } = this.#options;
    counters.staleAnswers++;
    counters.staleReasons[reason]++;
    onGiven?.(message);
  }
}

class OfferedAnswer implements StaleAnswer {
  readonly message: Uint8Array;
  readonly #answers: StaleAnswers;

  constructor(message: Uint8Array, answers: StaleAnswers) {
    this.message = message;
    this.#answers = answers;
  }

  onGiven(reason: StaleReason): void {
    this.#answers.note(this.message, reason);
  }
}
