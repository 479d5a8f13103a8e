import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BYTE_MUTATIONS } from './byte-mutations.js';
import { FindingFiles } from './finding.js';
import { FuzzRun } from './fuzz-run.js';
import { MAX_INPUT_US } from './judge.js';
import type { FuzzTarget } from './fuzz-target.js';
import { Random } from './random.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fuzz-run-'));
});
afterEach(() => rm(folder, { recursive: true }));

const SEEDS = ['first', 'second'].map((text) => Buffer.from(text));

function fuzz(run: FuzzTarget['run'], inputs = 4_000, guidedInputs = 0) {
  const target = { seeds: SEEDS, tokens: [], mutations: BYTE_MUTATIONS, maxBytes: 200, run };
  const files = new FindingFiles(folder, 'planted');
  const random = new Random(1);
  const limits = { inputs, guidedInputs, seconds: 0, maxUs: MAX_INPUT_US };
  return new FuzzRun({ target, files, random, ...limits }).run();
}

/** Most inputs have it, none of the seeds. */
const isMarked = (input: Buffer) => input.length > 10 && (input[3]! & 1) === 1;

describe('a run', () => {
  it('counts accepted inputs, and finds nothing in a correct parser', async () => {
    const result = await fuzz((input) => input.length > 0);
    expect(result.findings).toEqual([]);
    expect(result.inputs).toBe(4_000);
    expect(result.accepted).toBeGreaterThan(3_000);
    expect(result.accepted).toBeLessThan(4_000);
    expect(await readdir(folder)).toEqual([]);
  });

  it('stores an input that made the parser throw, once', async () => {
    const result = await fuzz((input) => {
      if (isMarked(input)) throw new TypeError(`cannot read byte ${input[3]}`);
      return true;
    });
    expect(result.findings).toHaveLength(1);
    expect(result.findings[0]).toMatchObject({ kind: 'throws' });
    expect(result.findings[0]!.detail).toContain('TypeError: cannot read byte');
    const [[name, input]] = [...new FindingFiles(folder, 'planted').read()] as [[string, Buffer]];
    expect(name).toMatch(/^throws-typeerror-cannot-read-byte.*\.bin$/);
    expect(isMarked(input)).toBe(true);
  });

  it('runs stored inputs before all others', async () => {
    const stored = Buffer.from('stored on another day');
    new FindingFiles(folder, 'planted').write('slow', '', stored);
    const result = await fuzz((input) => {
      if (input.equals(stored)) throw new Error('again');
      return true;
    }, 1);
    expect(result.findings).toMatchObject([{ kind: 'throws' }]);
  });

  it('finds an input that takes more than a millisecond every time', async () => {
    const result = await fuzz((input) => {
      const untilMs = performance.now() + (isMarked(input) ? 3 : 0);
      while (performance.now() < untilMs);
      return true;
    }, 500);
    expect(result.findings).toContainEqual(expect.objectContaining({ kind: 'slow' }));
    expect(result.slowestUs).toBeGreaterThanOrEqual(3_000);
  });

  it('lets an input be slow once', async () => {
    let isFirst = true;
    const result = await fuzz((input) => {
      const untilMs = performance.now() + (isMarked(input) && isFirst ? 50 : 0);
      if (isMarked(input)) isFirst = false;
      while (performance.now() < untilMs);
      return true;
    }, 500);
    expect(result.findings).toEqual([]);
  });

  it('finds an input that makes the parser allocate more than 64 KiB', async () => {
    const result = await fuzz((input) => {
      return isMarked(input) ? new Uint8Array(100_000).length > 0 : true;
    });
    expect(result.findings).toMatchObject([{ kind: 'allocates' }]);
    expect(result.largestBytes).toBeGreaterThanOrEqual(100_000);
  });

  it('finds a parser that retains memory of each input', async () => {
    const retained = new Map<string, number>();
    const result = await fuzz((input) => {
      retained.set(`${retained.size} ${input.toString('latin1')}`, 1);
      return true;
    }, 8_000);
    expect(result.findings).toMatchObject([{ kind: 'grows', file: '' }]);
  });

  it('makes the same inputs from the same seed', async () => {
    const inputs = async () => {
      const seen: string[] = [];
      await fuzz((input) => seen.push(input.toString('latin1')) > 0, 200);
      return new Set(seen);
    };
    expect(await inputs()).toEqual(await inputs());
  });

  it('ends when its seconds are over', async () => {
    const target = { seeds: SEEDS, tokens: [], mutations: BYTE_MUTATIONS, maxBytes: 200 };
    const result = await new FuzzRun({
      target: { ...target, run: () => true },
      files: new FindingFiles(folder, 'planted'),
      inputs: Number.MAX_SAFE_INTEGER,
      seconds: 0.7,
      maxUs: MAX_INPUT_US,
      random: new Random(1),
      guidedInputs: 0,
    }).run();
    expect(result.inputs).toBeGreaterThan(0);
  });
});
