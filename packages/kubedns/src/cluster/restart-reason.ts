import { ApiError, StreamError } from '../errors.js';
import type { RestartReason } from './watch-statistics.js';

const GONE = 410;
const DENIED: ReadonlySet<number> = new Set([403, 404]);

/** The reason for a restart after this error. */
export function restartReason(error: unknown): RestartReason {
  if (error instanceof StreamError) return error.reason;
  if (!(error instanceof ApiError)) return 'error';
  if (error.status === GONE) return 'gone';
  return DENIED.has(error.status) ? 'denied' : 'error';
}
