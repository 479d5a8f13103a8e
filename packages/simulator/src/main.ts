import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import {
  errorText,
  parseOptions,
  type OptionValues,
  numberOption,
  switchOption,
  textOption,
  UsageError,
} from '@kube-dns/base';
import { describeOptions } from '@kube-dns/testkit';
import { calibrate } from './calibration/calibrate.js';
import { describeFaults, FAULT_KINDS, type FaultKind } from './faults.js';
import { COSTS } from './fleet/costs.js';
import { runFleet } from './fleet/fleet.js';
import type { FaultPlan, FleetPlan } from './fleet/fleet-plan.js';
import { describeFaultRun, describeFleet } from './fleet/report.js';
import { findFirst } from './fleet/shrink-fleet.js';
import { type Programs, releasesOf, runScenario } from './run.js';
import { FAULT_ROWS, type FaultRow, scenarioOf } from './rows.js';
import { SABOTAGES } from './sabotage.js';
import { drawScenario, type Scenario, SMALL } from './scenario.js';
import { describe, shrink } from './shrink.js';
import type { Outcome } from './simulation.js';
import { inOrder, Workers } from './workers.js';

const OPTIONS = {
  seed: textOption('', 'TEXT', 'the first seed; default: one that the clock gives'),
  seeds: numberOption(1, 'how many seeds, one after the other', { min: 1, max: 1_000_000 }),
  for: numberOption(
    0,
    'seeds begin for so many seconds of real time, and each is run to its end; 0: as many as --seeds',
    { min: 0, max: 100_000 },
  ),
  jobs: numberOption(0, 'seeds that run at once, each in a process; 0: as many as processors', {
    min: 0,
    max: 1_000,
  }),
  minutes: numberOption(
    10,
    'virtual minutes with changes and faults, of each seed, or of a fleet',
    {
      min: 1,
      max: 10_000,
    },
  ),
  pods: numberOption(1, 'DNS pods behind the Service', { min: 1, max: 250 }),
  nodes: numberOption(0, 'nodes with a node-cache; 0: as the seed draws, 1 to 4', {
    min: 0,
    max: 5_000,
  }),
  small: switchOption('few objects, changes and questions, and one node: for many seeds'),
  faults: textOption(
    FAULT_KINDS.join(','),
    'KINDS',
    'kinds of faults; none: none; help: lists them',
  ),
  between: numberOption(0, 'seconds between two faults, in the mean; 0: as the seed draws', {
    min: 0,
    max: 100_000,
  }),
  other: textOption(
    '',
    'FOLDER',
    'a built checkout of another release, which some of the machines run',
  ),
  replay: textOption('', 'FILE', 'run the scenario of this file'),
  row: textOption('', 'ID', 'run the scenario of this row of FAULTS.md; all: of each row that needs no kernel'), // prettier-ignore
  save: textOption('', 'FILE', 'write the shrunk scenario of a violation to this file'),
  trace: textOption('', 'NAME', 'draw the life of this name, message by message'),
  sabotage: textOption(
    '',
    'NAME',
    'plant this fault in the bundles; all: each, one after the other',
  ),
  calibrate: textOption(
    '',
    'WHERE',
    "run the scripts of the network: real: beside this machine's kernel; simulated: alone",
  ),
  fleet: numberOption(
    0,
    'runs the push and cache parts alone, of so many nodes; 0: whole clusters',
    {
      min: 0,
      max: 100_000,
    },
  ),
  relays: numberOption(0, 'of a fleet: so many node-caches pass changes on to all others', {
    min: 0,
    max: 5_000,
  }),
  events: numberOption(0, 'of a fleet: faults happen, and each answer is judged, until so many events; 0: none, and costs are counted', { min: 0, max: 1_000_000_000 }), // prettier-ignore
  crowd: switchOption('of a fleet: all caches in one process, as the subscribers of the bench'),
  changes: numberOption(100, 'of a fleet: changes a second', { min: 0, max: 100_000 }),
  subscribers: numberOption(0, 'of a fleet: subscribers a process takes; 0: as the code has it', {
    min: 0,
    max: 100_000,
  }),
  log: textOption('', 'MACHINE', 'print the log lines of a machine; all: of all'),
};

type Values = OptionValues<typeof OPTIONS>;

const EXIT_VIOLATION = 1;
const EXIT_USAGE = 2;
/** The figures of seeds that are added up. */
const SUMMED = ['virtualSeconds', 'events', 'questions', 'changes', 'faults'] as const;
/** For each sabotage, of real time. */
const SABOTAGE_SECONDS = 600;

async function main(args: readonly string[]): Promise<number> {
  const given = parseOptions(args, OPTIONS, 'npm run simulate --');
  if (given === 'help') {
    process.stdout.write(`Usage: npm run simulate -- [options]\n\nRuns whole clusters of the built programs in virtual time, each from one seed, until a promise is broken.\n\n${describeOptions(OPTIONS)}\n${describeFaults()}`); // prettier-ignore
    return 0;
  }
  const { values } = given;
  if (values.faults === 'help') {
    process.stdout.write(describeFaults());
    return 0;
  }
  if (values.sabotage === 'all') return findSabotages(values);
  if (values.fleet > 0) return values.events > 0 ? fleetWithFaults(values) : fleet(values);
  if (values.calibrate !== '') return calibrated(values.calibrate);
  const startMs = performance.now();
  const sums = { seeds: 0, virtualSeconds: 0, events: 0, questions: 0, changes: 0, faults: 0 };
  for await (const outcome of outcomes(values, values)) {
    sums.seeds++;
    for (const name of SUMMED) sums[name] += outcome.figures[name];
    const { scenario, violations, digest } = outcome;
    if (violations.length > 0) {
      await report(outcome, values);
      return EXIT_VIOLATION;
    }
    say(`seed ${scenario.seed}: right  (${describe(scenario)})  digest ${digest}`);
  }
  const seconds = (performance.now() - startMs) / 1_000;
  const rate = (count: number) => Math.round(count / seconds).toLocaleString('en');
  say(
    `${sums.seeds} ${sums.seeds === 1 ? 'seed' : 'seeds'}, ${(sums.virtualSeconds / 3_600).toFixed(1)} virtual hours, ` +
      `${sums.events.toLocaleString('en')} events (${rate(sums.events)} a second), ${sums.faults} faults, ` +
      `${sums.changes.toLocaleString('en')} changes, ${sums.questions.toLocaleString('en')} questions judged; ` +
      `${rate(sums.virtualSeconds)} x real time`,
  );
  return 0;
}

/** The answers of caches are at most so old while all is well. */
const FRESH_MS = 1_000;
const FRESH_FEW_MS = 250;
const FEW_NODES = 250;
/** Names of a cluster; fewer where each answer is judged, so that they change often. */
const NAMES = 10_000;
const FEW_NAMES = 200;

function fleetPlan({
  fleet: nodes,
  seed,
  pods,
  relays,
  changes,
  subscribers,
  crowd,
}: Values): FleetPlan {
  return {
    seed,
    nodes,
    pods,
    relays,
    names: NAMES,
    changesPerSecond: changes,
    questionsPerSecond: 1,
    costs: COSTS,
    isCrowd: crowd,
    freshMs: nodes > FEW_NODES ? FRESH_MS : FRESH_FEW_MS,
    constants: { ...(subscribers > 0 && { MAX_SUBSCRIBERS: subscribers }) },
  };
}

function fleet(values: Values): number {
  const plan = fleetPlan(values);
  const seconds = values.minutes * 60;
  const startMs = performance.now();
  const outcome = runFleet(plan, seconds);
  say(describeFleet(plan, seconds, outcome));
  const { events, virtualSeconds } = outcome;
  const realSeconds = (performance.now() - startMs) / 1_000;
  say(
    `\n${plan.nodes} nodes, ${plan.pods} pods, ${plan.relays} relays, ${plan.changesPerSecond} changes a second; ` +
      `${virtualSeconds.toFixed(0)} virtual seconds, ${events.toLocaleString('en')} events in ${realSeconds.toFixed(0)} s`,
  );
  return 0;
}

function fleetWithFaults(values: Values): number {
  const base = fleetPlan(values);
  const { events } = values;
  const plan: FaultPlan = {
    ...base,
    names: FEW_NAMES,
    questionsPerSecond: 5,
    events,
    without: new Set(),
  };
  const startMs = performance.now();
  const outcome = findFirst(plan, say);
  say(describeFaultRun(outcome));
  say(`in ${((performance.now() - startMs) / 1_000).toFixed(0)} s`);
  return outcome.violation === undefined ? 0 : EXIT_VIOLATION;
}

async function calibrated(where: string): Promise<number> {
  if (where !== 'real' && where !== 'simulated')
    throw new UsageError(`--calibrate: ${where} is neither real nor simulated`);
  return (await calibrate(where === 'real', say)) ? 0 : EXIT_VIOLATION;
}

function readReplay(file: string): Scenario {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Scenario;
  } catch (error) {
    throw new UsageError(`--replay=${file}: ${errorText(error)}`);
  }
}

function rowsNamed(id: string): readonly FaultRow[] {
  const rows = FAULT_ROWS.filter((row) => id === 'all' || row.id === id);
  if (rows.length === 0)
    throw new UsageError(`--row=${id}: no row of FAULTS.md has this name here`);
  return rows;
}

function* scenarios(values: Values): Generator<Scenario> {
  if (values.replay !== '') {
    yield readReplay(values.replay);
    return;
  }
  if (values.row !== '') {
    yield* rowsNamed(values.row).map(scenarioOf);
    return;
  }
  const first = values.seed === '' ? Date.now().toString(36) : values.seed;
  const { pods, nodes, minutes } = values;
  const options = {
    pods,
    seconds: minutes * 60,
    faults: kindsOf(values.faults),
    isMixed: values.other !== '',
    ...(values.between > 0 && { between: values.between }),
    ...(values.small && SMALL),
    ...(nodes > 0 && { nodes }),
  };
  const endMs = performance.now() + values.for * 1_000;
  const isMore = (count: number) =>
    values.for > 0 ? performance.now() < endMs : count < values.seeds;
  for (let i = 0; isMore(i); i++) {
    yield drawScenario(i === 0 ? first : `${first}-${i}`, options);
  }
}

function kindsOf(text: string): FaultKind[] {
  if (text === 'none') return [];
  return text.split(',').map((word) => {
    const kind = FAULT_KINDS.find((known) => known === word);
    if (kind === undefined)
      throw new UsageError(`--faults: ${word} is none of ${FAULT_KINDS.join(', ')}`);
    return kind;
  });
}

/**
 * Plants each fault, and runs one seed after the other until it is found: until a seed is wrong that is right without it. 1 when
 * more than one is not found. Prints a table.
 */
async function findSabotages(values: Values): Promise<number> {
  let missed = 0;
  say(`| Sabotage | Seed | Virtual s | Real s | Found by |\n| --- | --- | --- | --- | --- |`);
  const seeds = { ...values, seed: values.seed || '1', for: values.for || SABOTAGE_SECONDS };
  const rightSeeds = new Map<string, boolean>();
  const isRightWithout = async (scenario: Scenario) => {
    let isRight = rightSeeds.get(scenario.seed);
    isRight ??= (await runScenario(scenario, { ...values, sabotage: '' })).violations.length === 0;
    rightSeeds.set(scenario.seed, isRight);
    return isRight;
  };
  for (const { name } of SABOTAGES) {
    const startMs = performance.now();
    let found = 'not found | | |';
    for await (const { scenario, violations } of outcomes(seeds, { ...values, sabotage: name })) {
      const [violation] = violations;
      if (violation === undefined) continue;
      const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
      if (!(await isRightWithout(scenario))) continue;
      found = `${scenario.seed} | ${(violation.atUs / 1e6).toFixed(1)} | ${seconds} | ${violation.kind} |`;
      break;
    }
    if (found.startsWith('not')) missed++;
    say(`| ${name} | ${found}`);
  }
  say(`${SABOTAGES.length - missed} of ${SABOTAGES.length} found`);
  return missed > 1 ? EXIT_VIOLATION : 0;
}

/** Runs one scenario after the other, in processes of their own where some may run at once. */
async function* outcomes(values: Values, programs: Programs): AsyncGenerator<Outcome> {
  const { trace, log, replay, jobs, seeds } = values;
  const isShown = trace !== '' || log !== '' || replay !== '';
  const most = values.for > 0 || values.row === 'all' ? Infinity : seeds;
  if (isShown || most === 1) {
    for (const scenario of scenarios(values)) yield await run(scenario, programs, values);
    return;
  }
  // What is wrong with them is said once, before any process starts.
  releasesOf(programs);
  const count = Math.min(jobs || availableParallelism(), most);
  const workers = new Workers(count);
  try {
    yield* inOrder(scenarios(values), count, (scenario) => workers.run(scenario, programs));
  } finally {
    workers.close();
  }
}

function run(scenario: Scenario, programs: Programs, { trace, log }: Values): Promise<Outcome> {
  const onLine = (atUs: number, machine: string, program: string, line: string) => {
    if (log === 'all' || log === machine) say(`${(atUs / 1e6).toFixed(6).padStart(12)}  ${machine}/${program}  ${line}`); // prettier-ignore
  };
  return runScenario(scenario, programs, {
    ...(trace !== '' && { trace: { name: trace, write: say } }),
    ...(log !== '' && { onLine }),
  });
}

async function report(outcome: Outcome, values: Values): Promise<void> {
  show(outcome);
  if (values.replay !== '' || values.row !== '') return;
  const file = values.save === '' ? `replay-${outcome.scenario.seed}.json` : values.save;
  const save = ({ scenario }: Outcome) => writeFileSync(file, `${JSON.stringify(scenario, undefined, 2)}\n`); // prettier-ignore
  save(outcome);
  say(`shrinking; ${file} has the whole scenario until that ends:`);
  const least = await shrink(
    outcome,
    (scenario) => runScenario(scenario, values),
    (text) => say(`  still wrong with ${text}`),
  );
  show(least);
  save(least);
  say(`again: npm run simulate -- --replay=${file} --trace=NAME`);
}

function show({ scenario, violations }: Outcome): void {
  say(`seed ${scenario.seed}: WRONG  (${describe(scenario)})`);
  for (const { atUs, kind, text } of violations)
    say(`  at ${(atUs / 1e6).toFixed(6)} s, ${kind}: ${text}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

main(process.argv.slice(2)).then(
  (code) => {
    // Programs of the simulation leave nothing that keeps the process alive, but Node's own agents may.
    process.exit(code);
  },
  (error: unknown) => {
    const isBug = error instanceof Error && !(error instanceof UsageError);
    process.stderr.write(`simulate: ${isBug ? error.stack : errorText(error)}\n`);
    process.exit(EXIT_USAGE);
  },
);
