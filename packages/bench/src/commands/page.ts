import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Command,
  type CommandContext,
  type OptionValues,
  textOption,
  wordsOption,
} from '@kube-dns/testkit';
import { type KeptReport, KeptResults, readKept } from '../page/kept-results.js';
import { pageOf } from '../page/page.js';
import { DNS } from './dns.js';

const RESULTS = fileURLToPath(new URL('../../results', import.meta.url));

const OPTIONS = {
  ...DNS.options,
  only: {
    ...DNS.options.only,
    initial: [
      'hits',
      'kubedns-services',
      'pod',
      'misses-zone',
      'misses-outside',
      'quota',
      'memory',
    ],
  },
  from: wordsOption([], 'files that "dns --json" has written; nothing is measured then'),
  out: textOption(RESULTS, 'FOLDER', 'where the page and its pictures are written'),
};

type Values = OptionValues<typeof OPTIONS>;

async function run(values: Values, context: CommandContext): Promise<void> {
  const { report, progress } = context;
  const { from, out } = values;
  if (from.length === 0) await DNS.run(values, context);
  // The report that is now full has the form of one that was kept.
  const made = { ...(JSON.parse(JSON.stringify(report)) as KeptReport) };
  const reports = from.length === 0 ? [made] : from.map(readKept);
  mkdirSync(out, { recursive: true });
  for (const [name, text] of pageOf(new KeptResults(reports))) {
    writeFileSync(join(out, name), text);
    progress(`written: ${join(out, name)}`);
  }
}

/** One page with tables and pictures. */
export const PAGE: Command<typeof OPTIONS> = {
  name: 'page',
  summary: 'one page with plots, from chosen workloads of dns or from what it has measured before',
  options: OPTIONS,
  format: 'markdown',
  run,
};
