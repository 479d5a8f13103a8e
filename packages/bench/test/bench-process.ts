import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { RunningProgram } from '@kube-dns/testkit';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** Starts the built program as a user does. */
export function startBench(args: readonly string[], path = process.env.PATH): RunningProgram {
  const options = { env: { PATH: path }, inheritsEnv: true };
  return new RunningProgram('bench', process.execPath, [PROGRAM, ...args], options);
}

/** Starts it as a terminal does, in a process group of its own; its temporary folders are in `folder`. */
export function startBenchGroup(args: readonly string[], folder: string): RunningProgram {
  const options = { env: { TMPDIR: folder }, inheritsEnv: true };
  return new RunningProgram('bench', 'setsid', [process.execPath, PROGRAM, ...args], options);
}

/** The running processes that it has started. */
export function childrenOf({ pid }: RunningProgram): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}

export function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}
