import type { ResultData } from '../../../src/compare/report/json.js';
import { CommandRun } from '../../support/run-command.js';

/** What one run of the built program came to. */
export interface Compared {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `kube-dns compare` to its end. */
export async function runCompare(args: readonly string[]): Promise<Compared> {
  const run = new CommandRun(['compare', ...args]);
  const status = await run.ended;
  return { status, stdout: run.stdout, stderr: run.stderr };
}

/** The same with `--json`, read; what is on stderr fails it. */
export async function compareAsJson(
  args: readonly string[],
): Promise<ResultData & { readonly status: number | null }> {
  const { status, stdout, stderr } = await runCompare([...args, '--json']);
  if (stderr !== '' || stdout === '') throw new Error(`status ${status}: ${stderr}`);
  return { ...(JSON.parse(stdout) as ResultData), status };
}
