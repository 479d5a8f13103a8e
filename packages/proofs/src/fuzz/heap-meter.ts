import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What reading the meter itself leaves on the heap, at the most. */
const READING_BYTES = 1_024;

/**
 * Tells how many bytes were allocated since it was set: on the heap, and outside of it for arrays of
 * bytes. A collection in between hides some; with a large young generation there is one in many thousands.
 */
class HeapMeter {
  #heapBytes = 0;
  #externalBytes = 0;

  set(): void {
    const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
    this.#heapBytes = heap;
    this.#externalBytes = external;
  }

  read(): number {
    const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
    const onHeap = Math.max(0, heap - this.#heapBytes - READING_BYTES);
    return onHeap + Math.max(0, external - this.#externalBytes);
  }
}

// The flag is heeded by the contexts that are made after it is set.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The bytes in use after a collection. */
function liveBytes(): number {
  // Twice: what the first one finalizes is free after the second.
  collect();
  collect();
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/** By what time and memory of a parser are measured. */
export interface Meters {
  readonly nowMs: () => number;
  readonly heap: () => Pick<HeapMeter, 'set' | 'read'>;
  /** The bytes in use after a collection. */
  readonly liveBytes: () => number;
}

/** Those of this process. */
export const PROCESS_METERS: Meters = {
  nowMs: () => performance.now(),
  heap: () => new HeapMeter(),
  liveBytes,
};
