import { ApiError, StreamError } from '../errors.js';
import type { RestartReason } from './watch-statistics.js';

const GONE = 410;
/** The server cannot read the version. */
const BAD_REQUEST = 400;
/** A watch from the same version would not help, or send the same unreadable event again. */
const NEEDS_LIST: ReadonlySet<RestartReason> = new Set(['gone', 'garbled', 'full', 'restored']);
const DENIED: ReadonlySet<number> = new Set([403, 404]);

/** The reason for a restart after this error. */
export function restartReason(error: unknown): RestartReason {
  if (error instanceof StreamError) return error.reason;
  if (!(error instanceof ApiError)) return 'error';
  if (error.status === GONE || error.status === BAD_REQUEST) return 'gone';
  return DENIED.has(error.status) ? 'denied' : 'error';
}

/** Whether a list must follow. */
export function needsList(reason: RestartReason): boolean {
  return NEEDS_LIST.has(reason);
}
