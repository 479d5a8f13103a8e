import type { Log } from '@kube-dns/daemon';
import type { ApiReader } from './api-client.js';
import type { Landmark } from './landmark.js';
import type { ApiObject, ObjectSink, Projection } from './object-store.js';
import type { StoreLimits } from './store-limits.js';
import type { WatchPace } from './watch-pace.js';

export interface ListWatchOptions<T extends ApiObject, K extends Projection> {
  readonly client: ApiReader;
  /** As `/api/v1/services`. */
  readonly path: string;
  readonly sink: ObjectSink<T, K>;
  /** What is asked for to learn the version alone; the service `kubernetes` unless given. */
  readonly landmark?: Landmark;
  readonly log: Log;
  readonly random?: () => number;
  readonly pace?: Partial<WatchPace>;
  readonly limits?: StoreLimits;
  /** Called after the first complete list, and after the first one that follows `onDenied` or `forget`. */
  readonly onSynced: () => void;
  /**
   * Called when the server forbids or does not have the resource: at the first time, or at the second in a
   * row after a complete list. Called again only after `onSynced`.
   */
  readonly onDenied?: () => void;
  /** Called when the cluster proves to be restored or another one; `relist` the other resources then. */
  readonly onRestored?: (reason: string) => void;
  /** Called after each failure with the number of failures since the last complete list. */
  readonly onFailure?: (inARow: number) => void;
  /** Called after a change of a watch was applied, with the ms since its bytes arrived. */
  readonly onEvent?: (latencyMs: number) => void;
}
