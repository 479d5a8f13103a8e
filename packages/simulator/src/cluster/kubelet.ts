import type * as http from 'node:http';
import { SimulatedProcess } from '../machine/process.js';
import type { Machine } from '../machine/machine.js';

/** A pod that is probed. */
interface Pod {
  readonly machine: { readonly addresses: readonly string[] };
}

/** Between two probes of a pod. */
const PROBE_MS = 1_000;
const PROBE_LIMIT_MS = 1_000;
/** In a row, until a pod is not ready (`failureThreshold`). */
const FAILURES = 3;
/** From a change of readiness to the rules of kube-proxy. */
const RULES_MS = 200;

/**
 * The kubelet's readiness probes of the DNS pods, the endpoint controller and kube-proxy in one: the backends of the
 * Service are the pods that answer on /readiness. The result is to be called when there are other pods.
 */
export function followReadiness<T extends Pod>(
  machine: Machine,
  pods: () => readonly T[],
  setBackends: (ready: readonly T[]) => void,
): () => void {
  let onPods: () => void = () => undefined;
  const addressOf = (pod: T) => pod.machine.addresses[0]!;
  new SimulatedProcess(machine, {
    name: 'kubelet',
    program: (load) => {
      onPods = watchReadiness(load, () => pods().map(addressOf), (ready) => setBackends(pods().filter((pod) => ready.includes(addressOf(pod))))); // prettier-ignore
    },
  }).start();
  return () => onPods();
}

/**
 * Probes pods at their addresses for ever, with the modules that `load` gives: which are ready; none at first. The
 * result is to be called when there are others.
 */
export function watchReadiness(
  load: (module: string) => unknown,
  pods: () => readonly string[],
  onChange: (ready: readonly string[]) => void,
): () => void {
  const { get } = load('http') as typeof http;
  const { setInterval, setTimeout } = load('timers') as typeof globalThis;
  const failures = new Map<string, number>();
  const isReady = (host: string) => (failures.get(host) ?? FAILURES) < FAILURES;
  const update = () => {
    const ready = pods().filter(isReady);
    setTimeout(() => onChange(ready), RULES_MS);
  };
  const note = (host: string, isGood: boolean) => {
    const before = isReady(host);
    failures.set(host, isGood ? 0 : (failures.get(host) ?? FAILURES) + 1);
    if (isReady(host) !== before) update();
  };
  const probe = (host: string) => {
    const request = get({ host, port: 8081, path: '/readiness', agent: false }, (response) => {
      response.resume();
      note(host, response.statusCode === 200);
    });
    request.setTimeout(PROBE_LIMIT_MS, () => request.destroy(new Error('timeout')));
    request.on('error', () => note(host, false));
  };
  setInterval(() => pods().forEach(probe), PROBE_MS);
  return update;
}
