/** Hears of all that is done to a cache, in order, so that a copy of it can be kept. */
export interface CacheFollower {
  /** An entry, packed. */
  onStored(packed: Uint8Array): void;
  onDropped(domain: Uint8Array): void;
  onCleared(): void;
}
