import type { ServerInstance } from './server-instance.js';

/** Learns what processes of servers tell, once the cache has dropped what that changes. */
export interface ChangeListener {
  /** From now on a process tells every change. */
  onLive(instance: ServerInstance): void;
  /** A name (lower-cased, in wire form) has changed, in a zone of its server. */
  onChanged(instance: ServerInstance, name: Uint8Array): void;
  /** Any answer of a process may have changed. */
  onFlushed(instance: ServerInstance): void;
  /** A process tells nothing any more; also called for one that never did. */
  onEnded(instance: ServerInstance): void;
}
