/**
 * What the header `Retry-After` asks for, in ms from now: seconds or a date (RFC 9110 section 10.2.3).
 * 0 where there is none, where it is past, and where it makes no sense.
 */
export function parseRetryAfter(value: string | undefined, now: () => number = Date.now): number {
  const text = value?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // Only what looks like a date: Date.parse takes nearly everything for one.
  const atMs = /^[A-Za-z]{3,9},? .*\d\d:\d\d:\d\d/.test(text) ? Date.parse(text) : NaN;
  return Math.max(atMs - now(), 0) || 0;
}
