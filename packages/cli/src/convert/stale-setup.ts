import { parseGoDuration } from '@kube-dns/base';

/** How old answers are served while the servers are away. */
export interface StaleSetup {
  /** For how many seconds; 0 for not at all. */
  readonly seconds: number;
  /** How long a client waits for a new one first, in milliseconds; undefined for not at all. */
  readonly waitMs: number | undefined;
  /** The TTL that clients get, in seconds, when they wait; 0 else. */
  readonly ttl: number;
}

/** What is asked for again before it expires: what was asked for so often, when this share of its TTL is left. */
export interface PrefetchSetup {
  readonly hits: number;
  readonly percent: number;
}

export const NO_STALE: StaleSetup = { seconds: 0, waitMs: undefined, ttl: 0 };
/** How long `verify` without a duration waits here, and the TTL where none is given (RFC 8767 sections 4 and 5). */
export const WAIT_MS = 1_800;
export const STALE_TTL = 30;
const STALE_SECONDS = 3_600;
const HITS = 3;
/** CoreDNS has no smaller share. */
export const MIN_PERCENT = 10;
const NUMBER = /^\d{1,9}$/;

/** The value of dnsmasq's `--stale`, `TIMEOUT[,MAXAGE[,TTL]]`; undefined for another text. */
export function readStale(value: string): StaleSetup | undefined {
  const [wait = '', age = `${STALE_SECONDS}`, ttl = `${STALE_TTL}`, ...rest] = value.split(',');
  const [waitMs, ageMs, ttlMs] = [wait, age, ttl].map(durationMs);
  if (rest.length > 0 || waitMs === undefined || ageMs === undefined || ttlMs === undefined)
    return undefined;
  return { seconds: Math.floor(ageMs / 1_000), waitMs, ttl: Math.floor(ttlMs / 1_000) };
}

/** The option of dnsmasq. */
export function staleArguments({ seconds, waitMs, ttl }: StaleSetup): string[] {
  if (seconds === 0) return [];
  if (waitMs === undefined) return [`--use-stale-cache=${seconds}`];
  return [`--stale=${waitMs}ms,${seconds},${ttl}`];
}

/** The value of dnsmasq's `--prefetch`, `HITS[,PERCENT]`; undefined for another text. */
export function readPrefetch(value: string): PrefetchSetup | undefined {
  const [hits = '', percent = `${MIN_PERCENT}`, ...rest] = value.split(',');
  const numbers = [hits === '' ? `${HITS}` : hits, percent];
  if (rest.length > 0 || !numbers.every((text) => NUMBER.test(text))) return undefined;
  return { hits: Number(numbers[0]), percent: Number(percent) };
}

/** Milliseconds of a Go duration, or of a number of seconds; undefined for another text. */
export function durationMs(text: string): number | undefined {
  if (NUMBER.test(text)) return Number(text) * 1_000;
  try {
    const ms = parseGoDuration(text);
    return ms < 0 ? undefined : ms;
  } catch {
    return undefined;
  }
}
