import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The command of all proofs, as it is built. */
export const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** How a run of the command ended. */
export interface Ended {
  readonly code: number;
  readonly stderr: string;
}

/** What a proof said, with the figures and the tables of its report by name. */
export interface Proven<T> extends Ended {
  readonly figures: ReadonlyMap<string, number | null>;
  readonly results: T;
  /** What its option `--plot` drew. */
  readonly plot: string;
}

/** Runs the command as a user would. It is ended, with all that it started, after `limitMs`. */
export function run(args: readonly string[], limitMs: number): Promise<Ended> {
  const options = { timeout: limitMs, killSignal: 'SIGINT' } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], options, (error, _, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stderr });
    });
  });
}

/** Runs a proof and reads its report, whose tables are what the caller takes them for. */
export async function prove<T>(
  args: readonly string[],
  limitMs: number,
  plots = false,
): Promise<Proven<T>> {
  const folder = mkdtempSync(join(tmpdir(), 'prove-'));
  const [json, plot] = [join(folder, 'report.json'), join(folder, 'plot.svg')];
  try {
    const files = [`--json=${json}`, ...(plots ? [`--plot=${plot}`] : [])];
    const ended = await run([...args, ...files], limitMs);
    const { figures, results } = readReport<T>(json, ended);
    return {
      ...ended,
      figures: new Map(figures.map(({ name, value }) => [name, value])),
      results,
      plot: plots ? readFileSync(plot, 'utf8') : '',
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Report<T> {
  readonly figures: readonly { readonly name: string; readonly value: number | null }[];
  readonly results: T;
}

function readReport<T>(path: string, { stderr }: Ended): Report<T> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report<T>;
  } catch {
    // Without a report what it said is the failure.
    throw new Error(`the proof made no report: ${stderr}`);
  }
}
