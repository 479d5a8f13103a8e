/** Between two looks at the clock. */
const STEP_MS = 10;
/** A shorter time between two looks is that of a machine with other work, not a stall. */
const LONGEST_STEP_MS = 100;
const MOST_RUNS = 4;

/** How long some work took. */
interface Timed<T> {
  readonly result: T;
  /** By the clock. */
  readonly elapsedMs: number;
  /** Without the time in which the machine gave this process no CPU. */
  readonly runningMs: number;
}

/** Adds up the time in which this process gets no CPU: its timers are late, and it did not compute meanwhile. */
class StallWatch {
  readonly #startedMs = performance.now();
  readonly #timer = setInterval(() => this.#look(), STEP_MS).unref();
  #seenMs = this.#startedMs;
  #seenCpuMs = cpuMs();
  #stalledMs = 0;

  /** Ends it; returns the times in milliseconds. */
  end(): { readonly elapsedMs: number; readonly stalledMs: number } {
    clearInterval(this.#timer);
    this.#look();
    return { elapsedMs: this.#seenMs - this.#startedMs, stalledMs: this.#stalledMs };
  }

  #look(): void {
    const [nowMs, nowCpuMs] = [performance.now(), cpuMs()];
    const idleMs = nowMs - this.#seenMs - (nowCpuMs - this.#seenCpuMs);
    if (idleMs > LONGEST_STEP_MS) this.#stalledMs += idleMs - STEP_MS;
    this.#seenMs = nowMs;
    this.#seenCpuMs = nowCpuMs;
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Does some work, and says how long it took, with and without stalls of the machine. */
export async function timed<T>(work: () => Promise<T>): Promise<Timed<T>> {
  const watch = new StallWatch();
  try {
    const result = await work();
    const { elapsedMs, stalledMs } = watch.end();
    return { result, elapsedMs, runningMs: elapsedMs - stalledMs };
  } finally {
    watch.end();
  }
}

/**
 * Does what depends on the time that passes. When it fails and the machine stalled meanwhile, which makes
 * programs late, it is done again, three times at most; any other failure counts at once.
 */
export async function againIfStalled<T>(work: () => Promise<T>): Promise<T> {
  for (let runs = 1; ; runs++) {
    const watch = new StallWatch();
    try {
      return await work();
    } catch (error) {
      if (watch.end().stalledMs === 0 || runs === MOST_RUNS) throw error;
    } finally {
      watch.end();
    }
  }
}
