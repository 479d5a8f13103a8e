import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const CORPUS = fileURLToPath(new URL('../corpus', import.meta.url));
const LIMIT_MS = 150_000;
/** For each parser of packets: 200,000 together. */
const PACKETS = 25_000;
const TEXTS = 1_000;

interface ParserResult {
  readonly name: string;
  readonly inputs: number;
  readonly accepted: number;
  readonly findings: readonly unknown[];
}

interface FuzzReport {
  readonly results: { readonly Parsers: readonly ParserResult[] };
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fuzz-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function fuzz(
  ...args: string[]
): Promise<{ stderr: string; parsers: readonly ParserResult[] }> {
  const json = join(folder, 'report.json');
  const stderr = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [PROGRAM, 'fuzz', `--json=${json}`, ...args],
      (_error, _out, text) => {
        resolve(text);
      },
    );
  });
  const report = JSON.parse(await readFile(json, 'utf8')) as FuzzReport;
  return { stderr, parsers: report.results.Parsers };
}

describe('hostile input', () => {
  it(
    'makes no parser throw, take long, allocate much or grow, past findings included',
    async () => {
      const { parsers, stderr } = await fuzz(`--inputs=${PACKETS}`, `--text-inputs=${TEXTS}`);
      expect(stderr).not.toContain('missed');
      expect(parsers.flatMap(({ findings }) => findings)).toEqual([]);
      for (const { inputs, accepted } of parsers) {
        expect(inputs).toBeGreaterThanOrEqual(TEXTS);
        // A parser that takes nothing is not fuzzed behind its first check.
        expect(accepted).toBeGreaterThan(0);
      }
      const kept = await readdir(CORPUS);
      expect(parsers.map(({ name }) => name)).toEqual(expect.arrayContaining(kept));
    },
    LIMIT_MS,
  );

  it('is made of the same inputs for the same seed', async () => {
    const args = ['--only=resolv-file', '--inputs=3000', '--seed=7', `--corpus=${folder}`];
    const [first, second] = [await fuzz(...args), await fuzz(...args)];
    expect(first.parsers[0]!.accepted).toBeGreaterThan(0);
    expect(second.parsers[0]!.accepted).toBe(first.parsers[0]!.accepted);
  }, 60_000);
});
