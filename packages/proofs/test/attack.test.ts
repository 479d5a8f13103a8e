import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const TIMEOUT_MS = 120_000;
/** One of each kind, on the container that has more to do with it. */
const ATTACKS = [
  'random-cluster',
  'random-slow',
  'dead-stub',
  'large-edns',
  'any',
  'bomb-queries',
  'bomb-replies',
  'spoofed-replies',
  'tcp-slow',
  'tcp-fragments',
  'tcp-deaf',
  'kubedns-tcp-slow',
];
/** Cores that others use as well: the command itself wants 90 %. */
const IN_TIME_PART = 0.7;
const MIN_GUESSES = 1_000;
/** So many connections each container takes, and so many sockets it asks its servers from. */
const MAX_DESCRIPTORS = 1_000 + 512 + 100;

interface Told {
  readonly name: string;
  readonly did: string;
  readonly accepted?: number;
  readonly guesses?: number;
  readonly under: { readonly sent: number; readonly inTime: number };
  readonly after: { readonly inTime: number };
  readonly containers: readonly {
    readonly peakRssBytes: number;
    readonly memoryLimitBytes: number;
    readonly descriptors: { readonly peak: number };
    readonly counters: string;
  }[];
}

function hasDnsperf(): boolean {
  try {
    execFileSync('which', ['dnsperf']);
    return true;
  } catch {
    return false;
  }
}

function prove(...args: string[]): Promise<{ status: unknown; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, 'attack', ...args], (error, stdout, stderr) => {
      resolve({ status: error?.code ?? 0, stdout, stderr });
    });
  });
}

describe('the command', () => {
  it('refuses an attack that there is none of', async () => {
    const { status, stderr } = await prove('--only=nothing');
    expect(status).toBe(2);
    expect(stderr).toContain('--only=nothing: no attack "nothing"');
  });
});

(hasDnsperf() ? describe : describe.skip)('attacks (skipped without dnsperf)', () => {
  let folder: string;
  let told: ReadonlyMap<string, Told>;
  const of = (name: string) => told.get(name)!;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'attack-test-'));
    const file = join(folder, 'figures.json');
    const { stderr } = await prove(
      `--only=${ATTACKS.join(',')}`,
      '--seconds=0.8',
      '--calm=0.2',
      '--settle=0',
      '--strength=0.5',
      `--json=${file}`,
    );
    const text = await readFile(file, 'utf8').catch(() => {
      throw new Error(`no figures: ${stderr}`);
    });
    const { results } = JSON.parse(text) as { results: { Attacks: readonly Told[] } };
    told = new Map(results.Attacks.map((each) => [each.name, each]));
  }, TIMEOUT_MS);
  afterAll(() => rm(folder, { recursive: true }));

  it.each(ATTACKS)(
    '%s leaves honest clients their answers, and keeps within its limits',
    (name) => {
      const { under, after, containers } = of(name);
      expect(under.sent).toBeGreaterThan(100);
      expect(under.inTime).toBeGreaterThan(IN_TIME_PART);
      expect(after.inTime).toBeGreaterThan(IN_TIME_PART);
      for (const { peakRssBytes, memoryLimitBytes, descriptors, counters } of containers) {
        expect(peakRssBytes).toBeLessThan(memoryLimitBytes);
        expect(descriptors.peak).toBeLessThan(MAX_DESCRIPTORS);
        expect(counters).not.toMatch(/defects|unexpected errors/);
      }
    },
  );

  it('forged replies are never believed', () => {
    expect(of('spoofed-replies').guesses).toBeGreaterThan(MIN_GUESSES);
    expect(of('spoofed-replies').accepted).toBe(0);
  });

  it.each([
    ['random-slow', /overflows/],
    ['dead-stub', /overflows/],
    ['large-edns', /refused messages/],
    ['bomb-queries', /refused messages/],
    ['tcp-slow', /TCP refused/],
    ['kubedns-tcp-slow', /TCP refused/],
  ])('%s is counted', (name, counter) => {
    expect(of(name).containers[0]!.counters).toMatch(counter);
  });
});
