import { errorText } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';
import type { DecodedMessage } from '@kube-dns/wire';

import type { Pacing } from '../pacing.js';
import { GrowingTotal } from './growing-total.js';
import { parseStatistic, STATISTICS, type Statistic } from './statistic.js';
import {
  parseSubscriptions,
  type SubscriptionCounts,
  SUBSCRIPTIONS_NAME,
} from './subscription-counts.js';

/** A dnsmasq that does not know its subscriptions is asked for them again after this time. */
const UNKNOWN_PAUSE_MS = 60_000;

export interface StatisticsPollOptions {
  readonly intervalMs: number;
  readonly ask: (name: string, signal: AbortSignal) => Promise<DecodedMessage>;
  readonly pacing: Pacing;
  readonly log: Log;
}

/**
 * Asks dnsmasq for its statistics, first immediately and then with a pause between two polls. When any
 * query of a poll fails, the whole poll is dropped.
 */
export class StatisticsPoll {
  readonly #options: StatisticsPollOptions;
  readonly #closing = new AbortController();
  readonly #totals = {
    hits: new GrowingTotal(),
    misses: new GrowingTotal(),
    evictions: new GrowingTotal(),
    insertions: new GrowingTotal(),
  };
  #cacheSize = 0;
  #subscriptions: SubscriptionCounts | undefined;
  /** When they may be asked for again, on the clock of the pacing. */
  #subscriptionsDueMs = -Infinity;
  #errors = 0;
  #lastError = '';
  /** When a poll last succeeded, on the clock of the pacing. */
  #succeededAtMs: number | null = null;

  constructor(options: StatisticsPollOptions) {
    this.#options = options;
  }

  /** The total since this process started; the cache size is the current one. */
  value(statistic: Statistic): number {
    return statistic === 'cachesize' ? this.#cacheSize : this.#totals[statistic].total;
  }

  /** As of the last poll; undefined when that failed, or the dnsmasq does not know them. */
  get subscriptions(): SubscriptionCounts | undefined {
    return this.#subscriptions;
  }

  /** How many polls failed. */
  get errors(): number {
    return this.#errors;
  }

  /** Why the last poll failed; empty when it did not. */
  get lastError(): string {
    return this.#lastError;
  }

  /** Whether the last poll succeeded. */
  get isUp(): boolean {
    return this.#succeededAtMs !== null && this.#lastError === '';
  }

  /** Milliseconds since a poll last succeeded; null before the first. */
  ageMs(): number | null {
    return this.#succeededAtMs === null ? null : this.#options.pacing.now() - this.#succeededAtMs;
  }

  start(): void {
    void this.#run().catch((error: unknown) => {
      if (this.#closing.signal.aborted) return;
      // Cannot happen as long as #poll catches.
      this.#options.log.error(`dnsmasq statistics: stopped: ${errorText(error)}`);
    });
  }

  /** Ends the loop and the query in flight; may be called twice. */
  close(): void {
    this.#closing.abort();
  }

  async #run(): Promise<void> {
    const { pacing, intervalMs } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#poll(signal);
      await this.#askSubscriptions(signal);
      await pacing.pause(intervalMs, signal);
    }
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { ask, log } = this.#options;
    const readings = new Map<Statistic, number>();
    try {
      for (const statistic of STATISTICS) {
        const reply = await ask(`${statistic}.bind.`, signal);
        readings.set(statistic, parseStatistic(statistic, reply));
      }
    } catch (error) {
      if (!signal.aborted) this.#countFailure(errorText(error));
      return;
    }
    if (this.#lastError !== '') log.info('dnsmasq statistics: ok again');
    this.#lastError = '';
    this.#succeededAtMs = this.#options.pacing.now();
    for (const [statistic, value] of readings) {
      if (statistic === 'cachesize') this.#cacheSize = Math.max(value, 0);
      else this.#totals[statistic].read(value);
    }
  }

  /** Whatever goes wrong here is no failure of the poll: the dnsmasq may be another one than ours. */
  async #askSubscriptions(signal: AbortSignal): Promise<void> {
    const { ask, pacing } = this.#options;
    if (!this.isUp) this.#subscriptions = undefined;
    if (!this.isUp || signal.aborted || pacing.now() < this.#subscriptionsDueMs) return;
    const reply = await ask(SUBSCRIPTIONS_NAME, signal).catch(() => undefined);
    this.#subscriptions = reply && parseSubscriptions(reply);
    if (this.#subscriptions === undefined)
      this.#subscriptionsDueMs = pacing.now() + UNKNOWN_PAUSE_MS;
  }

  /** A server that is down fails with the same reason at every poll; that is logged once. */
  #countFailure(error: string): void {
    const { log } = this.#options;
    this.#errors++;
    if (error === this.#lastError) log.verbose(3, `dnsmasq statistics: still failing: ${error}`);
    else log.warn(`dnsmasq statistics: failing: ${error}`);
    this.#lastError = error;
  }
}
