import type { SentQuery } from './upstream-socket.js';
import type { UpstreamServer } from './upstream-servers.js';

/** One sending of a question to one server, and its outcome. */
export interface Attempt {
  /** The server's index in the group. */
  readonly at: number;
  readonly server: UpstreamServer;
  readonly sent: SentQuery;
  readonly sentAtMs: number;
  hasFailed: boolean;
  /** It had no reply in time, which is counted. */
  isSilent: boolean;
}

/** The attempts of one question, in order; a server may occur more than once, each time with another port. */
export class AttemptList {
  readonly #attempts: Attempt[] = [];

  add(attempt: Attempt): void {
    this.#attempts.push(attempt);
  }

  /** The attempt that a sent query belongs to. */
  of(sent: SentQuery): Attempt | undefined {
    for (const attempt of this.#attempts) if (attempt.sent === sent) return attempt;
    return undefined;
  }

  /** Whether the server at an index was asked. */
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

  /** The attempts that may still get a reply. */
  open(): readonly Attempt[] {
    return this.#attempts.filter(({ hasFailed }) => !hasFailed);
  }

  get haveAllFailed(): boolean {
    return this.#attempts.every(({ hasFailed }) => hasFailed);
  }

  /** Clears the failures of all attempts. */
  forgive(): void {
    for (const attempt of this.#attempts) attempt.hasFailed = false;
  }

  /** Waits for no reply to any of them. */
  forget(): void {
    for (const { sent } of this.#attempts) sent.socket.forget(sent);
  }
}
