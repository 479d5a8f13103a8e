import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type ProgramOptions, RunningProgram } from '@kube-dns/testkit';
import { kubeDns } from '../../src/program.js';
import { LogText } from './log-text.js';

/** The built program. */
export const PROGRAM = fileURLToPath(new URL('../../dist/kube-dns.cjs', import.meta.url));

/** Starts `kube-dns` as a user does. */
export function startCommand(
  args: readonly string[],
  options: ProgramOptions = {},
): RunningProgram {
  const words = [PROGRAM, ...args];
  return new RunningProgram('kube-dns', process.execPath, words, { inheritsEnv: true, ...options });
}

/** The process ID that a fixture printed in its latest run. */
export async function pidOf(command: RunningProgram, container: string): Promise<number> {
  const pattern = new RegExp(`^${container} +\\| pid (\\d+)$`, 'gm');
  await command.waitForLine(new RegExp(pattern.source, 'm'));
  return Number([...command.stdout.matchAll(pattern)].at(-1)?.[1]);
}

const REPOSITORY = fileURLToPath(new URL('../../../../', import.meta.url));

/** The end of a command and its output. */
export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `kube-dns` in this process, to its end. */
export async function runHere(args: readonly string[], input = ''): Promise<Ran> {
  const [stdin, stdout, stderr] = [
    Readable.from([Buffer.from(input)]),
    new LogText(),
    new LogText(),
  ];
  const status = await kubeDns(args, { repository: REPOSITORY, stdin, stdout, stderr });
  return { status, stdout: stdout.text, stderr: stderr.text };
}
