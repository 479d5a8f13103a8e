import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Random } from '../random.js';
import { FindingFiles } from './finding.js';
import { FuzzRun, type FuzzRunOptions, MAX_INPUT_US } from './fuzz-run.js';
import type { FuzzTarget } from './fuzz-target.js';
import { BYTE_MUTATIONS } from './mutations.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fuzz-run-'));
});
afterEach(() => rm(folder, { recursive: true }));

const SEEDS = ['first', 'second'].map((text) => Buffer.from(text));

function fuzz(run: FuzzTarget['run'], inputs = 4_000, more: Partial<FuzzRunOptions> = {}) {
  const target = { seeds: SEEDS, tokens: [], mutations: BYTE_MUTATIONS, maxBytes: 200, run };
  const files = new FindingFiles(folder, 'planted');
  const limits = { guidedInputs: 0, seconds: 0, maxUs: MAX_INPUT_US, isMeasured: false };
  const all = { target, files, random: new Random(1), inputs };
  return new FuzzRun(Object.assign(all, limits, more)).run();
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
    const result = await measured((input) => (isMarked(input) ? { ms: 3 } : {}));
    expect(result.findings).toContainEqual(expect.objectContaining({ kind: 'slow' }));
    expect(result.slowestUs).toBe(3_000);
  });

  it('lets an input be slow once', async () => {
    let isFirst = true;
    const result = await measured((input) => {
      const isSlow = isMarked(input) && isFirst;
      if (isSlow) isFirst = false;
      return isSlow ? { ms: 50 } : {};
    });
    expect(isFirst).toBe(false);
    expect(result.findings).toEqual([]);
  });

  it('finds an input that makes the parser allocate more than 64 KiB', async () => {
    const result = await measured((input) => (isMarked(input) ? { bytes: 100_000 } : {}));
    expect(result.findings).toMatchObject([{ kind: 'allocates' }]);
    expect(result.largestBytes).toBe(100_000);
  });

  it('finds a parser that retains memory of each input', async () => {
    const result = await measured(() => ({ retained: 200 }), 4_000);
    expect(result.findings).toMatchObject([{ kind: 'grows', file: '' }]);
  });

  it('measures nothing where it shall not', async () => {
    const cost = () => ({ ms: 3, bytes: 100_000, retained: 1_000 });
    const result = await measured(cost, 4_000, { isMeasured: false });
    expect(result).toMatchObject({ inputs: 4_000, findings: [], slowestUs: Number.NaN });
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
    const limits = { isMeasured: false, seconds: 0.7 };
    const result = await measured(() => ({ ms: 1 }), Number.MAX_SAFE_INTEGER, limits);
    expect(result.inputs).toBeGreaterThan(500);
    expect(result.inputs).toBeLessThan(1_000);
  });
});

/** What an input costs. */
interface Cost {
  readonly ms?: number;
  readonly bytes?: number;
  readonly retained?: number;
}

/** A run by meters of the test: each input costs what it should. */
function measured(
  costOf: (input: Buffer) => Cost,
  inputs = 500,
  limits: Partial<FuzzRunOptions> = {},
) {
  const used = { ms: 0, bytes: 0, retained: 0 };
  let sinceBytes = 0;
  const meters = {
    nowMs: () => used.ms,
    heap: () => {
      return { set: () => void (sinceBytes = used.bytes), read: () => used.bytes - sinceBytes };
    },
    liveBytes: () => used.retained,
  };
  const run = (input: Buffer) => {
    const { ms = 0, bytes = 0, retained = 0 } = costOf(input);
    used.ms += ms;
    used.bytes += bytes;
    used.retained += retained;
    return true;
  };
  return fuzz(run, inputs, Object.assign({ meters, isMeasured: true }, limits));
}
