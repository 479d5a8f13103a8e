import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '@kube-dns/base';
import { reasonOf } from '../errors.js';
import { LogTail, type LogOutput } from './log.js';
import type { ProbeSpec } from './manifest.js';
import type { ContainerPlan } from './plan.js';
import { Prober, runProbe } from './prober.js';

/** The events of a container. */
export interface ContainerEvents {
  /** It became ready or is no longer ready. */
  readonly onReadyChange: (container: Container) => void;
  /** It failed before it was ready for the first time, and is not restarted. */
  readonly onFailedStart: (message: string) => void;
}

/** A container without a readiness probe that ran for this long has accepted its arguments. */
const SETTLE_MS = 1_000;
/** How often the readiness of a container is probed until its first success. */
const EAGER_PERIOD_MS = 200;

/**
 * Runs one container as the kubelet does under restartPolicy Always:
 * process ends → back-off → restart, with new probes for each run.
 */
export class Container {
  readonly plan: ContainerPlan;
  readonly #log: LogOutput;
  readonly #clock: Clock;
  readonly #events: ContainerEvents;
  readonly #backOff = new BackOff();
  #process: ContainerProcess | undefined;
  #probers = new Map<string, Prober>();
  #cancelTimer: () => void = () => undefined;
  #startedAt = 0;
  #isReady = false;
  #wasReady = false;
  #isRestarting = false;
  #onStopped: (() => void) | undefined;
  #stopped: Promise<void> | undefined;
  #condition = 'not started';

  constructor(plan: ContainerPlan, log: LogOutput, clock: Clock, events: ContainerEvents) {
    this.plan = plan;
    this.#log = log;
    this.#clock = clock;
    this.#events = events;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  /** Why the container is not ready, in a few words. */
  get condition(): string {
    // With a readiness probe its failure counts; an old failure of the liveness probe would mislead.
    const kinds = ['startup', 'readiness', 'liveness'] as const;
    const kind = kinds.find((each) => this.#probers.has(each));
    const failure = kind === undefined ? '' : (this.#probers.get(kind)?.lastFailure ?? '');
    return failure === '' ? this.#condition : failure;
  }

  start(): void {
    this.#isRestarting = false;
    this.#startedAt = this.#clock.now();
    this.#condition = 'starting';
    this.#process = new ContainerProcess(this.plan, this.#log, this.#clock, this.#onExit);
    const { startup } = this.plan.probes;
    if (startup === undefined) this.#watch();
    else {
      this.#probe('startup', startup, (isStarted) => {
        if (isStarted) {
          this.#closeProbes();
          this.#watch();
        } else this.#restart('startup');
      });
    }
  }

  /** Ends the container without a restart; resolves when its process has ended. May be called again. */
  stop(graceMs = this.plan.terminationGraceMs): Promise<void> {
    this.#stopped ??= new Promise((resolve) => (this.#onStopped = resolve));
    this.#cancelTimer();
    this.#closeProbes();
    if (this.#process === undefined) this.#onStopped?.();
    else this.#process.terminate(graceMs);
    return this.#stopped;
  }

  /** Sends SIGKILL to the process; does not prevent a restart. */
  kill(): void {
    this.#process?.kill();
  }

  #watch(): void {
    const { startup, readiness, liveness } = this.plan.probes;
    if (liveness !== undefined) {
      this.#probe('liveness', liveness, (isAlive) => {
        if (!isAlive) this.#restart('liveness');
        else if (readiness === undefined) this.#setReady(true);
      });
    }
    if (readiness !== undefined) {
      this.#probe('readiness', readiness, (isReady) => this.#setReady(isReady));
    } else if (startup !== undefined) {
      this.#setReady(true);
    } else {
      this.#cancelTimer = this.#clock.after(SETTLE_MS, () => this.#setReady(true));
    }
  }

  #probe(
    kind: 'startup' | 'readiness' | 'liveness',
    spec: ProbeSpec,
    onVerdict: (ok: boolean) => void,
  ): void {
    const prober = new Prober(spec, (signal) => runProbe(spec.action, this.plan, signal), {
      clock: this.#clock,
      onVerdict,
      ...(kind === 'readiness' ? { eagerPeriodMs: EAGER_PERIOD_MS } : {}),
    });
    this.#probers.set(kind, prober);
  }

  #restart(kind: 'startup' | 'liveness'): void {
    const reason = this.#probers.get(kind)?.lastFailure ?? '';
    this.#log.say(`${this.plan.name} is restarted, its ${kind} probe failed: ${reason}`);
    this.#isRestarting = true;
    this.#condition = `its ${kind} probe failed`;
    this.#cancelTimer();
    this.#closeProbes();
    this.#setReady(false);
    this.#process?.terminate(this.plan.terminationGraceMs);
  }

  readonly #onExit = (exit: Exit): void => {
    this.#process = undefined;
    this.#cancelTimer();
    this.#closeProbes();
    this.#condition = exit.description;
    if (this.#onStopped !== undefined) {
      this.#isReady = false;
      this.#onStopped();
    } else if (this.#wasReady || this.#isRestarting || exit.isClean) {
      this.#startAgain(exit);
    } else {
      this.#events.onFailedStart(`container ${this.plan.name} ${describeFailure(exit)}`);
    }
  };

  #startAgain(exit: Exit): void {
    const delayMs = this.#backOff.next(this.#clock.now() - this.#startedAt);
    const when = delayMs === 0 ? 'immediately' : `in ${delayMs / 1000} s`;
    this.#condition = `${exit.description}, is restarted ${when}`;
    this.#log.say(`${this.plan.name} ${this.#condition}`);
    this.#setReady(false);
    this.#cancelTimer = this.#clock.after(delayMs, () => this.start());
  }

  #setReady(isReady: boolean): void {
    if (this.#isReady === isReady || this.#onStopped !== undefined) return;
    this.#isReady = isReady;
    this.#wasReady ||= isReady;
    this.#events.onReadyChange(this);
  }

  #closeProbes(): void {
    for (const prober of this.#probers.values()) prober.close();
    this.#probers = new Map();
  }
}

function describeFailure({ description, wasStarted, lastLine }: Exit): string {
  if (!wasStarted) return description;
  return `${description} before it was ready${lastLine === '' ? '' : `: ${lastLine}`}`;
}

/** How a container's process ended. */
export interface Exit {
  readonly isClean: boolean;
  /** False when no process was created. */
  readonly wasStarted: boolean;
  /** Completes "container x …": "ended with status 1", "cannot be started: …". */
  readonly description: string;
  /** The line of its output that most likely holds the reason; empty without output. */
  readonly lastLine: string;
}

/**
 * How long the pipes of an ended process are still read: a grandchild may hold them open for ever, and the
 * reader of our log may have stopped.
 */
const DRAIN_MS = 500;

/**
 * One run of a container's program, started by the constructor, its output in the log. Calls
 * `onExit` exactly once, never from within the constructor, when the process has ended and its
 * output has been written.
 */
export class ContainerProcess {
  readonly #clock: Clock;
  readonly #onExit: (exit: Exit) => void;
  readonly #tail = new LogTail();
  #child: ChildProcess | undefined;
  #hasEnded = false;
  #cancelKill: () => void = () => undefined;

  constructor(plan: ContainerPlan, log: LogOutput, clock: Clock, onExit: (exit: Exit) => void) {
    this.#clock = clock;
    this.#onExit = onExit;
    try {
      // Out of our process group: Ctrl-C at the terminal is for us, and the container gets SIGTERM alone, in
      // its turn. Our own programs end by themselves when this process is killed.
      const child = spawn(plan.file, plan.args, {
        cwd: plan.cwd,
        env: { ...plan.env, KUBE_DNS_ENDS_WITH_PARENT: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      this.#child = child;
      const onLine = (line: string) => this.#tail.push(line);
      const outputs: Output[] = [
        { from: child.stdout, to: log.sink(plan.name, onLine) },
        { from: child.stderr, to: log.sink(plan.name, onLine) },
      ];
      for (const { from, to } of outputs) from.pipe(to);
      child.on('error', (error) => {
        if (child.pid === undefined) this.#failToStart(error);
      });
      child.on('exit', (code, signal) => this.#drain(outputs, code, signal));
    } catch (error) {
      // An argument that no process can receive, such as one with a NUL.
      process.nextTick(() => this.#failToStart(error));
    }
  }

  /** Sends SIGTERM, and SIGKILL if the process still runs after `graceMs`. */
  terminate(graceMs: number): void {
    if (this.#hasEnded) return;
    this.#cancelKill();
    this.#cancelKill = this.#clock.after(graceMs, () => this.kill());
    this.#child?.kill('SIGTERM');
  }

  kill(): void {
    if (!this.#hasEnded) this.#child?.kill('SIGKILL');
  }

  #failToStart(error: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#cancelKill();
    const description = `cannot be started: ${reasonOf(error)}`;
    this.#onExit({ isClean: false, wasStarted: false, description, lastLine: '' });
  }

  #drain(outputs: readonly Output[], code: number | null, signal: NodeJS.Signals | null): void {
    this.#hasEnded = true;
    this.#cancelKill();
    let open = outputs.length;
    const report = () => {
      cancelWait();
      const description = signal === null ? `ended with status ${code}` : `was ended by ${signal}`;
      const lastLine = this.#tail.reason();
      this.#onExit({ isClean: code === 0, wasStarted: true, description, lastLine });
    };
    const finished = () => {
      open -= 1;
      if (open === 0) report();
    };
    const cancelWait = this.#clock.after(DRAIN_MS, () => {
      for (const { from, to } of outputs) {
        to.off('finish', finished);
        from.destroy();
        to.end();
      }
      report();
    });
    for (const { to } of outputs) {
      if (to.writableFinished) finished();
      else to.once('finish', finished);
    }
  }
}

interface Output {
  readonly from: Readable;
  readonly to: Writable;
}

const FIRST_DELAY_MS = 10_000;
const MAX_DELAY_MS = 300_000;
const RESET_AFTER_MS = 600_000;

/**
 * The delays of the kubelet's CrashLoopBackOff: none before the first restart, then 10 s doubling
 * to 5 minutes; a container that ran for 10 minutes starts over.
 */
export class BackOff {
  #nextMs = 0;

  /** How long to wait, in milliseconds, before the restart of a container that ran for `ranForMs`. */
  next(ranForMs: number): number {
    if (ranForMs >= RESET_AFTER_MS) this.#nextMs = 0;
    const delayMs = this.#nextMs;
    this.#nextMs = delayMs === 0 ? FIRST_DELAY_MS : Math.min(delayMs * 2, MAX_DELAY_MS);
    return delayMs;
  }
}
