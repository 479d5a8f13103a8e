import { loopUse, releaseFreeMemory } from '@kube-dns/transport';

/** A larger heap, as that of 10,000 services, is collected by V8 alone: in steps, without a pause of more than 50 ms. */
const MAX_HEAP_BYTES = 24 * 2 ** 20;

/**
 * Collects all garbage of a heap that is not large, and gives free pages back to the system, which takes 30 to 90 ms of CPU: for the moment
 * when a program is started and has not said yet that it is ready. `last-resort` because others keep what was compiled and is not
 * used now. Does nothing where Node was started without `--expose-gc`, which the images set.
 */
export function collectGarbage(heapBytes = process.memoryUsage().heapUsed): void {
  const collect = globalThis.gc;
  if (collect === undefined) return;
  if (heapBytes <= MAX_HEAP_BYTES) {
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }
  releaseFreeMemory();
}

interface IdleCollectionOptions {
  /** How long the event loop has worked so far, in ms. */
  readonly activeMs?: () => number;
  readonly collect?: () => void;
  readonly periodMs?: number;
}

const PERIOD_MS = 10_000;
/** Of a period: what the probes of node-cache take on a busy machine, or some 10 questions a second, of which a collection delays one. */
const IDLE_PART = 0.004;
/** Less work leaves less garbage than a collection is worth. */
const WORTH_MS = 200;

/**
 * Collects the garbage of a load once it is over: when the event loop has worked for a fifth of a second since the last
 * time, and hardly in the last ten. Never while questions come.
 */
export class IdleCollection {
  readonly #activeMs: () => number;
  readonly #collect: () => void;
  readonly #timer: NodeJS.Timeout;
  readonly #idleMs: number;
  #collectedAtMs: number;
  #lastMs: number;

  constructor(options: IdleCollectionOptions = {}) {
    const {
      activeMs = () => loopUse().activeMs,
      collect = () => collectGarbage(),
      periodMs = PERIOD_MS,
    } = options;
    this.#activeMs = activeMs;
    this.#collect = collect;
    this.#idleMs = periodMs * IDLE_PART;
    this.#collectedAtMs = this.#lastMs = activeMs();
    this.#timer = setInterval(() => this.#look(), periodMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = this.#activeMs();
    const isIdle = nowMs - this.#lastMs < this.#idleMs;
    this.#lastMs = nowMs;
    if (!isIdle || nowMs - this.#collectedAtMs < WORTH_MS) return;
    this.#collect();
    // What the collection took is no work.
    this.#collectedAtMs = this.#lastMs = this.#activeMs();
  }
}
