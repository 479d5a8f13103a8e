import type { Clock } from '@kube-dns/base';

/** A clock that only advance() moves. */
export class ManualClock implements Clock {
  #now = 0;
  #timers: { readonly at: number; readonly action: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(delayMs: number, action: () => void): () => void {
    const timer = { at: this.#now + delayMs, action };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  }

  /** Moves the time on and fires due timers in order; 0 fires those due now. */
  advance(byMs: number): void {
    const target = this.#now + byMs;
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= target);
      const next = due.sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = Math.max(this.#now, next.at);
      next.action();
    }
    this.#now = target;
  }
}
