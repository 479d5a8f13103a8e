import { errorText } from '@kube-dns/base';
import { BucketHistogram, type Log } from '@kube-dns/daemon';
import type { DecodedMessage } from '@kube-dns/wire';

import { QueryError } from '../errors.js';
import type { Pacing } from '../pacing.js';
import type { Health } from './health.js';
import type { ProbeSpec } from './probe-spec.js';

export interface ProbeOptions {
  readonly spec: ProbeSpec;
  readonly ask: (signal: AbortSignal) => Promise<DecodedMessage>;
  readonly pacing: Pacing;
  readonly log: Log;
}

/** 0.25 ms, doubled fifteen times: contract of `…_latency_ms`. */
const LATENCY_BOUNDS_MS = Array.from({ length: 16 }, (_, power) => 0.25 * 2 ** power);
/** A result older than this many intervals is stale: it does not show the current health. */
const STALE_INTERVALS = 3;
const NANOSECONDS_PER_MS = 1e6;

/** The result of one query; `error` is empty when it succeeded. */
interface Result {
  readonly at: number;
  readonly latencyMs: number;
  readonly error: string;
}

/**
 * Asks one question at each interval and stores the last result: any reply with at least one answer
 * record is a success, whatever its rcode. After kubernetes/dns pkg/sidecar/dnsprobe.go.
 */
export class Probe {
  readonly spec: ProbeSpec;
  /** Latencies of the successful probes, in milliseconds. */
  readonly latencyMs = new BucketHistogram(LATENCY_BOUNDS_MS);
  readonly #options: ProbeOptions;
  readonly #closing = new AbortController();
  #last: Result | null = null;
  #errors = 0;

  constructor(options: ProbeOptions) {
    this.spec = options.spec;
    this.#options = options;
  }

  /** How many probes failed. */
  get errors(): number {
    return this.#errors;
  }

  /** Starts after a random part of the interval, so that several probes do not ask at the same time. */
  start(): void {
    void this.#run().catch((error: unknown) => {
      if (this.#closing.signal.aborted) return;
      // Cannot happen as long as #probeOnce catches; the health check would fail as stale.
      this.#options.log.error(`probe ${this.spec.label}: stopped: ${errorText(error)}`);
    });
  }

  /** Ends the loop and the query in flight; may be called twice. */
  close(): void {
    this.#closing.abort();
  }

  /** Milliseconds since the last result; null before the first. */
  ageMs(): number | null {
    return this.#last === null ? null : this.#options.pacing.now() - this.#last.at;
  }

  /** The last result, or why there is none or only a stale one. */
  health(): Health {
    const last = this.#last;
    if (last === null) return unhealthy('waiting for first probe');
    const ageMs = this.ageMs() ?? 0;
    if (ageMs > STALE_INTERVALS * this.spec.intervalMs) {
      return unhealthy(`last probe was ${Math.floor(ageMs / 1_000)} s ago`);
    }
    if (last.error !== '') return unhealthy(last.error);
    const nanoseconds = Math.round(last.latencyMs * NANOSECONDS_PER_MS);
    return { isOk: true, latencySeconds: nanoseconds / 1e9, error: '' };
  }

  async #run(): Promise<void> {
    const { pacing } = this.#options;
    const { intervalMs } = this.spec;
    const { signal } = this.#closing;
    await pacing.pause(pacing.random() * intervalMs, signal);
    while (!signal.aborted) {
      const before = pacing.now();
      await this.#probeOnce(before);
      await pacing.pause(Math.max(0, intervalMs - (pacing.now() - before)), signal);
    }
  }

  async #probeOnce(before: number): Promise<void> {
    const { pacing, ask } = this.#options;
    const { signal } = this.#closing;
    let error = '';
    try {
      const reply = await ask(signal);
      if (reply.answers.length === 0) {
        throw new QueryError(`no RRs for domain ${JSON.stringify(this.spec.name)}`);
      }
    } catch (cause) {
      error = errorText(cause);
    }
    if (signal.aborted) return;
    const at = pacing.now();
    const latencyMs = at - before;
    if (error === '') this.latencyMs.observe(latencyMs);
    else this.#errors++;
    this.#logResult(error);
    this.#last = { at, latencyMs, error };
  }

  /** Logs once that a probe begins to fail or to succeed; further failures only with `-v=3`. */
  #logResult(error: string): void {
    const { log, spec } = this.#options;
    const wasOk = this.#last === null ? null : this.#last.error === '';
    if (error === '') {
      if (wasOk !== true) log.info(`probe ${spec.label}: ok`);
    } else if (wasOk !== false) {
      log.warn(`probe ${spec.label}: failing: ${error}`);
    } else if (log.isEnabled(3)) {
      log.verbose(3, `probe ${spec.label}: still failing: ${error}`);
    }
  }
}

function unhealthy(error: string): Health {
  return { isOk: false, latencySeconds: 0, error };
}
