import type { Clock } from '@kube-dns/base';
import { Container, type ContainerEvents } from './container.js';
import type { LogOutput } from './log.js';
import type { ContainerPlan } from './plan.js';

/** What a pod runs with. */
export interface PodOptions {
  readonly log: LogOutput;
  readonly clock: Clock;
  /** Called once, when all containers are ready for the first time. */
  readonly onReady: (afterSeconds: number) => void;
}

const PROGRESS_EVERY_MS = 5_000;
/** No client is served yet when a start fails: a long grace period has no use. */
const FAILED_START_GRACE_MS = 2_000;
/** Then the next container is stopped, although this one still runs. */
const STOP_TURN_MS = 1_000;

/** Starts, watches and stops the containers of a pod together. */
export class Pod {
  readonly #options: PodOptions;
  readonly #containers: readonly Container[];
  readonly #startedAt: number;
  readonly #ended: Promise<string | undefined>;
  #onEnded: (failure: string | undefined) => void = () => undefined;
  #cancelProgress: () => void = () => undefined;
  #failure: string | undefined;
  #isStopping = false;
  #readiness: 'never' | 'ready' | 'lost' = 'never';

  constructor(plans: readonly ContainerPlan[], options: PodOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
    this.#ended = new Promise((resolve) => (this.#onEnded = resolve));
    const events: ContainerEvents = {
      onReadyChange: (container) => this.#noteReady(container),
      onFailedStart: (message) => this.#fail(message),
    };
    this.#containers = plans.map((plan) => new Container(plan, options.log, options.clock, events));
  }

  /**
   * Starts all containers. Resolves when all have ended: with undefined after stop(), with the reason when
   * a container could not be started. Never rejects.
   */
  run(): Promise<string | undefined> {
    for (const container of this.#containers) container.start();
    this.#reportProgress();
    return this.#ended;
  }

  /**
   * Sends SIGTERM to one after the other, the last one first, and SIGKILL after the grace period: a server
   * that ends before its clients is a warning in their logs. May be called again.
   */
  stop(graceMs?: number): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#cancelProgress();
    this.#reportProgress();
    void this.#stopInTurn(graceMs).then(() => {
      this.#cancelProgress();
      this.#onEnded(this.#failure);
    });
  }

  /** Sends SIGKILL to all: for a second Ctrl-C and for the end of this process. */
  kill(): void {
    this.stop(0);
    for (const container of this.#containers) {
      void container.stop(0);
      container.kill();
    }
  }

  async #stopInTurn(graceMs: number | undefined): Promise<void> {
    const stopped: Promise<void>[] = [];
    for (const container of this.#containers.toReversed()) {
      const one = container.stop(graceMs);
      stopped.push(one);
      let cancel: () => void = () => undefined;
      const turn = new Promise<void>((resolve) => {
        cancel = this.#options.clock.after(STOP_TURN_MS, resolve);
      });
      await Promise.race([one, turn]);
      cancel();
    }
    await Promise.all(stopped);
  }

  #fail(message: string): void {
    this.#failure ??= message;
    this.stop(FAILED_START_GRACE_MS);
  }

  #noteReady(container: Container): void {
    const { log } = this.#options;
    const missing = this.#containers.filter((each) => !each.isReady);
    if (this.#readiness === 'never') {
      const { name } = container.plan;
      if (container.isReady) log.say(`${name} is ready after ${this.#seconds().toFixed(1)} s`);
      if (missing.length > 0) return;
      this.#readiness = 'ready';
      this.#cancelProgress();
      this.#options.onReady(this.#seconds());
      return;
    }
    const readiness = missing.length === 0 ? 'ready' : 'lost';
    if (readiness === this.#readiness) return;
    this.#readiness = readiness;
    if (readiness === 'ready') log.say('the pod is ready again');
    else log.say(`the pod is not ready: ${describe(missing)}`);
  }

  #reportProgress(): void {
    this.#cancelProgress = this.#options.clock.after(PROGRESS_EVERY_MS, () => {
      this.#options.log.say(`waiting for ${this.#awaited()}`);
      this.#reportProgress();
    });
  }

  #awaited(): string {
    if (!this.#isStopping) return describe(this.#containers.filter((each) => !each.isReady));
    const running = this.#containers.filter((each) => each.isRunning);
    return `the end of ${running.map((each) => each.plan.name).join(', ')}`;
  }

  #seconds(): number {
    return (this.#options.clock.now() - this.#startedAt) / 1000;
  }
}

function describe(containers: readonly Container[]): string {
  return containers.map(({ plan, condition }) => `${plan.name} (${condition})`).join('; ');
}
