import { createHash, type Hash } from 'node:crypto';

/** What is to happen at a time; `cancel` forgets it. */
export class ScheduledEvent {
  readonly atUs: number;
  readonly order: number;
  run: (() => void) | undefined;

  constructor(atUs: number, order: number, run: () => void) {
    this.atUs = atUs;
    this.order = order;
    this.run = run;
  }

  cancel(): void {
    this.run = undefined;
  }
}

/** So many events run in one turn of the real event loop, which costs as much as a small event. */
const EVENTS_A_TURN = 200;

/** Runs ticks and promises until none is left, as Node does itself after each callback of the event loop. */
const runTicks = (process as unknown as { _tickCallback: () => void })._tickCallback;

/**
 * Virtual time. The next event is the one with the least time, then the one that was scheduled first. Between two
 * events Node runs promises and ticks until none is left, and nothing waits for the real clock, network or disk.
 */
export class Scheduler {
  /** Microseconds since the start of the simulation; a whole number. */
  nowUs = 0;
  /** How many events have run. */
  events = 0;
  /** Called with an error that an event threw, or that a promise or a tick after it did. */
  onError: (error: unknown) => void = (error) => {
    throw error;
  };
  readonly #heap: ScheduledEvent[] = [];
  readonly #digest: Hash = createHash('sha256');
  #scheduled = 0;

  /** Events of the past run now. */
  at(atUs: number, run: () => void): ScheduledEvent {
    const event = new ScheduledEvent(
      Math.max(this.nowUs, Math.round(atUs)),
      this.#scheduled++,
      run,
    );
    this.#push(event);
    return event;
  }

  after(delayUs: number, run: () => void): ScheduledEvent {
    return this.at(this.nowUs + delayUs, run);
  }

  /** Events that may still run; cancelled ones may be counted. */
  get pending(): number {
    return this.#heap.length;
  }

  /** Adds a line to what `digest` is made of. */
  note(line: string): void {
    this.#digest.update(`${this.nowUs} ${line}\n`);
  }

  /** Equal for two runs in which the same happened. */
  digest(): string {
    return this.#digest.copy().digest('hex').slice(0, 16);
  }

  /** Runs all events until a time, that time included; or until `isDone`, which is asked before each. */
  async run(untilUs: number, isDone: () => boolean = () => false): Promise<void> {
    const onError = (error: unknown) => this.onError(error);
    process.on('uncaughtException', onError);
    process.on('unhandledRejection', onError);
    try {
      await new Promise<void>((resolve) => {
        const step = () => {
          for (let left = EVENTS_A_TURN; left > 0; left--) {
            const event = isDone() ? undefined : this.#next(untilUs);
            if (event === undefined) {
              resolve();
              return;
            }
            try {
              event();
              runTicks();
            } catch (error) {
              this.onError(error);
            }
          }
          setImmediate(step);
        };
        setImmediate(step);
      });
    } finally {
      process.off('uncaughtException', onError);
      process.off('unhandledRejection', onError);
    }
  }

  /** The same for events without promises and ticks, as `run` takes most of its time to let those end. */
  runSync(untilUs: number): void {
    for (let event = this.#next(untilUs); event !== undefined; event = this.#next(untilUs)) event();
  }

  /** What happens next, and it is that time now; undefined when nothing does until a time, which it is then. */
  #next(untilUs: number): (() => void) | undefined {
    for (let event = this.#pop(untilUs); event !== undefined; event = this.#pop(untilUs)) {
      const { run } = event;
      if (run === undefined) continue;
      this.nowUs = event.atUs;
      this.events++;
      event.run = undefined;
      return run;
    }
    this.nowUs = untilUs;
    return undefined;
  }

  #push(event: ScheduledEvent): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(untilUs: number): ScheduledEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    if (first === undefined || first.atUs > untilUs) return undefined;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(left: ScheduledEvent, right: ScheduledEvent): boolean {
  return left.atUs < right.atUs || (left.atUs === right.atUs && left.order < right.order);
}
