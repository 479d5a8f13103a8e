import { MeasureError } from '@kube-dns/testkit';
import { manifestContainer, manifestPod } from '../fixtures/manifest.js';

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
  /** Containers with a preStop hook serve for this long before SIGTERM. */
  readonly preStopMs: number;
  /** `--drain-time` of kubedns. */
  readonly drainMs: number;
  /** Containers that still run after this time are killed. */
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
  const { lifecycle, probes } = manifestContainer('kubedns');
  const { readiness } = probes;
  const preStopSeconds = lifecycle?.preStop?.sleep?.seconds;
  if (readiness === undefined || preStopSeconds === undefined) {
    throw new MeasureError('kubedns of the deployment has no readinessProbe or no preStop');
  }
  return {
    preStopMs: (preStopSeconds * MS) / scale,
    drainMs: (DRAIN_SECONDS * MS) / scale,
    graceMs: manifestPod().terminationGraceMs,
    initialDelayMs: readiness.initialDelayMs / scale,
    probePeriodMs: readiness.periodMs / scale,
    probeTimeoutMs: readiness.timeoutMs,
    failureThreshold: readiness.failureThreshold,
    propagationMs: (PROPAGATION_SECONDS * MS) / scale,
  };
}
