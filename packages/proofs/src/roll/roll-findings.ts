import type { Bar, Report } from '@kube-dns/testkit';
import { quietBar } from '../program-options.js';
import type { Phase } from './phase-log.js';

/** What else a run has to be held against. */
export interface RollFacts {
  /** Containers that did not end with 0, as sentences. */
  readonly ends: readonly string[];
  /** What dnsperf was to ask. */
  readonly queriesPerSecond: number;
  /** Whether the machine has other work. */
  readonly busy: boolean;
}

/** Below this the machine, and not DNS, was the limit. */
const RATE_PART = 0.9;
const HEADER = [
  'while',
  's',
  'questions/s',
  'p50 ms',
  'p99 ms',
  'first try lost',
  'second try lost',
  'wrong',
  'flows moved',
  'checked',
  'checked: first try lost',
  'second',
  'wrong',
];

function rowOf({
  name,
  seconds,
  queriesPerSecond,
  dnsperf,
  checked,
  cutFlows,
}: Phase): readonly string[] {
  return [
    name,
    seconds.toFixed(1),
    queriesPerSecond.toFixed(0),
    dnsperf.p50Ms.toFixed(2),
    dnsperf.p99Ms.toFixed(2),
    ...[dnsperf.firstTryLost, dnsperf.lost, dnsperf.wrong + dnsperf.servfails, cutFlows].map(
      String,
    ),
    ...[checked.asked, checked.firstTryLost, checked.lost, checked.wrong + checked.servfails].map(
      String,
    ),
  ];
}

/** Reports what clients noticed, and compares it with the promises. */
export function addRollFindings(
  report: Pick<Report, 'add' | 'addSection' | 'note'>,
  phases: readonly Phase[],
  { ends, queriesPerSecond, busy }: RollFacts,
): void {
  const sum = (value: (phase: Phase) => number) =>
    phases.reduce((total, phase) => total + value(phase), 0);
  report.addSection({ title: 'Phases', header: HEADER, rows: phases.map(rowOf) }, phases);
  const seconds = sum((phase) => phase.seconds);
  const rate = sum((phase) => phase.queriesPerSecond * phase.seconds) / seconds;
  const quiet = <B extends Bar | number>(bar: B) => quietBar({ busy }, bar);
  report.add('questions a second', rate, '/s', quiet({ atLeast: queriesPerSecond * RATE_PART }));
  report.add(
    'lost at the first try',
    sum(({ dnsperf }) => dnsperf.firstTryLost),
    '',
  );
  report.add(
    'lost at the second try',
    sum(({ dnsperf }) => dnsperf.lost),
    '',
    quiet(0),
  );
  // dnsperf knows an answer by its ID alone: a late one may be taken for that of a later question.
  report.add(
    'wrong rcodes',
    sum(({ dnsperf }) => dnsperf.wrong),
    '',
    quiet(0),
  );
  report.add(
    'SERVFAIL',
    sum(({ dnsperf }) => dnsperf.servfails),
    '',
    quiet(0),
  );
  report.add(
    'checked: right answers',
    sum(({ checked }) => checked.right),
    '',
    { atLeast: 1 },
  );
  report.add(
    'checked: lost at the first try',
    sum(({ checked }) => checked.firstTryLost),
    '',
  );
  report.add(
    'checked: lost at the second try',
    sum(({ checked }) => checked.lost),
    '',
    quiet(0),
  );
  report.add(
    'checked: wrong answers',
    sum(({ checked }) => checked.wrong),
    '',
    0,
  );
  report.add(
    'checked: SERVFAIL',
    sum(({ checked }) => checked.servfails),
    '',
    quiet(0),
  );
  report.add('p99, worst phase', Math.max(...phases.map(({ dnsperf }) => dnsperf.p99Ms)), 'ms');
  report.add('containers that did not end with 0', ends.length, '', 0);
  for (const end of ends) report.note(end);
  for (const { name, dnsperf, checked } of phases) {
    for (const example of [...dnsperf.examples, ...checked.examples]) {
      report.note(`${name}: ${example}`);
    }
  }
}
