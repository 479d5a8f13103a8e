import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runProgram } from '@kube-dns/testkit';
import { prove, run } from './prove-process.js';

const CORPUS = fileURLToPath(new URL('../corpus', import.meta.url));
const LIMIT_MS = 300_000;
/** For each parser of packets, fewer where its time is over before; `npm run fuzz` has a million. */
const PACKETS = 10_000;
const TEXTS = 500;
const SECONDS = 2;
/** The bar of the command is for a machine that is fast and has nothing else to do. */
const MAX_US = 10_000;
const WATCHDOG_LIMIT_MS = 1_000;
const HANG_LIMIT_MS = 50_000;

interface ParserResult {
  readonly name: string;
  readonly accepted: number;
  readonly findings: readonly unknown[];
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fuzz-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function fuzz(...args: string[]) {
  const output = await prove<{ Parsers: readonly ParserResult[] }>(['fuzz', ...args], LIMIT_MS);
  return { stderr: output.stderr, parsers: output.results.Parsers };
}

describe('hostile input', () => {
  it(
    'makes no parser throw, take long, allocate much or grow, past findings included',
    async () => {
      const { parsers, stderr } = await fuzz(
        `--inputs=${PACKETS}`,
        `--text-inputs=${TEXTS}`,
        `--seconds=${SECONDS}`,
        `--max-us=${MAX_US}`,
      );
      expect(stderr).not.toContain('missed');
      expect(parsers.flatMap(({ findings }) => findings)).toEqual([]);
      // A parser that accepts no input is not fuzzed after its first check.
      for (const { accepted } of parsers) expect(accepted).toBeGreaterThan(0);
      const stored = await readdir(CORPUS);
      expect(parsers.map(({ name }) => name)).toEqual(expect.arrayContaining(stored));
    },
    LIMIT_MS,
  );

  it('is the same for the same seed', async () => {
    const args = ['--only=resolv-file', '--inputs=3000', '--seed=7', `--corpus=${folder}`];
    const [first, second] = [await fuzz(...args), await fuzz(...args)];
    expect(first.parsers[0]!.accepted).toBeGreaterThan(0);
    expect(second.parsers[0]!.accepted).toBe(first.parsers[0]!.accepted);
  }, 60_000);

  it('is stored when it makes a parser loop forever, and the process ends', async () => {
    const watchdog = new URL('../dist/fuzz/watchdog.js', import.meta.url).href;
    const options = { corpus: folder, parser: 'hanging', limitMs: WATCHDOG_LIMIT_MS };
    const script = join(folder, 'hang.mjs');
    await writeFile(
      script,
      `import { Watchdog } from ${JSON.stringify(watchdog)};
      const dog = new Watchdog(${JSON.stringify(options)});
      dog.note(Buffer.from('short'));
      dog.note(Buffer.from('endless'));
      for (;;);`,
    );
    const { end } = await runProgram(process.execPath, [script], { limitMs: HANG_LIMIT_MS });
    expect(end).toBe('SIGKILL');
    const [name = ''] = await readdir(join(folder, 'hanging'));
    expect(name).toMatch(/^hangs-.*\.bin$/);
    expect(await readFile(join(folder, 'hanging', name), 'latin1')).toBe('endless');
  }, 60_000);

  it('exists only for existing parsers', async () => {
    const { stderr } = await run(['fuzz', '--only=query,nothing'], LIMIT_MS);
    expect(stderr).toContain('--only=query,nothing: no parser "nothing"');
  });
});
