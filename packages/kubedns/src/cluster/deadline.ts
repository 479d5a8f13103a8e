import { StreamError } from '../errors.js';

/**
 * The end of a request: that of another signal, or a StreamError (`idle`) after a time limit. Close it once
 * the request is over.
 */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;

  /** `problem` is the error's text, as `no answer`; the time limit is added. */
  constructor(outer: AbortSignal, limitMs: number, problem: string) {
    this.signal = AbortSignal.any([outer, this.#abort.signal]);
    this.#timer = setTimeout(() => {
      this.giveUp(new StreamError('idle', `${problem} within ${limitMs} ms`));
    }, limitMs);
  }

  /** Ends the request now. */
  giveUp(error: StreamError): void {
    this.#abort.abort(error);
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
