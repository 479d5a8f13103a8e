import { setTimeout as delay } from 'node:timers/promises';
import { type Closable, becomesTrue, MeasureError, type RunningProgram } from '@kube-dns/testkit';
import { freePodPorts, ManifestPod, type PodOptions } from '../fixtures/manifest-pod.js';
import type { PodTiming } from './manifest-timing.js';

/** The pod of a slot, its timing, and a callback. */
export interface PodSlotOptions {
  readonly pod: PodOptions;
  readonly timing: PodTiming;
  /** Called when the pod becomes ready or not ready, and when it begins to end. */
  readonly onChange: () => void;
}

const STEP_MS = 20;
const KILLED = 'killed after the grace period';

/** The place of one replica: what kubelet does to the pods that follow each other there. */
export class PodSlot implements Closable {
  readonly #options: PodSlotOptions;
  #pod: ManifestPod | undefined;
  #probing = new AbortController();
  #isReady = false;

  constructor(options: PodSlotOptions) {
    this.#options = options;
  }

  /** The port of the pod's dnsmasq, when the pod belongs among the endpoints; else undefined. */
  get endpoint(): number | undefined {
    return this.#isReady ? this.#pod?.ports.dns : undefined;
  }

  /** Starts a new pod, whose readiness is probed from now on. */
  async start(): Promise<void> {
    this.#pod = new ManifestPod(this.#options.pod, await freePodPorts());
    this.#probing = new AbortController();
    void this.#probe(this.#pod, this.#probing.signal);
  }

  /** Waits until the pod is ready; throws a MeasureError when it is not in time, or a container ended. */
  async ready(limitMs: number): Promise<void> {
    const isReady = () => {
      for (const container of this.#pod?.containers ?? []) container.check();
      return this.#isReady;
    };
    if (await becomesTrue(isReady, { limitMs, stepMs: STEP_MS })) return;
    throw new MeasureError(`a pod was not ready within ${limitMs / 1_000} s`);
  }

  /**
   * Ends the pod as its deletion does: it is no endpoint any more, its containers get SIGTERM, those with a
   * preStop after that, and containers that still run after the grace period are killed. Returns how each has ended.
   */
  async stop(): Promise<Readonly<Record<string, string>>> {
    const pod = this.#pod;
    if (pod === undefined) return {};
    this.#probing.abort();
    this.#setReady(false);
    const { preStopMs, graceMs } = this.#options.timing;
    const stopping = [
      endContainer(pod.sidecar, 0, graceMs),
      endContainer(pod.dnsmasq, preStopMs, graceMs),
      endContainer(pod.kubedns, preStopMs, graceMs),
    ];
    return Object.fromEntries(await Promise.all(stopping));
  }

  async close(): Promise<void> {
    this.#probing.abort();
    await this.#pod?.close();
  }

  async #probe(pod: ManifestPod, signal: AbortSignal): Promise<void> {
    const { initialDelayMs, probePeriodMs, probeTimeoutMs, failureThreshold } =
      this.#options.timing;
    let failures = 0;
    let pauseMs = initialDelayMs;
    for (;;) {
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      pauseMs = probePeriodMs;
      const isOk = await pod.isReady(probeTimeoutMs);
      failures = isOk ? 0 : failures + 1;
      // A pod that ends is no endpoint, whatever the result of a late probe.
      if (!this.#probing.signal.aborted && this.#pod === pod) {
        if (isOk) this.#setReady(true);
        else if (failures >= failureThreshold) this.#setReady(false);
      }
    }
  }

  #setReady(isReady: boolean): void {
    if (this.#isReady === isReady) return;
    this.#isReady = isReady;
    this.#options.onChange();
  }
}

/** Ends one container; the end is `0`, or what else came of it. */
async function endContainer(
  container: RunningProgram,
  preStopMs: number,
  graceMs: number,
): Promise<readonly [string, string]> {
  const startMs = performance.now();
  await delay(preStopMs);
  container.signal('SIGTERM');
  const leftMs = graceMs - (performance.now() - startMs);
  if (await becomesTrue(() => !container.isRunning, { limitMs: leftMs, stepMs: STEP_MS })) {
    return [container.name, String(await container.ended)];
  }
  await container.close();
  return [container.name, KILLED];
}
