import {
  type Command,
  type CommandContext,
  numberOption,
  type OptionValues,
  Owned,
  textOption,
} from '@kube-dns/testkit';
import { Series } from '../load/series.js';
import { LogTestbed } from '../query-log/measure.js';
import { encodeQuestionFile, inRandomOrder, namesBelow } from '../queries/question-file.js';
import { describeTools, LOAD_OPTIONS, programsOf } from './load-options.js';

const OPTIONS = {
  runs: numberOption(7, 'pairs of loads with the log and without', { min: 1, max: 100 }),
  seconds: numberOption(2, 'seconds of each load', { min: 0.1, max: 60, isWhole: false }),
  rate: numberOption(100_000, 'queries a second, whatever is answered', { min: 1 }),
  engine: textOption(
    'auto',
    'NAME',
    'UDP engine of the dnsmasq that is measured: auto, batch, dgram',
  ),
  rules: textOption('json,sample=1', 'RULES', 'value of --query-log, which must be JSON'),
  names: numberOption(2_000, 'different names', { min: 10, max: 10_000 }),
  ...LOAD_OPTIONS,
};

type Values = OptionValues<typeof OPTIONS>;

async function run(values: Values, { report, owned, progress }: CommandContext): Promise<void> {
  const { runs, seconds, rate, engine, rules, names } = values;
  const programs = programsOf({ ...values, alone: true, 'real-dnsmasq': undefined });
  const cores = await describeTools(programs, report);
  const own = owned.add(new Owned());
  const questions = encodeQuestionFile(inRandomOrder(namesBelow('example', names)));
  const load = { programs, cores, owned: own, engine, rules, questions, seconds, rate };
  const testbed = await LogTestbed.start(load);
  progress('warm-up');
  await testbed.measure(undefined, true);
  const series = new Series();
  for (let i = 1; i <= runs; i++) {
    progress(`run ${i} of ${runs}`);
    await testbed.measure(series, i % 2 === 0);
  }
  series.addTo(report, `--query-log=${rules}, ${rate} queries a second`);
  report.note(
    'Each pair has the same load with the log and without, in turn one or the other first.',
  );
  await own.close();
}

/** What a query log of every answer costs dnsmasq under load, and whether it is whole. */
export const QUERY_LOG: Command<typeof OPTIONS> = {
  name: 'query-log',
  summary: 'dnsmasq with a line per answer and without: latency, CPU, lost answers, lines',
  options: OPTIONS,
  format: 'markdown',
  run,
};
