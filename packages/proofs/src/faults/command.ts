import {
  commandEntry,
  numberOption,
  switchOption,
  textOption,
  UsageError,
} from '@kube-dns/testkit';
import { BUSY_OPTION, PROGRAM_OPTIONS } from '../program-options.js';
import { API_ROWS } from './api-faults.js';
import { CONFIG_ROWS } from './config-faults.js';
import type { Fault } from './fault.js';
import { LIMIT_ROWS, PORT_ROWS } from './limit-faults.js';
import { NETWORK_ROWS } from './network-faults.js';
import { NODE_CACHE_ROWS } from './node-cache-faults.js';
import { PROCESS_ROWS } from './process-faults.js';
import { type FaultResult, runFaults } from './run-faults.js';
import { SUBSCRIPTION_ROWS } from './subscription-faults.js';
import { UPSTREAM_ROWS } from './upstream-faults.js';

/** Every row, in the order of FAULTS.md. */
const FAULTS: readonly Fault[] = [
  ...API_ROWS,
  ...NETWORK_ROWS,
  ...UPSTREAM_ROWS,
  ...CONFIG_ROWS,
  ...PROCESS_ROWS,
  ...SUBSCRIPTION_ROWS,
  ...LIMIT_ROWS,
  ...PORT_ROWS,
  ...NODE_CACHE_ROWS,
];

const HEADER = ['row', 'clients', 'for how long', 'measured', 'metrics', 'ok'];

function chosenFaults(only: string): readonly Fault[] {
  if (only === '') return FAULTS;
  return only.split(',').map((id) => {
    const fault = FAULTS.find((each) => each.id === id);
    if (fault === undefined) throw new UsageError(`--only=${only}: no row "${id}"; see --list`);
    return fault;
  });
}

/** As tables show it: nothing at all, or seconds. */
function secondsText(ms: number): string {
  if (Number.isNaN(ms)) return '-';
  return ms === 0 ? 'none' : `${(ms / 1_000).toFixed(1)} s`;
}

function verdictOf({ broken, skipped }: FaultResult): string {
  if (skipped !== undefined) return `skipped: ${skipped}`;
  return broken.length === 0 ? 'yes' : 'no';
}

function rowOf(result: FaultResult): readonly string[] {
  const { id, clients, duration, metrics } = result.fault;
  return [id, clients, duration, secondsText(result.measuredMs), metrics, verdictOf(result)];
}

/** The command that makes each row of the fault table happen. */
export const FAULTS_COMMAND = commandEntry({
  name: 'faults',
  summary: 'Makes each fault of FAULTS.md happen, and compares the result with the table.',
  options: {
    ...PROGRAM_OPTIONS,
    only: textOption('', 'IDS', 'rows to run, with commas; all unless given'),
    list: switchOption('print what the rows are, and run none'),
    together: numberOption(1, 'rows that run at the same time', { min: 1, max: 16 }),
    ...BUSY_OPTION,
  },
  format: 'markdown',
  isStrict: true,
  run: async (values, { report, progress, owned }) => {
    const faults = chosenFaults(values.only);
    if (values.list) {
      const rows = faults.map(({ id, happens }) => [id, happens]);
      report.addSection({ title: 'faults', header: ['row', 'what happens'], rows }, rows);
      return;
    }
    const { node, 'node-flags': nodeFlags, busy } = values;
    const programs = { node, nodeFlags, progress, owned, busy };
    const results: FaultResult[] = [];
    for (const [id, running] of runFaults(faults, values.together, programs)) {
      const result = await running;
      results.push(result);
      progress(`${id}: ${verdictOf(result)}, ${secondsText(result.measuredMs)}`);
      for (const claim of result.broken) report.note(`${id}: ${claim}`);
    }
    const json = results.map(({ fault: { id }, ...result }) => {
      return { id, ...result };
    });
    report.addSection({ title: 'faults', header: HEADER, rows: results.map(rowOf) }, json);
    report.add('claims that did not hold', results.flatMap(({ broken }) => broken).length, '', 0);
  },
});
