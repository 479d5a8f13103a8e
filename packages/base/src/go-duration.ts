const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['\u00b5s', 1e-3], // micro sign
  ['\u03bcs', 1e-3], // Greek letter mu
  ['ms', 1],
  ['s', SECOND_MS],
  ['m', MINUTE_MS],
  ['h', HOUR_MS],
]);
/** The range of Go's int64 nanoseconds, about 292 years. */
const MAX_MS = 2 ** 63 / 1e6;
const MAX_TEXT = 100;

/**
 * Milliseconds of a Go duration (`time.ParseDuration`): `1h2m3.5s`, `300ms`, `-1us`, `0`.
 * Throws with what is wanted. Fractions of a millisecond are preserved.
 */
export function parseGoDuration(text: string): number {
  const invalid = () => new Error('must be a duration with its units, such as 500ms, 30s or 1m30s');
  const sign = text.startsWith('-') ? -1 : 1;
  const body = /^[+-]/.test(text) ? text.slice(1) : text;
  if (body === '0') return 0;
  if (body === '' || text.length > MAX_TEXT) throw invalid();

  const term = /(\d+\.?\d*|\.\d+)([^\d.]*)/y;
  let totalMs = 0;
  while (term.lastIndex < body.length) {
    const match = term.exec(body);
    if (match === null) throw invalid();
    const unitMs = UNIT_MS.get(match[2]!);
    if (unitMs === undefined) throw invalid();
    totalMs += Number(match[1]) * unitMs;
  }
  if (totalMs >= MAX_MS) throw invalid();
  return sign * totalMs;
}

/** The Go spelling of a duration (`time.Duration.String`): `1m0s`, `500ms`, `0s`. */
export function formatGoDuration(ms: number): string {
  if (ms === 0) return '0s';
  if (ms < 0) return `-${formatGoDuration(-ms)}`;
  if (ms < 1e-3) return `${round(ms * 1e6)}ns`;
  if (ms < 1) return `${round(ms * 1e3)}µs`;
  if (ms < 1_000) return `${round(ms)}ms`;
  const hours = Math.floor(ms / HOUR_MS);
  const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS);
  const seconds = round((ms % MINUTE_MS) / SECOND_MS);
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}

/** Removes the error of binary fractions below a nanosecond. */
function round(value: number): number {
  return Number(value.toFixed(9));
}
