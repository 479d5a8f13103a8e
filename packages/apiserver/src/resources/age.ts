import type { KubeObject } from '../object.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

function parts(ms: number, big: number, small: number, units: string): string {
  const rest = Math.floor((ms % big) / small);
  return `${Math.floor(ms / big)}${units[0]!}${rest > 0 ? `${rest}${units[1]!}` : ''}`;
}

/**
 * A duration with two or three significant digits, such as `45s`, `5m30s`, `3h` or `2d4h`.
 * Source of the steps: apimachinery pkg/util/duration HumanDuration.
 */
export function humanDuration(ms: number): string {
  if (ms < 0) return ms > -2 * SECOND ? '0s' : '<invalid>';
  if (ms < 2 * MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < 10 * MINUTE) return parts(ms, MINUTE, SECOND, 'ms');
  if (ms < 3 * HOUR) return `${Math.floor(ms / MINUTE)}m`;
  if (ms < 8 * HOUR) return parts(ms, HOUR, MINUTE, 'hm');
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h`;
  if (ms < 8 * DAY) return parts(ms, DAY, HOUR, 'dh');
  if (ms < 2 * YEAR) return `${Math.floor(ms / DAY)}d`;
  if (ms < 8 * YEAR) return parts(ms, YEAR, DAY, 'yd');
  return `${Math.floor(ms / YEAR)}y`;
}

/** Age of an object at `now` (ms since the epoch). */
export function ageOf(object: KubeObject, now: number): string {
  return humanDuration(now - Date.parse(object.metadata.creationTimestamp));
}
