import type { ProgramEnd } from '@kube-dns/testkit';
import type { ResultData } from '../../../src/compare/report/json.js';
import { startCommand } from '../../support/run-command.js';

/** The result of one run of the built program. */
export interface Compared {
  readonly status: ProgramEnd;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `kube-dns compare` to its end. */
export async function runCompare(args: readonly string[]): Promise<Compared> {
  const run = startCommand(['compare', ...args]);
  const status = await run.ended;
  return { status, stdout: run.stdout, stderr: run.stderr };
}

/** The same with `--json`, parsed; throws for anything on stderr. */
export async function compareAsJson(
  args: readonly string[],
): Promise<ResultData & { readonly status: ProgramEnd }> {
  const { status, stdout, stderr } = await runCompare([...args, '--json']);
  if (stderr !== '' || stdout === '') throw new Error(`status ${status}: ${stderr}`);
  return { ...(JSON.parse(stdout) as ResultData), status };
}
