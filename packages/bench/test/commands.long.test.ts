import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { endPrograms, findRealDnsmasq, needsPrograms, unless, until } from '@kube-dns/testkit';
import { ClusterPlan } from '../src/cluster/cluster-plan.js';
import { changesOf, togglesOf } from '../src/cluster/changes.js';
import { childrenOf, isRunning, startBench } from './bench-process.js';

const CHANGES = changesOf(
  togglesOf(new ClusterPlan({ services: 1, slices: 1, endpointsPerSlice: 1, headless: 0 })),
);
const TINY = ['--services=20', '--slices=40', '--endpoints=2'];

interface BenchOutput {
  readonly machine: Readonly<Record<string, unknown>>;
  readonly results?: Readonly<Record<string, unknown>>;
  readonly figures: readonly { readonly name: string; readonly value: number | null }[];
}

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bench-test-'));
});
afterEach(async () => {
  await endPrograms('SIGINT');

  await rm(folder, { recursive: true });
});

/** Runs a command to its end; returns its figures by name. */
async function measure(
  ...args: string[]
): Promise<{ output: BenchOutput; figures: Map<string, number> }> {
  const file = join(folder, 'figures.json');
  const bench = startBench([...args, `--json=${file}`]);
  const status = await bench.ended;
  if (status !== 0) throw new Error(`status ${status}: ${bench.stderr}`);
  const output = JSON.parse(await readFile(file, 'utf8')) as BenchOutput;
  const figures = new Map(output.figures.map(({ name, value }) => [name, value ?? NaN]));
  for (const name of figures.keys()) expect(bench.stdout).toContain(name);
  return { output, figures };
}

/** Of a command with its many parts, each with programs of its own, on a loaded machine. */
const LIMIT_MS = 180_000;

describe('the bench', () => {
  it(
    'measures memory, start, stalls and a relist',
    async () => {
      const { output, figures } = await measure(
        'kubedns-scale',
        ...TINY,
        '--settle=0',
        '--rate=200',
      );
      expect(output.machine).toMatchObject({
        cores: expect.any(Number),
        serverNode: process.version,
      });
      for (const figure of ['ready after', 'peak RSS when ready', 'stall while loading, longest']) {
        expect(figures.get(figure)).toBeGreaterThanOrEqual(0);
      }
      // Every resource is listed again, and watched again, in addition to the refused watch.
      expect(figures.get('relist 1, all served after')).toBeGreaterThanOrEqual(0);
      expect(figures.get('relist 1, watches')).toBeGreaterThanOrEqual(3);
      expect(figures.get('queries in relist 1')).toBeGreaterThan(0);
      expect(figures.get('wrong answers in relist 1')).toBe(0);
      expect(figures.has('missing answers in relist 1')).toBe(true);
    },
    LIMIT_MS,
  );

  it(
    'measures how the figures of a cluster grow',
    async () => {
      const few = ['--sizes=20,40', '--endpoints=2', '--settle=0'];
      const { output, figures } = await measure('kubedns-scale', ...few);
      expect(output.results?.['Clusters that grow']).toMatchObject(
        [20, 40].map((services) => ({ services, server: 'our kubedns', rest: { lost: 0 } })),
      );
      for (const when of ['start', 'rest', 'relist']) {
        expect(figures.get(`40 services, ${when}: without an answer`)).toBe(0);
        expect(figures.has(`40 services, ${when}: longest answer`)).toBe(true);
      }
      const growth = 'our kubedns, 40 over 20 services: CPU of a service until ready';
      expect(figures.get(growth)).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  it(
    'times changes, one by one and under a stream of events',
    async () => {
      const few = ['--changes=6', '--pause=0', '--seconds=1', '--events=100'];
      const { figures } = await measure('kubedns-changes', ...TINY, ...few, '--sample-every=50');
      for (const kind of ['endpoint', 'port', 'new service']) {
        expect(figures.get(`change of ${kind}, longest`)).toBeGreaterThan(0);
      }
      expect(figures.get('changes never served')).toBe(0);
      expect(figures.get('events written')).toBeGreaterThan(0);
      expect(figures.get('lag at 0-1 s, median')).toBeGreaterThan(0);
      expect(figures.get('changes never served meanwhile')).toBe(0);
    },
    LIMIT_MS,
  );

  it(
    'times changes through the cache of the pod',
    async () => {
      const few = ['--services=20', '--slices=40', '--seconds=2', '--events=100', '--pause=10'];
      const { figures } = await measure('pod-changes', ...few, '--alone');
      for (const change of CHANGES) {
        expect(figures.has(`${change}, p50`)).toBe(true);
        expect(figures.get(`${change}, p99`)).not.toBeNaN();
      }
      expect(figures.get('changes never seen')).toBe(0);
      expect(figures.get('events meanwhile')).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  const queries = unless(needsPrograms('dnsperf'), it);
  queries(
    'counts lines of a query log, all of them (skipped without dnsperf)',
    async () => {
      const few = ['--runs=1', '--seconds=0.5', '--rate=2000', '--names=10'];
      const { figures } = await measure('query-log', ...few);
      expect(figures.get('lines')).toBeGreaterThan(0);
      expect(figures.get('lines that are no JSON')).toBe(0);
      expect(figures.get('answers without a line that is counted')).toBe(0);
    },
    LIMIT_MS,
  );

  queries(
    'counts queries beside the real dnsmasq (skipped without dnsperf)',
    async () => {
      const few = ['--services=20', '--slices=0', '--rounds=1', '--seconds=1', '--mixes=A'];
      const { figures } = await measure('kubedns-queries', ...few);
      const servers = findRealDnsmasq() === undefined ? ['kubedns'] : ['kubedns', 'dnsmasq'];
      for (const server of servers) {
        expect(figures.get(`A, ${server}, median`)).toBeGreaterThanOrEqual(0);
        expect(figures.get(`A, ${server}, wrong rcode`)).toBe(0);
        expect(figures.has(`A, ${server}, CPU × echo, median`)).toBe(true);
      }
      expect(figures.has('A, kubedns/dnsmasq, median')).toBe(servers.length > 1);
    },
    LIMIT_MS,
  );

  it(
    'ends everything that it has started when it is interrupted',
    async () => {
      const bench = startBench(['kubedns-scale', ...TINY, '--settle=600']);
      await bench.waitForLine(/ready; waiting/);
      const children = childrenOf(bench);
      expect(children.length).toBeGreaterThanOrEqual(3);
      bench.signal('SIGINT');
      expect(await bench.ended).toBe(130);
      await until('the end of its children', () => !children.some(isRunning));
    },
    LIMIT_MS,
  );

  it('says how a container ended that does not start', async () => {
    const bench = startBench(['kubedns-scale', ...TINY, '--kubedns-flags=--nonsense']);
    expect(await bench.ended).toBe(1);
    expect(bench.stderr).toMatch(/kubedns ended with \d+: .*nonsense/);
  });

  it(
    'measures what honest clients get when a server is asked too much',
    async () => {
      const { figures } = await measure(
        'overload',
        ...['--runs=1', '--seconds=2', '--only=one', '--servers=dnsmasq'],
      );
      expect(figures.get('one client: our dnsmasq: honest clients answered')).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );

  it(
    'measures what many subscribers get, and that they come back',
    async () => {
      const { figures } = await measure(
        'fan-out',
        ...['--runs=1', '--seconds=1', '--services=500'],
        ...['--subscribers=60', '--changes=100', '--few=20', '--few-changes=50'],
      );
      for (const part of ['20 subscribers', '60 subscribers']) {
        expect(figures.get(`${part}: subscribers at the end`)).toBe(Number.parseInt(part));
        // On a loaded machine some come later than is waited for.
        expect(figures.get(`${part}: announced`)).toBeGreaterThan(50);
        expect(figures.get(`${part}: freshness p99`)).toBeGreaterThan(0);
        expect(figures.get(`${part}: dnsmasq`)).toBeGreaterThan(0);
      }
      const herd = '60 subscribers come back';
      expect(figures.get(`${herd}: subscribers again`)).toBe(60);
      expect(figures.get(`${herd}: without an answer`)).toBe(0);
      expect(figures.get(`${herd}: with a wrong one`)).toBe(0);
      expect(figures.get(`${herd}: the last answer`)).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );
});
