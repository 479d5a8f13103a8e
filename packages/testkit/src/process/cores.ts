import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { MeasureError } from '../errors.js';

const run = promisify(execFile);

/** The core of each part of a measurement. */
export interface CorePlan {
  /** Of the load generator. */
  readonly load: number;
  /** Of the measured server only. */
  readonly server: number;
  /** Of the upstream of that server; the load generator's core where there is no third one. */
  readonly upstream: number;
}

/** Reads a list of CPUs in the form of Linux, `0-2,7`; empty for other text. */
export function parseCpuList(text: string): readonly number[] {
  const cores: number[] = [];
  for (const part of text.trim().split(',')) {
    const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === undefined) return [];
    for (let core = Number(first); core <= Number(last ?? first); core++) cores.push(core);
  }
  return cores;
}

/** Plans with the allowed cores; undefined with fewer than two. */
export function planCores(allowed: readonly number[]): CorePlan | undefined {
  const [load, server, upstream = load] = allowed;
  if (load === undefined || server === undefined || upstream === undefined) return undefined;
  return { load, server, upstream };
}

/** A plan for this machine, or a sentence with the reason why there is none. */
export function findCores(): CorePlan | string {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' });
  } catch {
    return 'There is no taskset: load and server share the cores as the system likes.';
  }
  const allowed = /^Cpus_allowed_list:(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'));
  const plan = planCores(parseCpuList(allowed?.[1] ?? ''));
  return plan ?? 'There is only one core: load and server take it from each other.';
}

/**
 * Pins all threads of a running process, and those that it starts later, to one core. Throws a
 * MeasureError when the process has ended or the system refuses.
 */
export async function pinProcess(pid: number, core: number | undefined): Promise<void> {
  if (core === undefined) return;
  try {
    await run('taskset', ['-a', '-c', '-p', String(core), String(pid)]);
  } catch (cause) {
    throw new MeasureError(`process ${pid} cannot be pinned to core ${core}`, { cause });
  }
}

/** A command line that runs on one core. */
export function pinnedCommand(
  core: number | undefined,
  command: string,
  args: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  if (core === undefined) return { command, args };
  return { command: 'taskset', args: ['-c', String(core), command, ...args] };
}
