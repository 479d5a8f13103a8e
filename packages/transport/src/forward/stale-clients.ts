import type { StaleRules } from './contract.js';
import { isUsable } from './failure.js';
import type { UpstreamQuery } from './query.js';

/** A question with clients that have expired answers. */
interface Watched {
  readonly query: UpstreamQuery;
  dueAtMs: number;
  /** These clients do not wait any more. */
  isLate: boolean;
  /** It was sent once more after its servers had replied to others. */
  isRepeated: boolean;
}

/** The questions whose clients have expired answers. All wait equally long, so one timer is enough. */
export class StaleClients {
  readonly #rules: StaleRules;
  readonly #now: () => number;
  readonly #onDue: (query: UpstreamQuery) => void;
  /** In order of time; some may have ended. */
  readonly #due: Watched[] = [];
  readonly #byQuery = new WeakMap<UpstreamQuery, Watched>();
  #timer: NodeJS.Timeout | undefined;

  /** `onDue` is called when the clients of a question that have an expired answer are to get it. */
  constructor(rules: StaleRules, now: () => number, onDue: (query: UpstreamQuery) => void) {
    this.#rules = rules;
    this.#now = now;
    this.#onDue = onDue;
  }

  /** A client of a question has an expired answer. */
  watch(query: UpstreamQuery): void {
    const existing = this.#byQuery.get(query);
    if (existing?.isLate === false) return;
    const watched = existing ?? { query, dueAtMs: 0, isLate: false, isRepeated: false };
    watched.isLate = false;
    watched.dueAtMs = this.#now() + this.#rules.timeoutMs;
    query.isPinned = true;
    this.#byQuery.set(query, watched);
    this.#due.push(watched);
    this.#timer ??= this.#startTimer(this.#rules.timeoutMs);
  }

  /**
   * Whether a client with an expired answer need not wait for a question in flight: others waited long enough. It is
   * sent once more, and waited for again, for the first client after its servers had replied to others.
   */
  isLate(query: UpstreamQuery | undefined): boolean {
    const watched = query?.isInFlight === true ? this.#byQuery.get(query) : undefined;
    if (watched?.isLate !== true) return false;
    const { group, startedAtMs } = watched.query;
    if (watched.isRepeated || group.repliedAtMs <= startedAtMs) return true;
    watched.isRepeated = watched.query.sendAgain(this.#now());
    return !watched.isRepeated;
  }

  /** Does what is due. */
  tick(): void {
    const nowMs = this.#now();
    while (this.#due.length > 0 && this.#due[0]!.dueAtMs <= nowMs) {
      const watched = this.#due.shift()!;
      const { query } = watched;
      if (!query.isInFlight || this.#byQuery.get(query) !== watched) continue;
      this.#give(watched, null);
      this.#onDue(query);
    }
    this.close();
    const [first] = this.#due;
    if (first !== undefined) this.#timer = this.#startTimer(first.dueAtMs - nowMs);
  }

  /** A question has ended, with a reply or without. */
  noteEnd(query: UpstreamQuery, reply: Uint8Array | null): void {
    const watched = this.#byQuery.get(query);
    if (watched === undefined) return;
    if (!isUsable(reply)) this.#give(watched, reply);
    this.#byQuery.delete(query);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #give(watched: Watched, reply: Uint8Array | null): void {
    watched.isLate = true;
    const { query, isRepeated } = watched;
    const isSilent = reply === null && !isRepeated;
    const atMs = isSilent ? query.startedAtMs : this.#now();
    this.#rules.onTried(query.question.copy(), atMs, isSilent);
  }

  #startTimer(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.tick(), Math.max(1, Math.ceil(ms))).unref();
  }
}
