import { type FaultOutcome, runFaults } from './fleet.js';
import type { FaultPlan } from './fleet-plan.js';

/** Runs to leave out faults: each takes as long as the run until the violation. */
const MOST_RUNS = 100;

/**
 * Runs a fleet with faults. When a promise is broken, it leaves out faults as long as one of the same kind is broken, and
 * prints the life of the name of the violation.
 */
export function findFirst(plan: FaultPlan, say: (line: string) => void): FaultOutcome {
  const found = runFaults(plan);
  if (found.violation === undefined) return found;
  say(`${found.violation.message}: looking for the faults that it needs`);
  let least = { plan, outcome: found };
  for (let number = found.faults - 1, runs = 0; number >= 0 && runs < MOST_RUNS; number--, runs++) {
    // The end is the same: else other faults follow.
    const { events } = least.outcome;
    const fewer = { ...least.plan, events, without: new Set([...least.plan.without, number]) };
    const outcome = runFaults(fewer);
    if (outcome.violation?.rule === found.violation.rule) least = { plan: fewer, outcome };
  }
  const { service: name, node } = least.outcome.violation!;
  const traced = runFaults({ ...least.plan, trace: { name, node } });
  for (const line of traced.lines) say(line);
  return traced;
}
