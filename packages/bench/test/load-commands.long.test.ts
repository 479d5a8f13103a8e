import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  endPrograms,
  findProgram,
  findRealDnsmasq,
  needsPrograms,
  unless,
} from '@kube-dns/testkit';
import type { SeriesResult } from '../src/load/scores.js';
import { startBench } from './bench-process.js';

const SHORT = [
  '--runs=1',
  '--seconds=0.15',
  '--latency-seconds=0.1',
  '--single-seconds=0.1',
  '--warm-up=0',
  '--idle-seconds=0',
  '--rate=500',
  '--names=50',
  // Other tests run at the same time.
  '--polite',
];
const TIMEOUT_MS = 180_000;

/** Also of the open loop, and of one question at a time. */
const FIGURES = ['cpuUs', 'answerBytes', 'singleUs', 'p50Ms', 'p999Ms', 'openAnsweredPercent'];
/** Of each kind of server and of question one. */
const RUNS = [
  {
    names: ['hits', 'misses-outside', 'dot'],
    options: ['--alone', '--latency-seconds=0'],
  },
  { names: ['misses-zone', 'headless'], options: [] },
];

/** The workload that a table belongs to. */
function nameOf(title: string): string {
  return title.split(',')[0]!;
}

/** Who takes part, beside its peers and the echo. */
const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  hits: ['our dnsmasq'],
  'misses-zone': ['our dnsmasq'],
  'misses-outside': ['our dnsmasq', 'batch relay'],
  headless: ['our kubedns'],
  dot: ['our dnsmasq'],
};

interface Score {
  readonly subject: string;
  readonly metrics: Readonly<Record<string, number | null>>;
}

interface BenchOutput {
  readonly results: Readonly<Record<string, readonly Score[]>>;
  readonly figures: readonly { readonly name: string; readonly value: number | null }[];
  readonly notes: readonly string[];
}

const loads = unless(needsPrograms('dnsperf'), it);
const peer = findRealDnsmasq() === undefined ? [] : ['dnsmasq'];

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bench-test-'));
});
afterEach(async () => {
  await endPrograms('SIGINT');

  await rm(folder, { recursive: true });
});

/** A folder for the PATH with these programs and no others. */
async function folderWith(...programs: readonly string[]): Promise<string> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  for (const program of programs) await symlink(findProgram(program)!, join(bin, program));
  return bin;
}

async function measure(args: readonly string[], path?: string): Promise<BenchOutput> {
  const file = join(folder, 'figures.json');
  const bench = startBench([...args, `--json=${file}`], path);
  const status = await bench.ended;
  if (status !== 0) throw new Error(`status ${status}: ${bench.stderr}`);
  const output = JSON.parse(await readFile(file, 'utf8')) as BenchOutput;
  for (const { name } of output.figures) expect(bench.stdout).toContain(name);
  for (const title of Object.keys(output.results)) expect(bench.stdout).toContain(`## ${title}\n`);
  return output;
}

describe('the load on both containers (skipped without dnsperf)', () => {
  loads.each(RUNS)(
    'has figures of $names',
    async ({ names, options }) => {
      const { results } = await measure(['dns', `--only=${names.join(',')}`, ...SHORT, ...options]);
      const measured = Object.keys(results).map((title) => nameOf(title));
      expect(new Set(measured)).toEqual(new Set(names));
      for (const [title, scores] of Object.entries(results)) {
        const name = nameOf(title);
        const echo = title.endsWith('TCP') ? [] : [expect.stringMatching(/ echo$/)];
        const subjects = scores.map(({ subject }) => subject);
        const peers = options.includes('--alone') ? [] : peer;
        expect(subjects).toEqual([...SUBJECTS[name]!, ...peers, ...echo]);
        for (const { subject, metrics } of scores) {
          const isEcho = subject.endsWith(' echo');
          expect(Object.keys(metrics)).toEqual(expect.arrayContaining(FIGURES));
          expect(metrics.queriesPerSecond).toBeGreaterThanOrEqual(0);
          expect(metrics.wrong).toBe(isEcho ? null : 0);
          // What an answer weighs tells whether it was cut; a server that got no core has none.
          const { answerBytes } = metrics;
          if (isEcho || answerBytes === null) continue;
          const isCut = title.endsWith('512');
          expect(answerBytes).toBeGreaterThan(name === 'headless' && !isCut ? 50 * 16 : 40);
          if (isCut) expect(answerBytes).toBeLessThanOrEqual(512);
        }
      }
    },
    TIMEOUT_MS,
  );

  /** The figures of the parts; undefined where this machine has no control groups for them. */
  async function measureParts(args: readonly string[]) {
    const { notes, results } = await measure(['dns', ...args, '--alone', ...SHORT]);
    if (notes.some((note) => /^(quota|memory): .* was measured/.test(note))) return undefined;
    const measured = results as unknown as Record<string, Record<string, SeriesResult>>;
    return (part: string, figure: string) => measured[part]![figure]!.values[0];
  }

  loads(
    'has figures under a quota, or says why not',
    async () => {
      const first = await measureParts(['--only=quota', '--quotas=900']);
      for (const server of first === undefined ? [] : ['our dnsmasq', 'our kubedns']) {
        for (const figure of ['first answer after', 'CPU until then', 'hits']) {
          expect(first!('quota', `${server}, 900m: ${figure}`)).toBeGreaterThanOrEqual(0);
        }
      }
    },
    TIMEOUT_MS,
  );

  loads(
    'continues without taskset and without the real dnsmasq, and prints a note',
    async () => {
      const bin = await folderWith('dnsperf');
      const output = await measure(['dns', '--only=eighty-twenty', '--alone', ...SHORT], bin);
      expect(output.results['eighty-twenty']).toMatchObject([{ subject: 'our dnsmasq' }, {}]);
      expect(output.figures).toEqual([]);
      expect(output.notes).toContainEqual(expect.stringMatching(/^There is no taskset/));
      expect(output.notes).toContainEqual(expect.stringMatching(/^Without the real dnsmasq/));
    },
    TIMEOUT_MS,
  );

  loads(
    'starts a peer that a path is given for',
    async () => {
      // A kube-dns that takes the flags of the original: our own.
      const fake = join(folder, 'kube-dns');
      const kubedns = new URL('../../kubedns/bin/kubedns.cjs', import.meta.url).pathname;
      const isForeign = 'env | grep -q MALLOC_ && exit 1';
      await writeFile(fake, `#!/bin/sh\n${isForeign}\nexec ${process.execPath} ${kubedns} "$@"\n`, {
        mode: 0o755,
      });
      const args = [
        'dns',
        '--only=kubedns-services',
        '--alone',
        `--kube-dns=${fake}`,
        ...SHORT,
        '--latency-seconds=0',
      ];
      const { results } = await measure(args);
      const subjects = results['kubedns-services, A']!.map(({ subject }) => subject);
      expect(subjects.slice(0, 2)).toEqual(['our kubedns', 'kube-dns']);
    },
    TIMEOUT_MS,
  );
});

describe('the promises of dnsmasq (skipped without dnsperf)', () => {
  loads(
    'are measured and judged',
    async () => {
      const { figures } = await measure([
        'dnsmasq-load',
        '--runs=1',
        '--seconds=0.3',
        '--names=1000',
        '--alone',
      ]);
      const names = figures.map(({ name }) => name);
      expect(names).toEqual([
        'our dnsmasq, 1500 held: unanswered',
        'our dnsmasq, 1500 held: refused or failed',
        'our dnsmasq, 1500 at a time: unanswered',
        'our dnsmasq, 1500 at a time: refused or failed',
        'our dnsmasq, 1500 held after TCP clients: unanswered',
        'our dnsmasq, 1500 held after TCP clients: refused or failed',
        '500 idle TCP clients: still connected after the load',
        '500 idle TCP clients: memory',
        'UDP, beside them / without',
        'CPU/query, beside them / without',
        'RSS with 10000 cached names',
        'the same, after a load of hits',
        'names that had to be asked for again',
        'memory of a cached name',
      ]);
      const value = (name: string) => figures.find((figure) => figure.name === name)!.value;
      expect(value('500 idle TCP clients: still connected after the load')).toBe(500);
    },
    TIMEOUT_MS,
  );
});

describe('our node-cache (skipped without dnsperf)', () => {
  loads(
    'is measured and judged alone, too',
    async () => {
      const short = ['--runs=1', '--seconds=0.3', '--warm-up=0', '--edits=1'];
      const few = ['--names=50', '--misses=500', '--cached=100'];
      const output = await measure(['node-cache', '--alone', ...short, ...few]);
      for (const title of ['hits', 'misses over UDP', 'misses over TCP']) {
        const [score] = output.results[title] ?? [];
        expect(score?.metrics.queriesPerSecond).toBeGreaterThanOrEqual(0);
        expect(score?.metrics.wrong).toBe(0);
      }
      const names = output.figures.map(({ name }) => name);
      const limited = 'our node-cache, hits with 50m CPU';
      const isLeftOut = output.notes.some((note) => note.startsWith('The limit of 50m CPU'));
      expect(names).toEqual([
        'our node-cache, from edit to effect',
        ...(isLeftOut ? [] : [limited]),
      ]);
      expect(output.figures[0]!.value).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});

describe('ours beside the strongest (skipped without dnsperf and unbound)', () => {
  unless(needsPrograms('dnsperf', 'unbound'), it)(
    'is measured with two servers, and has a page',
    async () => {
      const short = ['--runs=1', '--seconds=0.3', '--part-seconds=0.2', '--warm-up=0', '--polite'];
      const few = ['--names=50', '--servers=ours,unbound,coredns'];
      const only = '--only=hits,hits-tcp-single,dot';
      const out = join(folder, 'page');
      const output = await measure(['strongest', only, ...few, ...short, `--out=${out}`]);
      const parts = (name: string) => [
        name,
        `${name}, 50 % of its rate`,
        `${name}, 100 % of its rate`,
      ];
      const titles = [...parts('hits'), 'hits-tcp-single', ...parts('dot')];
      expect(Object.keys(output.results)).toEqual(titles);
      for (const [title, scores] of Object.entries(output.results)) {
        const ours = title.startsWith('dot') ? ['our dnsmasq'] : ['our dnsmasq', 'our node-cache'];
        expect(scores.map(({ subject }) => subject)).toEqual([...ours, 'unbound']);
        for (const { metrics } of scores) {
          expect(metrics.queriesPerSecond).toBeGreaterThan(0);
          expect(metrics.wrong).toBe(0);
          if (title.endsWith('rate')) expect(metrics.p50Ms).toBeGreaterThan(0);
        }
      }
      expect(output.notes).toContain('Not here: coredns (--coredns=PATH).');
      const page = await readFile(join(out, 'strongest.md'), 'utf8');
      for (const title of titles) expect(page).toContain(`## ${title}\n`);
      expect(page).toContain('  num-threads: 1\n');
      // The same page of what is kept.
      const again = join(folder, 'again');
      const kept = join(folder, 'figures.json');
      const bench = startBench(['strongest', `--from=${kept}`, `--out=${again}`]);
      expect(await bench.ended).toBe(0);
      const cpu = 'strongest-cpu.svg';
      expect(await readFile(join(again, cpu), 'utf8')).toBe(await readFile(join(out, cpu), 'utf8'));
    },
    TIMEOUT_MS,
  );
});
