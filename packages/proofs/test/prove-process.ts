import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ProgramResult, RunningProgram, runProgram, TemporaryFolder } from '@kube-dns/testkit';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** What a proof printed, with the figures and the tables of its report by name. */
export interface ProofResult<T> extends ProgramResult {
  readonly figures: ReadonlyMap<string, number | null>;
  readonly results: T;
  /** The sentences below the tables. */
  readonly notes: readonly string[];
  /** The figures that miss their bar. */
  readonly missed: readonly string[];
  /** The file of its option `--plot`. */
  readonly plot: string;
}

/** Starts the built command as a user does. */
export function startProof(args: readonly string[]): RunningProgram {
  return new RunningProgram('prove', process.execPath, [PROGRAM, ...args], { inheritsEnv: true });
}

/** Runs the built command to its end. After `limitMs` it is ended, with all that it started. */
export function run(args: readonly string[], limitMs: number): Promise<ProgramResult> {
  return runProgram(process.execPath, [PROGRAM, ...args], { limitMs, inheritsEnv: true });
}

/** Runs a proof and reads its report; the caller names the type of the report's tables. */
export async function prove<T>(
  args: readonly string[],
  limitMs: number,
  plots = false,
): Promise<ProofResult<T>> {
  const folder = new TemporaryFolder();
  const [json, plot] = [join(folder.path, 'report.json'), join(folder.path, 'plot.svg')];
  try {
    const files = [`--json=${json}`, ...(plots ? [`--plot=${plot}`] : [])];
    const ended = await run([...args, ...files], limitMs);
    const { figures, results, notes } = readReport<T>(json, ended);
    return {
      ...ended,
      figures: new Map(figures.map(({ name, value }) => [name, value])),
      results,
      notes,
      missed: figures.filter(({ verdict }) => verdict === 'over').map(({ name }) => name),
      plot: plots ? readFileSync(plot, 'utf8') : '',
    };
  } finally {
    await folder.close();
  }
}

interface ReportedFigure {
  readonly name: string;
  readonly value: number | null;
  readonly verdict: string;
}

interface Report<T> {
  readonly figures: readonly ReportedFigure[];
  readonly results: T;
  readonly notes: readonly string[];
}

function readReport<T>(path: string, { stderr }: ProgramResult): Report<T> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report<T>;
  } catch {
    // Without a report the output is the failure.
    throw new Error(`the proof made no report: ${stderr}`);
  }
}
