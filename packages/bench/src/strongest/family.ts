import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second (USER_HZ). */
const TICK_MS = 10;
/** utime, stime, and those of the children that have ended (proc(5)), from the state on. */
const USER = [11, 13] as const;
const SYSTEM = [12, 14] as const;

/** CPU time since the start. */
export interface FamilyUsage {
  readonly userMs: number;
  readonly systemMs: number;
  /** Both of each thread that runs, exact to less than a tick; empty where the kernel does not say it. */
  readonly threadMs: ReadonlyMap<string, number>;
}

const NS_PER_MS = 1_000_000;

/** A process and all below it; empty where it has ended. */
export function familyOf(pid: number): readonly number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
    );
    return [pid, ...children.flatMap((child) => familyOf(Number(child)))];
  } catch {
    // It ended meanwhile.
    return [];
  }
}

/**
 * CPU time of these processes, of what they have started, and of what they started and has ended: a server
 * may have a process for each core, or for each connection.
 */
export function familyUsage(pids: readonly number[]): FamilyUsage {
  let userMs = 0;
  let systemMs = 0;
  const threadMs = new Map<string, number>();
  for (const pid of pids.flatMap(familyOf)) {
    const fields = statOf(pid);
    for (const at of USER) userMs += Number(fields[at] ?? 0) * TICK_MS;
    for (const at of SYSTEM) systemMs += Number(fields[at] ?? 0) * TICK_MS;
    for (const [thread, ns] of runNs(pid)) threadMs.set(thread, ns / NS_PER_MS);
  }
  return { userMs, systemMs, threadMs };
}

/** By thread. */
function runNs(pid: number): readonly (readonly [string, number])[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => {
      const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
      return [thread, Number.parseInt(text, 10)];
    });
  } catch {
    // It ended meanwhile, or the kernel has no such file.
    return [];
  }
}

/** The fields behind the name of the program, which may have any characters. */
function statOf(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
