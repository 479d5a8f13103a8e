import type { Violation } from './judge.js';
import type { Outcome } from './simulation.js';
import type { Scenario } from './scenario.js';

/** A run takes seconds; no more than this many are tried. */
const MAX_RUNS = 60;

/**
 * The least scenario that still has the same violation, which is one of the same kind and, of an answer, of the same name: fewer
 * faults, nodes, services, questions and seconds. `run` runs a scenario.
 */
export async function shrink(
  failed: Outcome,
  run: (scenario: Scenario) => Promise<Outcome>,
  onStep: (text: string) => void = () => undefined,
): Promise<Outcome> {
  const first = failed.violations[0]!;
  let best = failed;
  let runs = 0;
  /** Whether a smaller scenario fails the same way; then it is the best. */
  const fails = async (scenario: Scenario): Promise<boolean> => {
    if (++runs > MAX_RUNS) return false;
    const outcome = await run(scenario);
    const [violation] = outcome.violations;
    if (violation === undefined || !isSame(violation, first)) return false;
    best = outcome;
    onStep(describe(scenario));
    return true;
  };

  // What comes after the violation is not needed.
  const endsAt = Math.ceil(first.atUs / 1_000_000);
  if (endsAt < best.scenario.seconds) await fails({ ...best.scenario, seconds: endsAt });
  await dropFaults(() => best.scenario, fails);
  for (const pods of halves(best.scenario.pods)) {
    const { scenario } = best;
    const isUsed = scenario.faults.some((fault) => mentions(fault, 'dns-', pods));
    if (isUsed || !(await fails({ ...scenario, pods }))) break;
  }
  for (const nodes of halves(best.scenario.nodes)) {
    const { scenario } = best;
    const isUsed = scenario.faults.some((fault) => mentions(fault, 'node-', nodes));
    if (isUsed || !(await fails({ ...scenario, nodes }))) break;
  }
  for (const services of halves(best.scenario.services)) {
    if (!(await fails({ ...best.scenario, services }))) break;
  }
  for (const questionsPerSecond of halves(best.scenario.questionsPerSecond)) {
    if (!(await fails({ ...best.scenario, questionsPerSecond }))) break;
  }
  return best;
}

function isSame(one: Violation, other: Violation): boolean {
  return one.kind === other.kind && nameOf(one) === nameOf(other);
}

/** The name that a violation is about; undefined when it is about no question. */
function nameOf({ text }: Violation): string | undefined {
  return /^[A-Z]+ (\S+) at /u.exec(text)?.[1];
}

/** Drops halves of the faults, then quarters, …, then single ones. */
async function dropFaults(
  current: () => Scenario,
  fails: (scenario: Scenario) => Promise<boolean>,
): Promise<void> {
  for (let size = current().faults.length; size >= 1; size = size >> 1) {
    for (let from = 0; from < current().faults.length;) {
      const { faults } = current();
      const rest = [...faults.slice(0, from), ...faults.slice(from + size)];
      if (!(await fails({ ...current(), faults: rest }))) from += size;
    }
  }
}

/** 7: 3, 1. */
function halves(count: number): number[] {
  return count <= 1 ? [] : [count >> 1, ...halves(count >> 1)];
}

/** Whether a fault meets a machine that would be gone with so many of its kind. */
function mentions(fault: object, prefix: string, count: number): boolean {
  return Object.values(fault).some(
    (name) =>
      typeof name === 'string' &&
      name.startsWith(prefix) &&
      Number(name.slice(prefix.length)) >= count,
  );
}

export function describe(scenario: Scenario): string {
  const { pods, nodes, services, seconds, faults, others } = scenario;
  const kinds = faults.map(({ kind }) => kind).join(', ');
  return `pods ${pods}, nodes ${nodes}, services ${services}, ${seconds} s, ${others.length > 0 ? `other release: ${others.join(', ')}, ` : ''}faults: ${kinds || 'none'}`;
}
