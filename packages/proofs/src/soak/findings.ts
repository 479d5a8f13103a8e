import { readFileSync } from 'node:fs';
import { errorText } from '@kube-dns/base';
import {
  type Bar,
  cpuUsage,
  MeasureError,
  median,
  type MetricPage,
  monotonicMs,
  type Remote,
  type Report,
  rssBytes,
} from '@kube-dns/testkit';
import {
  CONTAINER_NAMES,
  type ContainerName,
  type ManifestPod,
  resourcePath,
} from '../fixtures/pod-containers.js';
import { openDescriptors } from '../fixtures/process-watch.js';
import { quietBar } from '../program-options.js';
import type { AnswerFigures, CheckingClientMethods } from './checking-client.js';
import type { SoakClusterMethods } from './soak-cluster.js';

/** A figure at a moment. */
interface Point {
  readonly atSeconds: number;
  readonly value: number;
}

/** The points of a part of the time that they cover, 0 its beginning and 1 its end. */
function partOf(points: readonly Point[], from: number, to: number): readonly Point[] {
  const first = points[0]?.atSeconds ?? 0;
  const length = (points.at(-1)?.atSeconds ?? 0) - first;
  return points.filter(({ atSeconds }) => {
    const at = atSeconds - first;
    return at >= from * length && at <= to * length;
  });
}

/** The median of a part of the time. */
export function medianOf(points: readonly Point[], from: number, to: number): number {
  return median(partOf(points, from, to).map(({ value }) => value));
}

const QUARTER = 0.25;

/**
 * By what part a figure has grown: the median of the last quarter of the time beside that of the first, so
 * that no single garbage collection decides. Negative where the value has fallen.
 */
export function growth(points: readonly Point[]): number {
  return medianOf(points, 1 - QUARTER, 1) / medianOf(points, 0, QUARTER) - 1;
}

/** The same as a number of things more. */
export function increase(points: readonly Point[]): number {
  return medianOf(points, 1 - QUARTER, 1) - medianOf(points, 0, QUARTER);
}

const THIRD = 1 / 3;

/** The median of the last third of the time beside that of the second. */
export function lastThird(points: readonly Point[]): number {
  return medianOf(points, 2 * THIRD, 1) / medianOf(points, THIRD, 2 * THIRD);
}

/** What a container uses at one moment. */
export interface ContainerSample {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly descriptors: number;
  /** Timers and handles that keep its loop alive, see resource-watch.ts. */
  readonly resources: number;
  /** CPU time of all threads since its start. */
  readonly cpuMs: number;
  /** Uncaught errors, and questions that a defect left without an answer. */
  readonly unhandled: number;
}

/** Everything that is looked at, at one moment. */
export interface Sample {
  /** Seconds since the load began. */
  readonly atSeconds: number;
  /** The time since the last look, which the answers belong to. */
  readonly seconds: number;
  readonly containers: Readonly<Record<ContainerName, ContainerSample>>;
  readonly answers: AnswerFigures;
  readonly cacheRecords: number;
  readonly cacheMaxRecords: number;
  readonly cacheEvictions: number;
  /** Whole lists of kubedns after the first ones. */
  readonly relists: number;
  readonly configGeneration: number;
  /** Changes of services so far, and how late one was at the most. */
  readonly changes: number;
  readonly changeMaxLateMs: number;
  /** Pages of metrics that did not come within two seconds, so far. */
  readonly scrapeFailures: number;
}

/** The limits for a run. */
interface SoakBars {
  /** Percent of RSS after the warm-up. */
  readonly rssGrowthPercent: number;
  /** p99 of the last third of the run beside the second. */
  readonly p99Ratio: number;
  /** Part of the questions without an answer, in percent. */
  readonly lostPercent: number;
  /** The machine has other work: nothing of time and memory is judged, nor what grows. */
  readonly busy: boolean;
}

const MIB = 2 ** 20;
/** Sockets of one server come and go: a leak is more than this, however short the run. */
const MORE_DESCRIPTORS = 8;
const MORE_RESOURCES = 8;
/** A change applied later than this makes right answers of kubedns look wrong. */
const MAX_LATE_MS = 1_000;
const MS = 1_000;

function pointsOf(samples: readonly Sample[], value: (sample: Sample) => number): readonly Point[] {
  return samples.map((sample) => ({ atSeconds: sample.atSeconds, value: value(sample) }));
}

function totalOf(samples: readonly Sample[], value: (sample: Sample) => number): number {
  return samples.reduce((sum, sample) => sum + value(sample), 0);
}

function maxOf(samples: readonly Sample[], value: (sample: Sample) => number): number {
  return samples.reduce((max, sample) => Math.max(max, value(sample)), 0);
}

/** Compares a run with its bars. Samples before `warmUpSeconds` count for answers only. */
export function addFindings(
  report: Pick<Report, 'add'>,
  samples: readonly Sample[],
  warmUpSeconds: number,
  bars: SoakBars,
): void {
  const warm = samples.filter(({ atSeconds }) => atSeconds >= warmUpSeconds);
  addAnswers(report, samples, warm, bars);
  for (const name of CONTAINER_NAMES) {
    const of = (value: (container: ContainerSample) => number) =>
      pointsOf(warm, ({ containers }) => value(containers[name]));
    const rss = of(({ rssBytes }) => rssBytes / MIB);
    const cpuMs = of((container) => container.cpuMs);
    const elapsedMs = ((cpuMs.at(-1)?.atSeconds ?? 0) - (cpuMs[0]?.atSeconds ?? 0)) * MS;
    const cpu = ((cpuMs.at(-1)?.value ?? 0) - (cpuMs[0]?.value ?? 0)) / elapsedMs;
    const add = (what: string, value: number, unit: string, bar?: number) =>
      report.add(`${name}: ${what}`, value, unit, bar);
    const quiet = (bar: number) => quietBar(bars, bar);
    add('RSS, median', median(rss.map(({ value }) => value)), 'MiB');
    add('RSS, growth', growth(rss) * 100, '%', quiet(bars.rssGrowthPercent));
    add('heap, growth', growth(of(({ heapBytes }) => heapBytes)) * 100, '%');
    add(
      'more descriptors',
      increase(of(({ descriptors }) => descriptors)),
      '',
      quiet(MORE_DESCRIPTORS),
    );
    const resources = of((container) => container.resources);
    add('more timers and handles', increase(resources), '', quiet(MORE_RESOURCES));
    add('unhandled errors', samples.at(-1)?.containers[name].unhandled ?? Number.NaN, '', 0);
    add('CPU', cpu * 100, '% of a core');
  }
}

function addAnswers(
  report: Pick<Report, 'add'>,
  samples: readonly Sample[],
  warm: readonly Sample[],
  { p99Ratio, lostPercent, busy }: SoakBars,
): void {
  const add = (name: string, value: number, unit: string, bar?: Bar | number) =>
    report.add(name, value, unit, bar);
  const asked = totalOf(samples, ({ answers }) => answers.asked);
  const lost = totalOf(samples, ({ answers }) => answers.lost);
  const p99 = pointsOf(warm, ({ answers }) => answers.p99Ms);
  const last = samples.at(-1);
  add('questions', asked, '');
  add(
    'questions a second',
    median(warm.map(({ answers, seconds }) => answers.asked / seconds)),
    '/s',
  );
  add(
    'right answers',
    totalOf(samples, ({ answers }) => answers.right),
    '',
  );
  add(
    'wrong answers',
    totalOf(samples, ({ answers }) => answers.wrong),
    '',
    0,
  );
  add(
    'SERVFAIL',
    totalOf(samples, ({ answers }) => answers.servfails),
    '',
    quietBar({ busy }, 0),
  );
  add('without an answer', (lost / asked) * 100, '%', quietBar({ busy }, lostPercent));
  add('p50, median of all looks', median(warm.map(({ answers }) => answers.p50Ms)), 'ms');
  add('p99, median of all looks', median(p99.map(({ value }) => value)), 'ms');
  const late = warm.map(({ answers }) => answers.ownLateP99Ms);
  add('p99 of how late the clients ran', median(late), 'ms');
  const thirds = lastThird(p99);
  // A run of a few seconds has no looks in one of them.
  add(
    'p99, last third / second third',
    thirds,
    '×',
    Number.isNaN(thirds) ? undefined : quietBar({ busy }, p99Ratio),
  );
  add(
    'records in the cache, at most',
    maxOf(samples, ({ cacheRecords }) => cacheRecords),
    '',
    {
      atMost: last?.cacheMaxRecords ?? Number.NaN,
    },
  );
  add('taken out of the cache for room', last?.cacheEvictions ?? Number.NaN, '');
  add('changes of services', last?.changes ?? Number.NaN, '');
  add(
    'latest change',
    maxOf(samples, ({ changeMaxLateMs }) => changeMaxLateMs),
    'ms',
    quietBar({ busy }, MAX_LATE_MS),
  );
  add('metrics not served within 2 s', last?.scrapeFailures ?? Number.NaN, '');
  add('configurations', last?.configGeneration ?? Number.NaN, '');
  add('whole lists after the first', last?.relists ?? Number.NaN, '');
}

/** What a sampler looks at. */
interface Sampled {
  readonly pod: ManifestPod;
  readonly resourceFolder: string;
  readonly asker: Remote<CheckingClientMethods>;
  readonly cluster: Remote<SoakClusterMethods>;
}

/** Counters of what should never happen, by container. */
const UNHANDLED: Readonly<Record<ContainerName, readonly string[]>> = {
  kubedns: ['kubedns_unexpected_errors_total', 'kubedns_answer_failures_total'],
  dnsmasq: ['dnsmasq_unexpected_errors_total', 'dnsmasq_answer_failures_total'],
  sidecar: ['kubedns_sidecar_unexpected_errors_total'],
};

const SCRAPE_TRIES = 3;

/** Looks at the containers, the load and the cluster again and again. */
export class Sampler {
  readonly #of: Sampled;
  readonly #startMs = monotonicMs();
  #lastMs = this.#startMs;
  /** Pages of metrics that did not come in time. */
  scrapeFailures = 0;

  constructor(of: Sampled) {
    this.#of = of;
  }

  /** Throws a MeasureError when a container has ended, or gives no metrics. */
  async take(): Promise<Sample> {
    const { pod, asker, cluster } = this.#of;
    for (const container of pod.containers) container.check();
    const [answers, figures] = await Promise.all([asker.call('take'), cluster.call('figures')]);
    const nowMs = monotonicMs();
    const seconds = (nowMs - this.#lastMs) / 1_000;
    this.#lastMs = nowMs;
    const pages = {
      kubedns: await this.#page('kubedns'),
      dnsmasq: await this.#page('dnsmasq'),
      sidecar: await this.#page('sidecar'),
    };
    const containers = CONTAINER_NAMES.map(
      (name) => [name, this.#look(name, pages[name])] as const,
    );
    return {
      atSeconds: (nowMs - this.#startMs) / 1_000,
      seconds,
      // Each of the names is among the pairs.
      containers: Object.fromEntries(containers) as Record<ContainerName, ContainerSample>,
      answers,
      cacheRecords: pages.dnsmasq.sum('dnsmasq_cache_records'),
      cacheMaxRecords: pages.dnsmasq.sum('dnsmasq_cache_max_records'),
      cacheEvictions: pages.dnsmasq.sum('dnsmasq_cache_evictions_total'),
      relists: pages.kubedns.sum('kubedns_relists_total'),
      configGeneration: pages.kubedns.sum('kubedns_config_generation'),
      changes: figures.changes,
      changeMaxLateMs: figures.maxLateMs,
      scrapeFailures: this.scrapeFailures,
    };
  }

  /** A busy machine may be late once; a page that is not there at the third try is not served. */
  async #page(name: ContainerName): Promise<MetricPage> {
    const container = this.#of.pod[name]!;
    const reasons: string[] = [];
    while (reasons.length < SCRAPE_TRIES) {
      try {
        return await container.metrics();
      } catch (error) {
        container.server.check();
        reasons.push(errorText(error));
        this.scrapeFailures++;
      }
    }
    throw new MeasureError(`${name} serves no metrics: ${reasons.join(', ')}`);
  }

  #look(name: ContainerName, page: MetricPage): ContainerSample {
    const { pid } = this.#of.pod[name]!.server;
    const { userMs, systemMs } = cpuUsage(pid);
    return {
      rssBytes: rssBytes(pid),
      heapBytes: page.sum('process_heap_bytes'),
      descriptors: openDescriptors(pid),
      resources: readResources(resourcePath(this.#of.resourceFolder, name)),
      cpuMs: userMs + systemMs,
      unhandled: UNHANDLED[name].reduce((sum, counter) => sum + page.sum(counter), 0),
    };
  }
}

/** NaN while nothing was written. */
function readResources(path: string): number {
  try {
    const counts = JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>;
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  } catch {
    // not written yet: it comes once a second
    return Number.NaN;
  }
}
