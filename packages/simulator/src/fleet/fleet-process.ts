import type { Scheduler } from '../scheduler.js';
import type { Histogram } from './histogram.js';

/** A process with one thread: what it is to do waits while it computes. Times are virtual microseconds. */
export class FleetProcess {
  readonly name: string;
  /** Where it is in the network. */
  readonly address: string;
  isAlive = true;
  /** What it has computed in all. */
  busyUs = 0;
  /** The most tasks that waited at one time. */
  longestQueue = 0;
  readonly #scheduler: Scheduler;
  readonly #waits: Histogram | undefined;
  #queue: (readonly [run: () => void, costUs: number])[] = [];
  /** Those before it have run. */
  #next = 0;
  #freeUs = 0;
  #isDraining = false;
  #isFrozen = false;

  /** `waits` gets how long each task waited. */
  constructor(name: string, address: string, scheduler: Scheduler, waits?: Histogram) {
    this.name = name;
    this.address = address;
    this.#scheduler = scheduler;
    this.#waits = waits;
  }

  /** Whether it does something with what arrives. */
  get isRunning(): boolean {
    return this.isAlive && !this.#isFrozen;
  }

  /** It is stopped (SIGSTOP): all that arrives waits. */
  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    if (this.#waiting > 0) this.#drainLater();
  }

  /** Its own time: later than the network's while it computes. */
  get nowUs(): number {
    return Math.max(this.#scheduler.nowUs, this.#freeUs);
  }

  /** Something arrives, or a timer fires: runs it when it is free, and takes this time for it. */
  post(run: () => void, costUs: number): void {
    if (!this.isAlive) return;
    this.#waits?.add(this.nowUs - this.#scheduler.nowUs);
    const isFree = this.#freeUs <= this.#scheduler.nowUs && this.#waiting === 0;
    if (isFree && running === undefined && !this.#isFrozen) {
      this.#execute(run, costUs);
      return;
    }
    this.#queue.push([run, costUs]);
    this.longestQueue = Math.max(this.longestQueue, this.#waiting);
    this.#drainLater();
  }

  /** Computes for a time; returns when it is over. */
  use(costUs: number): number {
    this.busyUs += costUs;
    this.#freeUs = this.nowUs + costUs;
    return this.#freeUs;
  }

  end(): void {
    this.isAlive = false;
    this.#queue = [];
    this.#next = 0;
  }

  get #waiting(): number {
    return this.#queue.length - this.#next;
  }

  #take(): readonly [run: () => void, costUs: number] {
    const task = this.#queue[this.#next++]!;
    // Not for each task: cutting copies the rest.
    if (2 * this.#next > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#next);
      this.#next = 0;
    }
    return task;
  }

  #execute(run: () => void, costUs: number): void {
    this.use(costUs);
    runAs(this, run);
  }

  #drainLater(): void {
    if (this.#isDraining || this.#isFrozen) return;
    this.#isDraining = true;
    this.#scheduler.at(Math.ceil(this.#freeUs), () => {
      this.#isDraining = false;
      if (this.#isFrozen) return;
      if (this.#waiting > 0) this.#execute(...this.#take());
      if (this.#waiting > 0) this.#drainLater();
    });
  }
}

let running: FleetProcess | undefined;

/** The process whose code runs now. */
export function runningProcess(): FleetProcess {
  if (running === undefined) throw new Error('no process of the fleet runs');
  return running;
}

/** Runs something at its clock, as its code would, which takes it no time. */
export function runAs(process: FleetProcess, run: () => void): void {
  const before = running;
  running = process;
  try {
    run();
  } finally {
    running = before;
  }
}
