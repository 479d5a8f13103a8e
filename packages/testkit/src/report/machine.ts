import { execFile } from 'node:child_process';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const GIB = 2 ** 30;

/** The machine and time of a measurement: figures of different machines must not be compared. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly kernel: string;
  /** Load average of the last minute before the start: other programs on the same cores. */
  readonly loadBefore: number;
  readonly benchNode: string;
  readonly serverNode: string;
  readonly date: string;
  /** With `+` where the checkout has uncommitted changes. */
  readonly commit: string;
}

async function output(command: string, args: readonly string[]): Promise<string> {
  try {
    const cwd = fileURLToPath(new URL('.', import.meta.url));
    return (await run(command, [...args], { cwd })).stdout.trim();
  } catch {
    // A missing git or program does not prevent the measurement.
    return 'unknown';
  }
}

async function commit(): Promise<string> {
  const hash = await output('git', ['rev-parse', '--short=10', 'HEAD']);
  const changes = await output('git', ['status', '--porcelain', '--untracked-files=no']);
  return changes === '' || hash === 'unknown' ? hash : `${hash}+`;
}

/** Describes this machine; `serverNode` is the Node that runs the measured programs. */
export async function describeMachine(serverNode: string): Promise<Machine> {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round((totalmem() / GIB) * 10) / 10,
    kernel: `${type()} ${release()}`,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    benchNode: process.version,
    serverNode: await output(serverNode, ['--version']),
    date: new Date().toISOString(),
    commit: await commit(),
  };
}
