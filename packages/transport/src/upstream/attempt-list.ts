import type { SentQuery } from './upstream-socket.js';
import type { UpstreamServer } from './upstream-servers.js';

/** One server that was asked, and what came of it. */
export interface Attempt {
  /** Its place in the group. */
  readonly at: number;
  readonly server: UpstreamServer;
  readonly sent: SentQuery;
  readonly sentAtMs: number;
  hasFailed: boolean;
  /** Its last sending got no reply in time, which is counted. */
  isSilent: boolean;
}

/** Whom one question was sent to, in order; a server may be there more than once, each time from another port. */
export class AttemptList {
  readonly #attempts: Attempt[] = [];

  add(attempt: Attempt): void {
    this.#attempts.push(attempt);
  }

  /** The one that a query belongs to. */
  of(sent: SentQuery): Attempt | undefined {
    for (const attempt of this.#attempts) if (attempt.sent === sent) return attempt;
    return undefined;
  }

  /** Whether the server at a place was asked. */
  includes(at: number): boolean {
    return this.lastTo(at) !== undefined;
  }

  lastTo(at: number): Attempt | undefined {
    return this.#attempts.findLast((attempt) => attempt.at === at);
  }

  countTo(at: number): number {
    return this.#attempts.filter((attempt) => attempt.at === at).length;
  }

  /** How many servers were asked. */
  get serverCount(): number {
    return new Set(this.#attempts.map(({ at }) => at)).size;
  }

  /** Those that may still be answered. */
  open(): readonly Attempt[] {
    return this.#attempts.filter(({ hasFailed }) => !hasFailed);
  }

  get haveAllFailed(): boolean {
    return this.#attempts.every(({ hasFailed }) => hasFailed);
  }

  /** All of them count again as if they had not failed. */
  forgive(): void {
    for (const attempt of this.#attempts) attempt.hasFailed = false;
  }

  /** No reply to any of them is waited for. */
  forget(): void {
    for (const { sent } of this.#attempts) sent.socket.forget(sent);
  }
}
