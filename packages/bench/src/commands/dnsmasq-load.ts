import {
  type Command,
  numberOption,
  type OptionValues,
  type CommandContext,
} from '@kube-dns/testkit';
import { measureCacheMemory } from '../dnsmasq-load/cache-memory.js';
import { measureIdleClients } from '../dnsmasq-load/idle-clients.js';
import { measureInFlight } from '../dnsmasq-load/in-flight.js';
import { Series } from '../load/series.js';
import { describeTools, LOAD_OPTIONS, programsOf } from './load-options.js';

const OPTIONS = {
  runs: numberOption(5, 'runs of each part', { min: 1, max: 100 }),
  seconds: numberOption(4, 'seconds of each load', { min: 0.1, max: 600, isWhole: false }),
  names: numberOption(100_000, 'cached names by which the memory of one is measured', {
    min: 1_000,
    max: 1_000_000,
  }),
  ...LOAD_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

const PARTS = [
  { title: 'Questions in flight', measure: measureInFlight },
  { title: 'Idle TCP clients', measure: measureIdleClients },
  { title: 'Memory of the cache', measure: measureCacheMemory },
] as const;

async function run(
  { runs, seconds, names: manyNames, ...values }: Values,
  { report, owned, progress }: CommandContext,
): Promise<void> {
  const programs = programsOf(values);
  const cores = await describeTools(programs, report);
  for (const { title, measure } of PARTS) {
    const series = new Series();
    await measure({ programs, cores, owned, progress, series, runs, seconds, manyNames });
    series.addTo(report, title);
  }
  report.note('Bars are for our dnsmasq; counts of what went wrong are those of the worst run.');
}

/** The promises of dnsmasq in addition to speed: every query answered, cheap TCP clients, a small cache. */
export const DNSMASQ_LOAD: Command<typeof OPTIONS> = {
  name: 'dnsmasq-load',
  summary: 'our dnsmasq with 1,500 questions in flight, 500 idle TCP clients, 10,000 cached names',
  options: OPTIONS,
  format: 'markdown',
  run,
};
