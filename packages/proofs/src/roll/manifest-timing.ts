import { readFileSync } from 'node:fs';
import { MeasureError } from '@kube-dns/testkit';

const DEPLOYMENT = new URL('../../../../manifests/kube-dns/deployment.yaml', import.meta.url);
/** What Kubernetes takes where a probe does not say (core/v1 Probe). */
const DEFAULT_PERIOD_SECONDS = 10;
const DEFAULT_FAILURES = 3;
/** The flag's default, which the manifest leaves alone. */
const DRAIN_SECONDS = 5;
/**
 * From a pod's change to the rules of every node: the endpoint slice controller, the watch of kube-proxy and
 * its pause between two writes (minSyncPeriod, 1 s).
 */
const PROPAGATION_SECONDS = 1;
const MS = 1_000;

/** How long kubelet and the cluster take for what a pod goes through, in ms. */
export interface PodTiming {
  /** Containers that have one serve on for so long before they are told to end. */
  readonly preStopMs: number;
  /** `--drain-time` of kubedns. */
  readonly drainMs: number;
  /** What is left of a pod then is killed. */
  readonly graceMs: number;
  readonly initialDelayMs: number;
  readonly probePeriodMs: number;
  readonly probeTimeoutMs: number;
  readonly failureThreshold: number;
  readonly propagationMs: number;
}

/**
 * The times of `manifests/kube-dns`, divided by `scale`; throws a MeasureError when they are not there. What
 * only bounds how slow a machine may be, the probes' time-out and the grace period, is not divided.
 */
export function manifestTiming(scale: number): PodTiming {
  const text = readFileSync(DEPLOYMENT, 'utf8');
  const [, probe = ''] = /readinessProbe:\n((?: {12}.*\n)+)/.exec(text) ?? [];
  const seconds = (pattern: RegExp, from: string, initial?: number) => {
    const value = Number(pattern.exec(from)?.[1] ?? initial);
    if (Number.isNaN(value)) throw new MeasureError(`the deployment has no ${pattern.source}`);
    return value * MS;
  };
  return {
    preStopMs: seconds(/sleep:\s+seconds: (\d+)/, text) / scale,
    drainMs: (DRAIN_SECONDS * MS) / scale,
    graceMs: seconds(/terminationGracePeriodSeconds: (\d+)/, text),
    initialDelayMs: seconds(/initialDelaySeconds: (\d+)/, probe) / scale,
    probePeriodMs: seconds(/periodSeconds: (\d+)/, probe, DEFAULT_PERIOD_SECONDS) / scale,
    probeTimeoutMs: seconds(/timeoutSeconds: (\d+)/, probe),
    failureThreshold: Number(/failureThreshold: (\d+)/.exec(probe)?.[1] ?? DEFAULT_FAILURES),
    propagationMs: (PROPAGATION_SECONDS * MS) / scale,
  };
}
