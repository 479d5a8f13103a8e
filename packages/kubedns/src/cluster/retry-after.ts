/**
 * The pause that the header `Retry-After` requests, in ms from now: seconds or a date (RFC 9110 section
 * 10.2.3). 0 when there is none, when it is past, and when it is invalid.
 */
export function parseRetryAfter(value: string | undefined, now: () => number = Date.now): number {
  const text = value?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // Only what looks like a date: Date.parse accepts almost everything.
  const atMs = /^[A-Za-z]{3,9},? .*\d\d:\d\d:\d\d/.test(text) ? Date.parse(text) : NaN;
  return Math.max(atMs - now(), 0) || 0;
}
