import type { Verb } from './switches.js';

/** Counts the requests of clients by verb and resource, when they arrive. */
export class RequestLog {
  readonly #counts = new Map<string, number>();
  #lastUserAgent: string | undefined;

  /** The `User-Agent` of the last request for a resource. */
  get lastUserAgent(): string | undefined {
    return this.#lastUserAgent;
  }

  record(verb: Verb, resource: string, userAgent: string | undefined): void {
    const key = `${verb} ${resource}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.#lastUserAgent = userAgent;
  }

  /** Number of requests with this verb for a resource. */
  count(verb: Verb, resource: string): number {
    return this.#counts.get(`${verb} ${resource}`) ?? 0;
  }

  /** Every count, by verb and resource such as `list services`. */
  toJSON(): object {
    return { counts: Object.fromEntries(this.#counts), lastUserAgent: this.#lastUserAgent ?? null };
  }
}
