import type { Log } from '@kube-dns/daemon';

/** One watched resource. */
export interface Followed {
  readonly resource: string;
  readonly objects: number;
  /** Milliseconds since the last contact with the server; 0 while a watch is open. */
  readonly noContactMs: number;
}

export interface ContactLogOptions {
  readonly log: Log;
  readonly followed: readonly Followed[];
  /** The resources whose first list is pending. */
  readonly pending: () => readonly string[];
}

const INTERVAL_MS = 5_000;
/** Replacing a server takes some seconds, which is not worth a line. */
const FIRST_MS = 30_000;
const LONGEST_MS = 3_600_000;

/**
 * Logs what a long start waits for, and how old the data is while the server is away: after 30 s, then at
 * doubled intervals up to an hour, and when it is back.
 */
export class ContactLog {
  readonly #options: ContactLogOptions;
  /** For resources without contact: after how many ms the next line is due, and the longest time so far. */
  readonly #nextMs = new Map<Followed, number>();
  readonly #longestMs = new Map<Followed, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: ContactLogOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.report(), INTERVAL_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Logs what is due; runs every five seconds. */
  report(): void {
    const { log, followed, pending } = this.#options;
    const waiting = pending();
    if (waiting.length > 0) {
      const names = waiting.map((name) => {
        const objects = followed.find(({ resource }) => resource === name)?.objects ?? 0;
        return objects > 0 ? `${name} (${objects} so far)` : name;
      });
      log.info(`waiting for ${names.join(', ')}`);
    }
    for (const one of followed) this.#checkContact(one, waiting.includes(one.resource));
  }

  #checkContact(one: Followed, isWaiting: boolean): void {
    const { log } = this.#options;
    const { resource, noContactMs } = one;
    if (noContactMs < FIRST_MS) {
      const longestMs = this.#longestMs.get(one);
      if (longestMs === undefined) return;
      this.#longestMs.delete(one);
      this.#nextMs.delete(one);
      log.info(`${resource}: the API server is back after ${seconds(longestMs)} s`);
      return;
    }
    this.#longestMs.set(one, noContactMs);
    const nextMs = this.#nextMs.get(one) ?? FIRST_MS;
    if (noContactMs < nextMs) return;
    this.#nextMs.set(one, noContactMs + Math.min(noContactMs, LONGEST_MS));
    const since = `${resource}: no contact with the API server for ${seconds(noContactMs)} s`;
    log.warn(isWaiting ? since : `${since}; serving the last known records`);
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1_000);
}
