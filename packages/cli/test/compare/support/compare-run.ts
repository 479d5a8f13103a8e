import type { ResultData } from '../../../src/compare/result.js';
import { runHere, type Ran } from '../../support/run-command.js';

/** Runs `kube-dns compare` to its end. */
export function runCompare(args: readonly string[]): Promise<Ran> {
  return runHere(['compare', ...args]);
}

/** The same with `--json`, parsed; throws for anything on stderr. */
export async function compareAsJson(
  args: readonly string[],
): Promise<ResultData & Pick<Ran, 'status'>> {
  const { status, stdout, stderr } = await runCompare([...args, '--json']);
  if (stderr !== '' || stdout === '') throw new Error(`status ${status}: ${stderr}`);
  return { ...(JSON.parse(stdout) as ResultData), status };
}
