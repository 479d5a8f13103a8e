import { setTimeout as delay } from 'node:timers/promises';
import {
  builtProgram,
  type CommandContext,
  cpuUsage,
  findCores,
  formatValue,
  freePort,
  Kubedns,
  MeasureError,
  type Methods,
  Owned,
  peakRssBytes,
  pinProcess,
  Remote,
  resetPeak,
  rssBytes,
  type RunningProgram,
  usageSince,
} from '@kube-dns/testkit';
import { markerObjects } from '../cluster/changes.js';
import type { ClusterSize } from '../cluster/cluster-plan.js';
import type { ChangeWatcherMethods } from '../dns/change-watcher.js';
import type { Expectation } from '../dns/expectation.js';
import type { ProbeWindow, StallProbeMethods } from '../dns/stall-probe.js';
import { COREDNS, OUR_KUBEDNS, startCluster, type TestbedCluster } from '../load/testbed.js';
import { followingKubedns, PeerProgram } from '../servers/peers.js';

/** What is measured: a server that is started at clusters that grow. */
export interface GrowthOptions {
  /** Numbers of services; each has a slice, and a namespace has a hundred. */
  readonly sizes: readonly number[];
  readonly endpointsPerSlice: number;
  readonly headless: number;
  readonly settleSeconds: number;
  readonly limitSeconds: number;
  readonly node: string;
  readonly nodeFlags: readonly string[];
  readonly kubedns: string;
  readonly kubednsFlags: readonly string[];
  readonly coredns: string | undefined;
}

/** What docs/sizing.md says that such a cluster needs. */
const LARGE_FLAGS = ['--max-objects=200000', `--max-stored-bytes=${192 * 2 ** 20}`];
const LARGE_HEAP_MIB = 416;

const MIB = 2 ** 20;
const MARGIN_MS = 1_000;
const BAR_MS = 50;
/** CPU of a service at the largest size over that at the smallest. */
const LINEAR_BAR = 1.2;

/** How long answers took, from outside. */
interface AnswerTimes {
  readonly longest: number;
  /** 99.9 of 100. */
  readonly p999: number;
  readonly lost: number;
  readonly probeLate: number;
}

/** What one server did at one size. */
interface Row {
  readonly services: number;
  readonly server: string;
  readonly readySeconds: number;
  readonly cpuSeconds: number;
  readonly peakMib: number;
  readonly restMib: number;
  readonly relistSeconds: number;
  readonly relistCpuSeconds: number;
  readonly relistPeakMib: number;
  readonly start: AnswerTimes;
  readonly rest: AnswerTimes;
  readonly relist: AnswerTimes;
}

/** Starts a server on a port, with all threads on a core; resolves when it runs, or later. */
type Start = (
  owned: Owned,
  apiUrl: string,
  port: number,
  core: number | undefined,
) => Promise<RunningProgram>;

/** Measures each size with each server, and reports how the figures grow. */
export async function measureGrowth(
  options: GrowthOptions,
  { report, owned, progress }: CommandContext,
): Promise<void> {
  const cores = findCores();
  if (typeof cores === 'string') report.note(cores);
  const plan = typeof cores === 'string' ? undefined : cores;
  const servers: [string, Start][] = [[OUR_KUBEDNS, startOurs(options)]];
  const { coredns } = options;
  if (coredns !== undefined) servers.push([COREDNS, startCoredns(coredns, options)]);
  const rows: Row[] = [];
  for (const services of options.sizes) {
    const own = owned.add(new Owned());
    const { endpointsPerSlice, headless } = options;
    const size: ClusterSize = { services, slices: services, endpointsPerSlice, headless };
    progress(`filling an API server: ${services} services with a slice each`);
    const cluster = await startCluster(own, size);
    await pinProcess(cluster.remote.pid, plan?.upstream);
    for (const [n, [name, start]] of servers.entries()) {
      progress(`${name} at ${services} services`);
      const turn = { options, marker: n, core: plan?.server, loadCore: plan?.load };
      rows.push({ services, server: name, ...(await measure(cluster, start, turn)) });
    }
    await own.close();
  }
  report.addSection(sectionOf(rows), rows);
  for (const row of rows.filter(({ server }) => server === OUR_KUBEDNS)) {
    for (const when of ['start', 'rest', 'relist'] as const) {
      const name = `${row.services} services, ${when}`;
      report.add(`${name}: longest answer`, row[when].longest, 'ms', BAR_MS);
      report.add(`${name}: without an answer`, row[when].lost, '', 0);
    }
  }
  for (const [server] of servers) {
    const [first, last] = [rows, rows.toReversed()].map((all) =>
      all.find((row) => row.server === server),
    );
    if (first === undefined || last === undefined || first === last) continue;
    const growth = (figure: (row: Row) => number) =>
      figure(last) / last.services / (figure(first) / first.services);
    const bar = server === OUR_KUBEDNS ? LINEAR_BAR : undefined;
    const name = `${server}, ${last.services} over ${first.services} services`;
    report.add(
      `${name}: CPU of a service until ready`,
      growth((row) => row.cpuSeconds),
      '×',
      bar,
    );
    report.add(
      `${name}: CPU of a service in a relist`,
      growth((row) => row.relistCpuSeconds),
      '×',
      bar,
    );
    const kib = ((last.restMib - first.restMib) * 1_024) / (last.services - first.services);
    report.add(`${name}: memory of a service more, at rest`, kib, 'KiB');
  }
  report.note(
    `kubedns has ${LARGE_FLAGS.join(' ')} and --max-old-space-size=${LARGE_HEAP_MIB}; CoreDNS has GOMAXPROCS=1 and no cache. ` +
      'A question is asked every 5 ms from before the start on; the API server and the clients have the other core.',
  );
}

interface Turn {
  readonly options: GrowthOptions;
  /** How often all was listed again before. */
  readonly marker: number;
  readonly core: number | undefined;
  readonly loadCore: number | undefined;
}

async function measure(
  { plan, apiUrl, remote }: TestbedCluster,
  start: Start,
  { options, marker, core, loadCore }: Turn,
): Promise<Omit<Row, 'services' | 'server'>> {
  const owned = new Owned();
  const limitMs = options.limitSeconds * 1_000;
  try {
    const port = await freePort();
    const client = async <T extends Methods<T>>(module: string) => {
      const entry = new URL(`../dns/${module}`, import.meta.url);
      const started = owned.add(new Remote<T>(module, entry));
      await pinProcess(started.pid, loadCore);
      return started;
    };
    const probe = await client<StallProbeMethods>('stall-probe.js#StallProbe');
    const watcher = await client<ChangeWatcherMethods>('change-watcher.js#ChangeWatcher');
    await probe.call('start', port);
    await watcher.call('open', port);
    const served = async (expectations: readonly Expectation[]) => {
      let lastMs = 0;
      for (const expectation of expectations) {
        const atMs = await watcher.call('waitFor', expectation, limitMs);
        if (Number.isNaN(atMs)) throw new MeasureError(`${expectation.name} was not served`);
        lastMs = Math.max(lastMs, atMs);
      }
      return lastMs;
    };
    const look = async () => timesOf(await probe.call('look'));

    const server = await start(owned, apiUrl, port, core);
    const readyMs = await served(markerObjects(plan, marker).expectations);
    const { pid, startedMs } = server;
    const cpu = cpuUsage(pid);
    const peak = peakRssBytes(pid);
    await delay(MARGIN_MS);
    const loading = await look();
    await delay(options.settleSeconds * 1_000);
    const rest = await look();
    const restRss = rssBytes(pid);

    resetPeak(pid);
    const before = cpuUsage(pid);
    const { atMs, expectations } = await remote.call('forceRelist');
    const relistedMs = await served(expectations);
    const relistCpu = usageSince(before, cpuUsage(pid));
    await delay(MARGIN_MS);
    server.check();
    return {
      readySeconds: (readyMs - startedMs) / 1_000,
      cpuSeconds: (cpu.userMs + cpu.systemMs) / 1_000,
      peakMib: peak / MIB,
      restMib: restRss / MIB,
      relistSeconds: (relistedMs - atMs) / 1_000,
      relistCpuSeconds: (relistCpu.userMs + relistCpu.systemMs) / 1_000,
      relistPeakMib: peakRssBytes(pid) / MIB,
      start: loading,
      rest,
      relist: await look(),
    };
  } finally {
    await owned.close();
  }
}

function startOurs(options: GrowthOptions): Start {
  const { node, nodeFlags, kubednsFlags } = options;
  const program = options.kubedns === '' ? builtProgram('kubedns') : options.kubedns;
  return async (owned, apiUrl, dns, core) => {
    const kubedns = await Kubedns.start({
      ...followingKubedns(apiUrl, [...LARGE_FLAGS, ...kubednsFlags], nodeFlags),
      node,
      program,
      ports: { dns },
      through: core === undefined ? [] : ['taskset', '-c', String(core)],
      env: { NODE_OPTIONS: `--max-old-space-size=${LARGE_HEAP_MIB}` },
    });
    return owned.add(kubedns).server;
  };
}

function startCoredns(path: string, { limitSeconds }: GrowthOptions): Start {
  return async (owned, apiUrl, port, core) => {
    const knownName = 'kubernetes.default.svc.cluster.local';
    const start = { apiUrl, knownName, isOnOneCore: true, port, core };
    const limitMs = limitSeconds * 1_000;
    return owned.add(await PeerProgram.start(COREDNS, path, { ...start, limitMs })).server;
  };
}

function timesOf({ answerMs, lost, ownDelayMs }: ProbeWindow): AnswerTimes {
  return { longest: answerMs.max, p999: answerMs.p999, lost, probeLate: ownDelayMs.max };
}

function sectionOf(rows: readonly Row[]) {
  const pair = (...values: readonly number[]) => values.map(formatValue).join(', ');
  return {
    title: 'Clusters that grow',
    header: [
      ...['services', 'server', 'ready, s', 'CPU, s', 'peak, at rest, MiB'],
      ...['relist, s', 'its CPU, s', 'its peak, MiB'],
      ...['start', 'rest', 'relist'].map((when) => `${when}: longest, p99.9, probe late, ms`),
    ],
    rows: rows.map((row) => [
      ...[String(row.services), row.server, pair(row.readySeconds), pair(row.cpuSeconds)],
      ...[pair(row.peakMib, row.restMib), pair(row.relistSeconds)],
      ...[pair(row.relistCpuSeconds), pair(row.relistPeakMib)],
      ...[row.start, row.rest, row.relist].map((times) =>
        pair(times.longest, times.p999, times.probeLate),
      ),
    ]),
  };
}
