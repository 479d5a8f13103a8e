import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** What a proof said, with the figures of its report by name. */
export interface Proven {
  readonly code: number;
  readonly stderr: string;
  readonly figures: ReadonlyMap<string, number | null>;
  /** What its option `--plot` drew. */
  readonly plot: string;
}

/** Runs a proof as a user would. It is ended, with all that it started, after `limitMs`. */
export function prove(args: readonly string[], limitMs: number, plots = false): Promise<Proven> {
  const folder = mkdtempSync(join(tmpdir(), 'prove-'));
  const [json, plot] = [join(folder, 'report.json'), join(folder, 'plot.svg')];
  const all = [PROGRAM, ...args, `--json=${json}`, ...(plots ? [`--plot=${plot}`] : [])];
  return new Promise((resolve, reject) => {
    const options = { timeout: limitMs, killSignal: 'SIGINT' } as const;
    execFile(process.execPath, all, options, (error, _, stderr) => {
      try {
        const { figures } = JSON.parse(readFileSync(json, 'utf8')) as {
          figures: readonly { readonly name: string; readonly value: number | null }[];
        };
        resolve({
          code: typeof error?.code === 'number' ? error.code : 0,
          stderr,
          figures: new Map(figures.map(({ name, value }) => [name, value])),
          plot: plots ? readFileSync(plot, 'utf8') : '',
        });
      } catch {
        // Without a report what it said is the failure.
        reject(new Error(`the proof made no report: ${stderr}`));
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  });
}
