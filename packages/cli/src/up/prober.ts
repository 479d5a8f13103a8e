import type { Clock } from '@kube-dns/base';
import type { ProbeSpec } from './probe-spec.js';

/** Runs the probe once: undefined on success, else the reason of the failure. */
export type ProbeRun = (signal: AbortSignal) => Promise<string | undefined>;

/** How a prober reports, and how often it probes. */
export interface ProberOptions {
  readonly clock: Clock;
  /** Called when a threshold is reached and the verdict differs from the last one. */
  readonly onVerdict: (isHealthy: boolean) => void;
  /**
   * A shorter period until the first success. For readiness only: an early failure there has no effect,
   * and a ready pod is noticed sooner.
   */
  readonly eagerPeriodMs?: number;
}

/**
 * Repeats one probe with the kubelet's thresholds. There is no verdict until the first threshold is
 * reached. Owns its timers and the probe in progress until close().
 */
export class Prober {
  readonly #spec: ProbeSpec;
  readonly #run: ProbeRun;
  readonly #options: ProberOptions;
  readonly #closing = new AbortController();
  #cancelTimer: () => void = () => undefined;
  #verdict: boolean | undefined;
  #streak = 0;
  #lastWasSuccess: boolean | undefined;
  #hasSucceeded = false;
  #lastFailure = '';

  constructor(spec: ProbeSpec, run: ProbeRun, options: ProberOptions) {
    this.#spec = spec;
    this.#run = run;
    this.#options = options;
    this.#cancelTimer = options.clock.after(spec.initialDelayMs, this.#probe);
  }

  /** The reason of the last failure; empty before the first. */
  get lastFailure(): string {
    return this.#lastFailure;
  }

  close(): void {
    this.#cancelTimer();
    this.#closing.abort(new Error('the probe was ended'));
  }

  readonly #probe = (): void => {
    void this.#probeOnce();
  };

  async #probeOnce(): Promise<void> {
    const { clock, eagerPeriodMs } = this.#options;
    const { periodMs, timeoutMs } = this.#spec;
    const startedAt = clock.now();
    const timeout = new AbortController();
    const cancelTimeout = clock.after(timeoutMs, () =>
      timeout.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
    );
    const failure = await this.#run(AbortSignal.any([timeout.signal, this.#closing.signal]));
    cancelTimeout();
    if (this.#closing.signal.aborted) return;
    this.#hasSucceeded ||= failure === undefined;
    const period = this.#hasSucceeded ? periodMs : Math.min(periodMs, eagerPeriodMs ?? periodMs);
    this.#cancelTimer = clock.after(Math.max(0, period - (clock.now() - startedAt)), this.#probe);
    this.#count(failure);
  }

  #count(failure: string | undefined): void {
    const isSuccess = failure === undefined;
    if (failure !== undefined) this.#lastFailure = failure;
    this.#streak = isSuccess === this.#lastWasSuccess ? this.#streak + 1 : 1;
    this.#lastWasSuccess = isSuccess;
    const { successThreshold, failureThreshold } = this.#spec;
    if (this.#streak < (isSuccess ? successThreshold : failureThreshold)) return;
    if (this.#verdict === isSuccess) return;
    this.#verdict = isSuccess;
    this.#options.onVerdict(isSuccess);
  }
}
