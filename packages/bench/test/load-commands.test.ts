import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  endPrograms,
  findProgram,
  findRealDnsmasq,
  holdsOnce,
  needsPrograms,
  unless,
} from '@kube-dns/testkit';
import { CONTAINERS } from '../src/memory/container-name.js';
import type { SeriesResult } from '../src/load/series.js';
import { WORKLOADS } from '../src/workloads/workload-table.js';
import { startBench } from './bench-process.js';
import { BESIDE_DNSMASQ, SUBJECTS, TRIALS, WITH_LATENCIES } from './workload-expectations.js';

const SECONDS = 0.15;
const SHORT = [
  '--runs=1',
  `--seconds=${SECONDS}`,
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
  const here = WORKLOADS.filter(({ skipReason }) => skipReason?.() === undefined);

  loads.each(here.map(({ name }) => name))(
    'has figures of %s',
    async (name) => {
      // With its arguments a dnsmasq that knows nothing yet refuses some of what is asked at the same time.
      const warmUp = name === 'pod' ? ['--warm-up=0.1', '--warm-up-answers=1'] : [];
      const isAlone = !BESIDE_DNSMASQ.includes(name);
      const hasLatencies = WITH_LATENCIES.includes(name);
      const areRight: (readonly [string, boolean])[] = [];
      // Longer where it was too short: a server that got less than a tick of CPU time, or no question.
      await holdsOnce(async (attempt) => {
        const { results } = await measure([
          ...['dns', `--only=${name}`, ...SHORT, ...warmUp, `--seconds=${SECONDS * attempt ** 2}`],
          ...(isAlone ? ['--alone'] : []),
          ...(hasLatencies ? [] : ['--latency-seconds=0']),
        ]);
        expect(Object.keys(results).length).toBe(TRIALS[name] ?? 1);
        for (const [title, scores] of Object.entries(results)) {
          const echo = title.endsWith('TCP') ? [] : [expect.stringMatching(/ echo$/)];
          const subjects = scores.map(({ subject }) => subject);
          const peers = isAlone ? [] : peer;
          expect(subjects).toEqual([...SUBJECTS[name]!, ...peers, ...echo]);
          for (const { subject, metrics } of scores) {
            const isEcho = subject.endsWith(' echo');
            expect(metrics.queriesPerSecond).toBeGreaterThan(0);
            areRight.push([subject, metrics.wrong === (isEcho ? null : 0)]);
            if (hasLatencies) {
              expect(metrics.singleUs).toBeGreaterThan(0);
              expect(metrics.p50Ms).toBeGreaterThan(0);
              expect(metrics.p999Ms).toBeGreaterThanOrEqual(metrics.p50Ms!);
              expect(metrics.openAnsweredPercent).toBeGreaterThan(0);
            }
            if (name.startsWith('misses') && !isEcho) expect(metrics.behindUs).toBeGreaterThan(0);
            if (isEcho) continue;
            expect(metrics.answerBytes).toBeGreaterThan(40);
            // What an answer weighs tells whether it was cut.
            if (title.endsWith('512')) expect(metrics.answerBytes).toBeLessThanOrEqual(512);
            else if (name === 'headless') expect(metrics.answerBytes).toBeGreaterThan(50 * 16);
          }
        }
      });
      expect(areRight.filter(([, isRight]) => !isRight)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  /** The figures of the parts; undefined where this machine has no control groups for them. */
  async function measureParts(args: readonly string[], path?: string) {
    const { figures, notes, results } = await measure(['dns', ...args, '--alone', ...SHORT], path);
    if (notes.some((note) => /^(quota|memory): .* was measured/.test(note))) return undefined;
    const measured = results as unknown as Record<string, Record<string, SeriesResult>>;
    const first = (part: string, figure: string) => measured[part]![figure]!.values[0];
    const value = (name: string) => figures.find((figure) => figure.name === name)!.value!;
    return { first, value, notes };
  }

  loads(
    'has figures under a quota, or says why not',
    async () => {
      const parts = await measureParts(['--only=quota', '--quotas=900']);
      for (const server of parts === undefined ? [] : ['our dnsmasq', 'our kubedns']) {
        expect(parts!.first('quota', `${server}, 900m: first answer after`)).toBeGreaterThan(0);
        expect(parts!.first('quota', `${server}, 900m: CPU until then`)).toBeGreaterThan(0);
        expect(parts!.first('quota', `${server}, 900m: hits`)).toBeGreaterThan(0);
      }
    },
    TIMEOUT_MS,
  );

  loads(
    'has figures of memory, without podman in control groups, or says why not',
    async () => {
      const bin = await folderWith('dnsperf', 'sh', 'sync', 'dd');
      const parts = await measureParts(['--only=memory'], bin);
      if (parts === undefined) return;
      const { first, value, notes } = parts;
      expect(notes).toContainEqual(
        expect.stringMatching(/^memory: .* not under podman: it needs /),
      );
      for (const name of CONTAINERS) {
        const idle = value(`${name}, idle: anonymous`);
        expect(idle).toBeGreaterThan(5);
        expect(value('pod, idle: anonymous')).toBeGreaterThan(idle);
        // Its own Node, which is not in memory, is charged to it.
        expect(first('memory', `${name}, cold start: peak`)).toBeGreaterThan(idle);
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
      expect(value('RSS with 10000 cached names')).toBeGreaterThan(20);
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
        expect(score?.metrics.queriesPerSecond).toBeGreaterThan(0);
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

describe('a load command', () => {
  it.each([
    [['dns', '--help'], 0, /^Usage: bench dns .*--only=NAME,… +workloads.*--kube-dns=PATH/s],
    [['dnsmasq-load', '--help'], 0, /--runs=N +runs of each part \(default 5\)/],
    [['dnsmasq-load', '--only=x'], 2, /unknown flag --only; see bench dnsmasq-load --help\n$/],
  ])('answers %j with status %d', async (args, status, text) => {
    const bench = startBench(args);
    expect(await bench.ended).toBe(status);
    expect(status === 0 ? bench.stdout : bench.stderr).toMatch(text);
  });

  it('reports that there is no dnsperf', async () => {
    const bench = startBench(['dns'], folder);
    expect(await bench.ended).toBe(1);
    expect(bench.stderr).toContain('bench: there is no dnsperf on this machine');
  });
});
