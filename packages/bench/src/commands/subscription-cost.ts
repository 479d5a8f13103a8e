import {
  type Command,
  type CommandContext,
  numberOption,
  type OptionValues,
} from '@kube-dns/testkit';
import { Series } from '../load/series.js';
import { measureEvents } from '../subscription-cost/events.js';
import { measureMemory } from '../subscription-cost/memory.js';
import { LOAD_OPTIONS, programsOf } from './load-options.js';

const OPTIONS = {
  runs: numberOption(5, 'runs of each part', { min: 1, max: 100 }),
  subscriptions: numberOption(100, 'subscriptions by which the memory of one is measured', {
    min: 1,
    max: 126,
  }),
  services: numberOption(2_000, 'services, and endpoint slices', { min: 1, max: 100_000 }),
  events: numberOption(1_000, 'events a second', { min: 1, max: 100_000 }),
  seconds: numberOption(10, 'seconds of events, and as many without a subscription', {
    min: 1,
    max: 600,
  }),
  node: LOAD_OPTIONS.node,
  'node-flags': LOAD_OPTIONS['node-flags'],
  kubedns: LOAD_OPTIONS.kubedns,
  'kubedns-flags': LOAD_OPTIONS['kubedns-flags'],
  dnsmasq: LOAD_OPTIONS.dnsmasq,
  'dnsmasq-flags': LOAD_OPTIONS['dnsmasq-flags'],
  json: LOAD_OPTIONS.json,
  strict: LOAD_OPTIONS.strict,
};

type Values = OptionValues<typeof OPTIONS>;

const PARTS = [
  { title: 'Memory', measure: measureMemory },
  { title: 'CPU', measure: measureEvents },
] as const;

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const { runs, subscriptions, services, events, seconds } = values;
  const programs = programsOf({ ...values, alone: true, 'real-dnsmasq': undefined });
  for (const { title, measure } of PARTS) {
    const series = new Series();
    for (let i = 1; i <= runs; i++) {
      progress(`run ${i} of ${runs}: ${title}`);
      await measure({ programs, owned, series, subscriptions, services, events, seconds });
    }
    series.addTo(report, title);
  }
  report.note('Memory is read after garbage was collected; RSS is the anonymous part of it.');
}

/** What it costs kubedns to tell changes, and dnsmasq to be told them. */
export const SUBSCRIPTION_COST: Command<typeof OPTIONS> = {
  name: 'subscription-cost',
  summary: 'memory of a subscription, and CPU of 1,000 events a second on both sides',
  options: OPTIONS,
  format: 'markdown',
  run,
};
