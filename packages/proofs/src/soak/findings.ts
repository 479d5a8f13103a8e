import { type Bar, median, type Report } from '@kube-dns/testkit';
import { CONTAINER_NAMES } from '../fixtures/manifest-pod.js';
import { quietBar } from '../program-options.js';
import type { ContainerSample, Sample } from './sample.js';
import { growth, increase, lastThird, type Point } from './trend.js';

/** The limits for a run. */
export interface SoakBars {
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
