import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Log } from '@kube-dns/daemon';
import type { AddressedClient } from '@kube-dns/transport';

/** One figure of a round. */
export interface Measured {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The most that it may be. */
  readonly atMost: number;
  /** Of several inputs, the one that the value is of. */
  readonly dearest?: string;
}

/** A log that nobody reads. */
export const QUIET: Log = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  verbose: () => undefined,
  isEnabled: () => false,
};

const ADDRESS = Uint8Array.of(198, 51, 100, 100);

/** A client that is answered at once. */
export const CLIENT: AddressedClient = {
  address: '198.51.100.100',
  port: 40_000,
  copyAddress: (to, at) => {
    to.set(ADDRESS, at);
    return ADDRESS.length;
  },
  answersFrom: () => undefined,
  defer: () => {
    throw new Error('nothing is deferred here');
  },
};

/**
 * CPU time of this thread so far, in ms. Linux has that of a running thread as of its last tick, some ms ago, and brings it
 * up to date when it is asked for that of the process. Node before 23.9 has only the latter.
 */
function threadCpuMs(): number {
  const { threadCpuUsage } = process as Partial<NodeJS.Process>;
  const ofProcess = process.cpuUsage();
  const { user, system } = threadCpuUsage?.() ?? ofProcess;
  return (user + system) / 1_000;
}

/** The CPU time of some work in one turn of the event loop, in ms. */
export function cpuMsOf(work: () => unknown): number {
  const startMs = threadCpuMs();
  work();
  return threadCpuMs() - startMs;
}

/** The CPU time of each turn of the event loop while `goesOn`, in ms. */
export async function turnsWhile(goesOn: () => boolean): Promise<readonly number[]> {
  const turns: number[] = [];
  let beforeMs = threadCpuMs();
  while (goesOn()) {
    await nextTurn();
    const nowMs = threadCpuMs();
    turns.push(nowMs - beforeMs);
    beforeMs = nowMs;
  }
  return turns;
}

/** The dearest of several inputs, in ms of CPU. */
export function dearestOf(
  name: string,
  atMost: number,
  costs: ReadonlyMap<string, number>,
): Measured {
  const [dearest = '', value = Number.NaN] =
    [...costs].sort(([, one], [, other]) => other - one)[0] ?? [];
  return { name: `${name}, of ${costs.size}`, value, unit: 'ms CPU', atMost, dearest };
}
