import { errorText, UsageError } from '@kube-dns/base';
import {
  findProgram,
  Owned,
  commandEntry,
  numberOption,
  switchOption,
  textOption,
  PROGRAM_OPTIONS,
} from '@kube-dns/testkit';
import { FaultSigns } from '../fixtures/witness.js';
import { BUSY_OPTION } from '../program-options.js';
import { API_ROWS } from './api-faults.js';
import { CONFIG_ROWS } from './config-faults.js';
import type { Fault, FaultContext } from './fault.js';
import { LIMIT_ROWS, PORT_ROWS } from './limit-faults.js';
import { NETWORK_ROWS } from './network-faults.js';
import { NODE_CACHE_ROWS } from './node-cache-faults.js';
import { PROCESS_ROWS } from './process-faults.js';
import { SUBSCRIPTION_ROWS } from './subscription-faults.js';
import { UPSTREAM_ROWS } from './upstream-faults.js';

/** What was seen of one row. */
interface FaultResult {
  readonly fault: Fault;
  /** For how long clients saw it; NaN when it did not come that far. */
  readonly measuredMs: number;
  /** The claims that did not hold. */
  readonly broken: readonly string[];
  /** How often an explanation was the same as the answer. */
  readonly agreed: number;
  /** Why it was not run. */
  readonly skipped?: string;
}

/** How the rows are run. */
interface FaultPrograms extends Pick<FaultContext, 'node' | 'nodeFlags' | 'progress' | 'busy'> {
  /** Ends what the rows have started, when they are not to go on. */
  readonly owned?: Owned;
}

/** Runs one row; never rejects. What it started has ended when this resolves. */
async function runFault(fault: Fault, programs: FaultPrograms): Promise<FaultResult> {
  const skipped = fault.skipReason?.();
  if (skipped !== undefined)
    return { fault, measuredMs: Number.NaN, broken: [], agreed: 0, skipped };
  const owned = new Owned();
  programs.owned?.add(owned);
  const broken: string[] = [];
  const { reasons: listed = [], haveAllReason = true } = fault;
  const canRead = findProgram('dig') !== undefined;
  const signs = new FaultSigns(fault.shows?.found, canRead && haveAllReason && listed.length > 0);
  let measuredMs = Number.NaN;
  const claim = (holds: boolean, otherwise: string) => {
    if (!holds) broken.push(otherwise);
  };
  try {
    const claimQuiet = programs.busy ? () => undefined : claim;
    measuredMs = await fault.run({ ...programs, owned, claim, claimQuiet, signs });
    claim(!Number.isNaN(measuredMs), 'what clients should see at its end did not come');
    const took = `clients saw it for ${Math.round(measuredMs)} ms, not ${fault.limitMs} at most`;
    claimQuiet(measuredMs <= fault.limitMs, took);
    const { reasons, disagreements } = signs;
    for (const difference of disagreements.slice(0, 3)) claim(false, difference);
    const isShown = fault.shows === undefined || signs.isShown;
    claim(isShown, `no status page shows ${String(fault.shows?.found)}`);
    const isRead =
      listed.some((code) => reasons.has(code)) || listed.length === 0 || !haveAllReason;
    const isListed = [...reasons].every((code) => listed.includes(code));
    const codes = [...reasons].join(', ') || 'none';
    const read = `dig read the Extended DNS Errors ${codes}`;
    claim(!canRead || isRead, read);
    claimQuiet(!canRead || isListed, read);
  } catch (error) {
    broken.push(errorText(error));
  } finally {
    await owned.close();
  }
  return { fault, measuredMs, broken, agreed: signs.agreed };
}

/** Runs rows, a limited number at the same time; each result can be awaited by the row's ID. */
export function runFaults(
  faults: readonly Fault[],
  together: number,
  programs: FaultPrograms,
): ReadonlyMap<string, Promise<FaultResult>> {
  const results = new Map<string, Promise<FaultResult>>();
  const lanes = Array.from({ length: together }, () => Promise.resolve());
  faults.forEach((fault, i) => {
    // A row of a lane begins when the one before it has ended.
    const result = lanes[i % together]!.then(() => runFault(fault, programs));
    lanes[i % together] = result.then(() => undefined);
    results.set(fault.id, result);
  });
  return results;
}

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
