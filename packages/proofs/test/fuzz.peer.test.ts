import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ownedBy, runProgram, TemporaryFolder } from '@kube-dns/testkit';
import { prove, run } from './prove-process.js';

const CORPUS = fileURLToPath(new URL('../corpus', import.meta.url));
const LIMIT_MS = 300_000;
/** For each parser; `npm run fuzz` has a million. */
const INPUTS = ['--inputs=1000', '--text-inputs=150'];
const WATCHDOG_LIMIT_MS = 1_000;

interface ParserResult {
  readonly name: string;
  readonly accepted: number;
  readonly findings: readonly unknown[];
}

const own = ownedBy(afterEach);
let folder: string;
beforeEach(() => {
  folder = own(new TemporaryFolder()).path;
});

async function fuzz(...args: string[]): Promise<readonly ParserResult[]> {
  const all = ['fuzz', '--busy', ...args];
  const { results } = await prove<{ Parsers: readonly ParserResult[] }>(all, LIMIT_MS);
  return results.Parsers;
}

describe('hostile input', () => {
  it(
    'makes no parser throw or hang, past findings included',
    async () => {
      const parsers = await fuzz(...INPUTS);
      expect(parsers.flatMap(({ findings }) => findings)).toEqual([]);
      // A parser that accepts no input is not fuzzed after its first check.
      expect(parsers.filter(({ accepted }) => accepted === 0)).toEqual([]);
      const stored = await readdir(CORPUS);
      expect(parsers.map(({ name }) => name)).toEqual(expect.arrayContaining(stored));
    },
    LIMIT_MS,
  );

  it(
    'is stored when it makes a parser loop forever, and the process ends',
    async () => {
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
      const { end } = await runProgram(process.execPath, [script], { limitMs: LIMIT_MS });
      expect(end).toBe('SIGKILL');
      const [name = ''] = await readdir(join(folder, 'hanging'));
      expect(name).toMatch(/^hangs-.*\.bin$/);
      expect(await readFile(join(folder, 'hanging', name), 'latin1')).toBe('endless');
    },
    LIMIT_MS,
  );

  it(
    'exists only for existing parsers',
    async () => {
      const { stderr } = await run(['fuzz', '--only=query,nothing'], LIMIT_MS);
      expect(stderr).toContain('--only=query,nothing: "nothing" is none of query, ');
    },
    LIMIT_MS,
  );
});
