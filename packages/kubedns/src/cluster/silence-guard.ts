import { errorText } from '@kube-dns/base';
import { ApiError, StreamError } from '../errors.js';
import { Deadline } from './deadline.js';
import type { WatchPace } from './watch-pace.js';

export interface SilenceGuardOptions {
  readonly pace: Pick<WatchPace, 'silentMs' | 'probeLimitMs'>;
  /** When the last byte of the watch arrived, by `performance.now()`. */
  readonly lastByteMs: () => number;
  /** Sends a small request to the server; rejects when there is no answer, or when it shows that the watch is dead. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
  /** The watch is dead and must be closed. Called at most once. */
  readonly onDead: (error: StreamError) => void;
}

/**
 * Detects a dead watch among silent ones. After each `silentMs` without a byte the server is probed; without
 * an answer the watch is dead. When only this connection is dead (after a load balancer, for example), the
 * server still answers; then the probe compares versions. The kernel detects lost peers.
 */
export class SilenceGuard {
  readonly #options: SilenceGuardOptions;
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SilenceGuardOptions) {
    this.#options = options;
    this.#wait(options.pace.silentMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => void this.#check(), Math.max(ms, 1));
  }

  async #check(): Promise<void> {
    const { pace, lastByteMs, onDead } = this.#options;
    const silentForMs = performance.now() - lastByteMs();
    if (silentForMs < pace.silentMs) {
      this.#wait(pace.silentMs - silentForMs);
      return;
    }
    const silence = `silent for ${Math.round(silentForMs / 1_000)} s`;
    const failure = await this.#probe();
    if (this.#abort.signal.aborted) return;
    if (failure === undefined) this.#wait(pace.silentMs);
    else onDead(new StreamError('idle', `${silence}, and the probe failed: ${failure}`));
  }

  /** Resolves to the failure; undefined when the server answers, even with a refusal. */
  async #probe(): Promise<string | undefined> {
    const { pace, probe } = this.#options;
    const deadline = new Deadline(this.#abort.signal, pace.probeLimitMs, 'no answer');
    try {
      await probe(deadline.signal);
      return undefined;
    } catch (error) {
      // A refusal proves that the server is alive; a new watch would only add load.
      if (error instanceof ApiError && error.status > 0) return undefined;
      return errorText(error);
    } finally {
      deadline.close();
    }
  }
}
