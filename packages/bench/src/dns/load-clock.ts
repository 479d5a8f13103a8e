import { setTimeout as delay } from 'node:timers/promises';

/** What an open loop goes by. */
export interface LoadClock {
  readonly nowMs: () => number;
  /** The CPU time that this thread has had. */
  readonly cpuMs: () => number;
  /** Calls back when what has arrived until now was received. */
  readonly nextTurn: (callback: () => void) => void;
  readonly pause: (ms: number) => Promise<unknown>;
}

/** The clock of this machine. */
export const MACHINE_CLOCK: LoadClock = {
  nowMs: () => performance.now(),
  cpuMs: ownCpuMs,
  nextTurn: (callback) => void setImmediate(callback),
  pause: (ms) => delay(ms),
};

/** Of this thread: the others of the process take its core from it, too. Before Node 23.9 of the whole process. */
function ownCpuMs(): number {
  const known: Partial<Pick<NodeJS.Process, 'threadCpuUsage'>> = process;
  const { user, system } = known.threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / 1_000;
}
