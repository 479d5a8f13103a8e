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
  /** The cluster was restored from a backup, emptied, or is another one: its versions began anew. */
  'restored',
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
  /** What exceeds which limit then; '' otherwise. */
  readonly excess: string;
  /** Whether a watch is open. */
  readonly isConnected: boolean;
  /** Whether the resource is followed: endpoints only are where slices are denied. */
  readonly isWatched: boolean;
  /** Whether it was listed once. */
  readonly isSynced: boolean;
  /** Whether the server forbade or did not have it at the last try. */
  readonly isDenied: boolean;
  /** The resourceVersion to continue from; '' while a list is needed. */
  readonly version: string;
  /** Why a try failed last; '' when none did. */
  readonly lastFailure: string;
  /** Milliseconds since the last contact with the server; 0 while a watch is open, denied or stopped. */
  readonly noContactMs: number;
}

/** Counts of zero. */
export function noRestarts(): Record<RestartReason, number> {
  return Object.fromEntries(RESTART_REASONS.map((reason) => [reason, 0])) as Record<
    RestartReason,
    number
  >;
}
