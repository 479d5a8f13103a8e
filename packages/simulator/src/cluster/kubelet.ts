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
 * Service are the pods that answer on /readiness.
 */
export function followReadiness<T extends Pod>(
  machine: Machine,
  pods: readonly T[],
  setBackends: (ready: readonly T[]) => void,
): void {
  const addresses = pods.map((pod) => pod.machine.addresses[0]!);
  new SimulatedProcess(machine, {
    name: 'kubelet',
    program: (load) =>
      watchReadiness(load, addresses, (ready) => setBackends(ready.map((index) => pods[index]!))),
  }).start();
}

/** Probes pods at their addresses for ever, with the modules that `load` gives: which are ready, by their indices; none at first. */
export function watchReadiness(
  load: (module: string) => unknown,
  pods: readonly string[],
  onChange: (ready: readonly number[]) => void,
): void {
  const { get } = load('http') as typeof http;
  const { setInterval, setTimeout } = load('timers') as typeof globalThis;
  const failures = pods.map(() => FAILURES);
  const update = () => {
    const ready = [...failures.keys()].filter((index) => failures[index]! < FAILURES);
    setTimeout(() => onChange(ready), RULES_MS);
  };
  const note = (index: number, isReady: boolean) => {
    const before = failures[index]!;
    failures[index] = isReady ? 0 : before + 1;
    if (before < FAILURES !== failures[index] < FAILURES) update();
  };
  const probe = (host: string, index: number) => {
    const request = get({ host, port: 8081, path: '/readiness', agent: false }, (response) => {
      response.resume();
      note(index, response.statusCode === 200);
    });
    request.setTimeout(PROBE_LIMIT_MS, () => request.destroy(new Error('timeout')));
    request.on('error', () => note(index, false));
  };
  setInterval(() => pods.forEach(probe), PROBE_MS);
}
