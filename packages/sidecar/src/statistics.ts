import { errorText } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';
import type { DecodedMessage } from '@kube-dns/wire';
import { QueryError } from './ask.js';
import { type Pacing, startLoop } from './pacing.js';

/** A dnsmasq that does not know its subscriptions is asked for them again after this time. */
const UNKNOWN_PAUSE_MS = 60_000;

interface StatisticsPollOptions {
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
  /** As of the last poll; undefined when that failed, or the dnsmasq does not know them. */
  subscriptions: SubscriptionCounts | undefined;
  /** How many polls failed. */
  errors = 0;
  /** Why the last poll failed; empty when it did not. */
  lastError = '';
  readonly #options: StatisticsPollOptions;
  readonly #closing = new AbortController();
  readonly #totals = {
    hits: new GrowingTotal(),
    misses: new GrowingTotal(),
    evictions: new GrowingTotal(),
    insertions: new GrowingTotal(),
  };
  #cacheSize = 0;
  /** When they may be asked for again, on the clock of the pacing. */
  #subscriptionsDueMs = -Infinity;
  /** When a poll last succeeded, on the clock of the pacing. */
  #succeededAtMs: number | null = null;

  constructor(options: StatisticsPollOptions) {
    this.#options = options;
  }

  /** The total since this process started; the cache size is the current one. */
  value(statistic: Statistic): number {
    return statistic === 'cachesize' ? this.#cacheSize : this.#totals[statistic].total;
  }

  /** Whether the last poll succeeded. */
  get isUp(): boolean {
    return this.#succeededAtMs !== null && this.lastError === '';
  }

  /** Milliseconds since a poll last succeeded; null before the first. */
  ageMs(): number | null {
    return this.#succeededAtMs === null ? null : this.#options.pacing.now() - this.#succeededAtMs;
  }

  start(): void {
    startLoop('dnsmasq statistics', () => this.#run(), this.#closing.signal, this.#options.log);
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
    if (this.lastError !== '') log.info('dnsmasq statistics: ok again');
    this.lastError = '';
    this.#succeededAtMs = this.#options.pacing.now();
    for (const [statistic, value] of readings) {
      if (statistic === 'cachesize') this.#cacheSize = Math.max(value, 0);
      else this.#totals[statistic].read(value);
    }
  }

  /** Whatever goes wrong here is no failure of the poll: the dnsmasq may be another one than ours. */
  async #askSubscriptions(signal: AbortSignal): Promise<void> {
    const { ask, pacing } = this.#options;
    if (!this.isUp) this.subscriptions = undefined;
    if (!this.isUp || signal.aborted || pacing.now() < this.#subscriptionsDueMs) return;
    const reply = await ask(SUBSCRIPTIONS_NAME, signal).catch(() => undefined);
    this.subscriptions = reply && parseSubscriptions(reply);
    if (this.subscriptions === undefined)
      this.#subscriptionsDueMs = pacing.now() + UNKNOWN_PAUSE_MS;
  }

  /** A server that is down fails with the same reason at every poll; that is logged once. */
  #countFailure(error: string): void {
    const { log } = this.#options;
    this.errors++;
    if (error === this.lastError) log.verbose(3, `dnsmasq statistics: still failing: ${error}`);
    else log.warn(`dnsmasq statistics: failing: ${error}`);
    this.lastError = error;
  }
}

/** The numbers that dnsmasq has as `<name>.bind` in class CHAOS, in the order of the queries. */
export const STATISTICS = ['hits', 'misses', 'evictions', 'insertions', 'cachesize'] as const;
export type Statistic = (typeof STATISTICS)[number];

/**
 * The number in the reply of dnsmasq: one TXT record of one string in decimal. Otherwise throws with the
 * words of the original (kubernetes/dns pkg/dnsmasq/metrics.go).
 */
export function parseStatistic(statistic: Statistic, reply: DecodedMessage): number {
  const [answer, ...others] = reply.answers;
  if (answer === undefined || others.length > 0) {
    const count = reply.answers.length;
    throw new QueryError(`invalid number of Answer records for ${statistic}: ${count}`);
  }
  if (answer.type !== 'TXT') throw new QueryError(`missing TXT record for ${statistic}`);
  const strings = Array.isArray(answer.data) ? answer.data : [answer.data];
  const [string, ...otherStrings] = strings;
  if (string === undefined || otherStrings.length > 0) {
    throw new QueryError(`invalid number of TXT records for ${statistic}: ${strings.length}`);
  }
  const text = String(string);
  if (!/^[+-]?\d+$/.test(text)) {
    throw new QueryError(
      `strconv.ParseInt: parsing ${JSON.stringify(text)} for ${statistic}: invalid syntax`,
    );
  }
  return Number(text);
}

/** Zones whose servers tell dnsmasq what changes, and zones whose servers should and do not. */
interface SubscriptionCounts {
  readonly live: number;
  readonly down: number;
}

/** A name of ours: the dnsmasq of the original does not have it. */
const SUBSCRIPTIONS_NAME = 'subscriptions.bind.';

/** The counts in a reply, one TXT record of `live N` and `down N`; undefined when it has none. */
export function parseSubscriptions(reply: DecodedMessage): SubscriptionCounts | undefined {
  const [answer] = reply.answers;
  if (reply.rcode !== 'NOERROR' || answer?.type !== 'TXT') return undefined;
  const text = [answer.data].flat().map(String).join(' ');
  const [, live, down] = /^live (\d{1,9}) down (\d{1,9})$/.exec(text) ?? [];
  if (live === undefined || down === undefined) return undefined;
  return { live: Number(live), down: Number(down) };
}

/**
 * A total that never falls, from readings of a counter that starts again at 0 when its process
 * restarts. A reading below the one before it is only the new starting point.
 * After kubernetes/dns pkg/sidecar/metrics.go, dnsmasq's counters.
 */
export class GrowingTotal {
  #previous = 0;
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** Adds one reading. */
  read(value: number): void {
    if (value > this.#previous) this.#total += value - this.#previous;
    this.#previous = Math.max(value, 0);
  }
}
