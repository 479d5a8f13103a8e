import type { Clock } from '@kube-dns/base';
import { BackOff } from './back-off.js';
import { ContainerProcess, type Exit } from './container-process.js';
import type { LogOutput } from './log-output.js';
import type { ContainerPlan } from './plan.js';
import { runProbe } from './probe.js';
import type { ProbeSpec } from './probe-spec.js';
import { Prober } from './prober.js';

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
