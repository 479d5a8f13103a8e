import { fileURLToPath } from 'node:url';
import { type ProgramOptions, RunningProgram } from '@kube-dns/testkit';

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
