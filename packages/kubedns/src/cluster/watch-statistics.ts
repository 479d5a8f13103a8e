/** Why a watch, or the list before it, was restarted. */
export const RESTART_REASONS = [
  /** Its duration was over. */
  'timeout',
  /** The server or the network ended it early. */
  'closed',
  /** The server no longer has the version to continue from (410). */
  'gone',
  /** The server refused, or was unreachable. */
  'error',
  /** The server was silent. */
  'idle',
  /** The resource is forbidden or does not exist (403, 404). */
  'denied',
  /** The data was not valid. */
  'garbled',
  /** The objects exceed a limit. */
  'full',
] as const;
export type RestartReason = (typeof RESTART_REASONS)[number];

/** Live counts of one resource. */
export interface ResourceStatistics {
  /** As `services`. */
  readonly resource: string;
  /** Stored objects. */
  readonly objects: number;
  /** When the last event, bookmark or complete list arrived, by `performance.now()`; 0 before the first. */
  readonly lastEventMs: number;
  /** Complete lists after the first. */
  readonly relists: number;
  readonly restarts: Readonly<Record<RestartReason, number>>;
  /** Invalid objects and lines, each time they arrived. */
  readonly rejected: number;
  /** Objects that were too large to be read, each time they arrived. */
  readonly passedOver: number;
  /** Whether the objects exceed a limit, so that some are missing. */
  readonly isOverLimit: boolean;
  /** Whether a watch is open. */
  readonly isConnected: boolean;
}

/** Counts of zero. */
export function noRestarts(): Record<RestartReason, number> {
  return { timeout: 0, closed: 0, gone: 0, error: 0, idle: 0, denied: 0, garbled: 0, full: 0 };
}
