import { readFileSync } from 'node:fs';
import { Script } from 'node:vm';
import {
  EXIT,
  type ProcessExit,
  type ProcessMachine,
  type Resource,
  type RunningProcess,
} from '../host.js';
import type { ScheduledEvent } from '../scheduler.js';
import { type BundleGlobals, globalsOf } from './globals.js';

export interface ProcessOptions {
  /** The name of the container. */
  readonly name: string;
  /** The file of a compiled bundle; or what a program of the simulator itself does, with the modules of its machine. */
  readonly program: string | ((load: (module: string) => unknown) => void);
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** One line, without its line feed. */
  readonly onLine?: (line: string) => void;
  readonly onExit?: (exit: ProcessExit) => void;
}

type Bundle = (...globals: unknown[]) => void;

const KILLED = 137;
const bundles = new Map<string, Bundle>();

/**
 * One call of a compiled bundle, on a machine. What it takes from outside, globals and built-in modules, is the
 * machine's: so it has no time, network, file or random number that the seed does not give.
 */
export class SimulatedProcess implements RunningProcess {
  readonly machine: ProcessMachine;
  readonly name: string;
  readonly pid: number;
  readonly startedUs: number;
  readonly globals: BundleGlobals;
  readonly options: ProcessOptions;
  exit: ProcessExit | undefined;
  /** What it had when it ended, and the system took back. */
  atExit = { timers: 0, resources: 0 };
  /** Timers, immediates and completions that are still to come; what a frozen process will do. */
  readonly #events = new Set<ScheduledEvent>();
  readonly #resources = new Set<Resource>();
  /** While it is frozen: timers that are due, and what has arrived. */
  readonly #due: (() => void)[] = [];
  readonly #arrived: (() => void)[] = [];
  /** What is to happen after so many callbacks more. */
  readonly #countdowns = new Set<{ left: number; readonly act: () => void }>();
  #isFrozen = false;
  #unfinishedLine = '';

  constructor(machine: ProcessMachine, options: ProcessOptions) {
    this.machine = machine;
    this.options = options;
    this.name = options.name;
    this.pid = machine.nextPid();
    this.startedUs = machine.scheduler.nowUs;
    this.globals = globalsOf(this, options);
  }

  /** Runs the bundle's first turn, as an event of its own. */
  start(): void {
    this.schedule(0, () => {
      const { load, names, values } = this.globals;
      const { program } = this.options;
      if (typeof program === 'string') bundleOf(program, names)(...values);
      else program(load);
    });
  }

  get isAlive(): boolean {
    return this.exit === undefined;
  }

  run(callback: () => void): void {
    if (this.#isFrozen && this.isAlive) this.#arrived.push(callback);
    else this.#call(callback);
  }

  #call(callback: () => void): void {
    if (!this.isAlive) return;
    note(this);
    try {
      callback();
    } catch (error) {
      this.onUncaught(error);
    }
    if (this.#countdowns.size > 0) this.#countDown();
  }

  /** Does something once the process has run so many callbacks more; the result forgets it. */
  afterTurns(count: number, act: () => void): () => void {
    if (count === 0) {
      act();
      return () => undefined;
    }
    const countdown = { left: count, act };
    this.#countdowns.add(countdown);
    return () => void this.#countdowns.delete(countdown);
  }

  #countDown(): void {
    for (const countdown of this.#countdowns) {
      if (--countdown.left !== 0) continue;
      // Not before the ticks and promises of this callback have run, and unless it is forgotten by then.
      this.machine.scheduler.after(0, () => {
        if (this.#countdowns.delete(countdown)) countdown.act();
      });
    }
  }

  schedule(delayUs: number, callback: () => void): ScheduledEvent {
    const event = this.machine.scheduler.after(delayUs, () => {
      this.#events.delete(event);
      if (this.#isFrozen) this.#due.push(callback);
      else this.#call(callback);
    });
    this.#events.add(event);
    return event;
  }

  forget(event: ScheduledEvent): void {
    event.cancel();
    this.#events.delete(event);
  }

  write(bytes: string | Uint8Array): void {
    const lines = (this.#unfinishedLine + Buffer.from(bytes as string).toString('utf8')).split(
      '\n',
    );
    this.#unfinishedLine = lines.pop() ?? '';
    const { scheduler, name } = this.machine;
    for (const line of lines) {
      scheduler.note(`${name} ${this.name} | ${line}`);
      this.options.onLine?.(line);
    }
  }

  own(resource: Resource): void {
    this.#resources.add(resource);
  }

  disown(resource: Resource): void {
    this.#resources.delete(resource);
  }

  get timers(): number {
    return this.#events.size;
  }

  get resources(): number {
    return this.#resources.size;
  }

  /** SIGSTOP: what arrives waits, and what was to happen happens after `thaw`. */
  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    const [due, arrived] = [this.#due.splice(0), this.#arrived.splice(0)];
    // An event loop has either phase first, by where it was stopped; it never has some of both by turns.
    const callbacks = this.machine.random.chance(0.5) ? [...due, ...arrived] : [...arrived, ...due];
    for (const callback of callbacks) this.schedule(1, callback);
  }

  /** A signal with a handler runs it; without one SIGTERM and SIGINT end the process, as SIGKILL does. */
  kill(signal: NodeJS.Signals): void {
    if (!this.isAlive) return;
    if (signal !== 'SIGKILL' && this.globals.process.listenerCount(signal) > 0) {
      this.schedule(0, () => this.globals.process.emit(signal, signal));
      return;
    }
    this.end({ code: KILLED });
  }

  end(exit: ProcessExit): void {
    if (!this.isAlive) return;
    this.exit = exit;
    this.atExit = { timers: this.timers, resources: this.resources };
    for (const event of this.#events) event.cancel();
    this.#events.clear();
    this.#due.length = 0;
    this.#arrived.length = 0;
    for (const resource of [...this.#resources]) resource.onProcessEnd();
    this.#resources.clear();
    this.machine.scheduler.note(`${this.machine.name} ${this.name} exit ${exit.code}`);
    this.options.onExit?.(exit);
  }

  /** An error that reached the top: its handlers get it, or it ends the process. */
  onUncaught(error: unknown): void {
    if (error === EXIT || !this.isAlive) return;
    const { process } = this.globals;
    if (process.listenerCount('uncaughtException') > 0) {
      process.emit('uncaughtException', error);
      this.uncaught.push(error);
    } else {
      this.end({ code: 1, error });
    }
  }

  /** Errors that reached the top and that the program logged. */
  readonly uncaught: unknown[] = [];
}

let running: SimulatedProcess | undefined;

function note(process: SimulatedProcess): void {
  running = process;
}

/** Whose callback ran last: an error of a promise or a tick is of that process. */
export function runningProcess(): SimulatedProcess | undefined {
  return running;
}

/** Compiled once, called once for each process. */
function bundleOf(file: string, names: readonly string[]): Bundle {
  const known = bundles.get(file);
  if (known !== undefined) return known;
  const source = readFileSync(file, 'utf8').replace(/^#!.*/u, '');
  const script = new Script(`(function (${names.join(', ')}) {${source}\n})`, { filename: file });
  const bundle = script.runInThisContext() as Bundle;
  bundles.set(file, bundle);
  return bundle;
}
