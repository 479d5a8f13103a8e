/** Why a watch, or the list before it, had to be begun anew. */
export const RESTART_REASONS = [
  /** Its time was over. */
  'timeout',
  /** The server or the network ended it before its time. */
  'closed',
  /** The version to go on from is no longer known (410). */
  'gone',
  /** The server refused, or could not be reached. */
  'error',
  /** Nothing was heard of the server. */
  'idle',
  /** The resource is not allowed or not known (403, 404). */
  'denied',
  /** What came could not be read. */
  'garbled',
] as const;
export type RestartReason = (typeof RESTART_REASONS)[number];

/** Plain numbers of one resource, as they are now. */
export interface ResourceStatistics {
  /** As `services`. */
  readonly resource: string;
  /** Objects that are kept. */
  readonly objects: number;
  /** When the last event, bookmark or complete list came, by `performance.now()`; 0 before the first. */
  readonly lastEventMs: number;
  /** Complete lists after the first. */
  readonly relists: number;
  readonly restarts: Readonly<Record<RestartReason, number>>;
  /** Objects and lines that made no sense, each time they came. */
  readonly rejected: number;
  /** Whether a watch is open, as far as known. */
  readonly isConnected: boolean;
}

/** Counters that begin at zero. */
export function noRestarts(): Record<RestartReason, number> {
  return { timeout: 0, closed: 0, gone: 0, error: 0, idle: 0, denied: 0, garbled: 0 };
}
