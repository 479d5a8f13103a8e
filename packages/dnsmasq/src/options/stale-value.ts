import { parseGoDuration } from '@kube-dns/base';
import { OptionError } from '../errors.js';

/** `--stale`: when clients get expired answers, and which. */
export interface StaleOptions {
  /** How long a client waits for a reply to a question whose answer has expired. */
  readonly timeoutMs: number;
  /** For how long expired answers are served. */
  readonly maxAgeSeconds: number;
  /** The TTL that they are told with. */
  readonly ttlSeconds: number;
}

const MAX_AGE_SECONDS = 3_600;
/** RFC 8767 section 4. */
const TTL_SECONDS = 30;

/** Parses `TIMEOUT[,MAXAGE[,TTL]]`, each a Go duration or a number of seconds; throws an OptionError. */
export function parseStale(value: string): StaleOptions {
  const [timeout = '', maxAge, ttl, ...rest] = value.split(',');
  if (rest.length > 0) throw new OptionError('it is TIMEOUT[,MAXAGE[,TTL]]');
  const timeoutMs = durationMs(timeout);
  const maxAgeSeconds = maxAge === undefined ? MAX_AGE_SECONDS : durationMs(maxAge) / 1_000;
  if (maxAgeSeconds < 1) throw new OptionError(`an age of ${maxAge} is too short`);
  const ttlSeconds = ttl === undefined ? TTL_SECONDS : Math.floor(durationMs(ttl) / 1_000);
  if (ttl !== undefined && (ttlSeconds < 1 || ttlSeconds > maxAgeSeconds)) {
    throw new OptionError(`a TTL of ${ttl} is not between 1 and the age`);
  }
  return { timeoutMs, maxAgeSeconds, ttlSeconds: Math.min(ttlSeconds, maxAgeSeconds) };
}

function durationMs(text: string): number {
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : durationOf(text);
  if (!(ms >= 0) || ms > Number.MAX_SAFE_INTEGER) throw notDuration(text);
  return ms;
}

function durationOf(text: string): number {
  try {
    return parseGoDuration(text);
  } catch {
    throw notDuration(text);
  }
}

function notDuration(text: string): OptionError {
  return new OptionError(`${JSON.stringify(text)} is no duration, such as 100ms, 1h or 30`);
}
