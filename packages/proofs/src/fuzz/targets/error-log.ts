import type { Log } from '@kube-dns/daemon';

/** What a listener's failure begins with in the log: the answerer has thrown. */
const FAILURE = 'answering: ';

/** A log that only checks for failures. */
export class ErrorLog implements Log {
  #failure: string | undefined;

  info(): void {
    // Made, and thrown away.
  }

  warn(): void {
    // The same.
  }

  error(message: string): void {
    if (message.startsWith(FAILURE)) this.#failure ??= message;
  }

  verbose(): void {
    // The same.
  }

  isEnabled(): boolean {
    return true;
  }

  /** Throws the failure that was logged since the last call, if there was one. */
  check(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw new Error(failure);
  }
}
