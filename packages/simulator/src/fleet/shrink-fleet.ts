import { type FaultOutcome, runFaults } from './fleet.js';
import type { FaultPlan } from './fleet-plan.js';

/** Runs to leave out faults: each takes as long as the run until the violation. */
const MOST_RUNS = 100;

/**
 * Runs a fleet with faults. When a promise is broken, it leaves out faults, many at a time and then each alone, as long as one
 * of the same kind is broken, and prints the life of the name of the violation.
 */
export function findFirst(plan: FaultPlan, say: (line: string) => void): FaultOutcome {
  const found = runFaults(plan);
  if (found.violation === undefined) return found;
  say(`${found.violation.message}: looking for the faults that it needs`);
  let least = { plan, outcome: found };
  const all = Array.from({ length: found.faults }, (_, number) => number);
  let needed = all;
  let runs = 0;
  for (let size = needed.length >> 1; size >= 1 && runs < MOST_RUNS; size >>= 1) {
    for (let end = needed.length; end > 0 && runs < MOST_RUNS; end -= size, runs++) {
      const rest = needed.filter((_, at) => at < end - size || at >= end);
      const without = new Set(all.filter((number) => !rest.includes(number)));
      // The end is the same: else other faults follow.
      const fewer = { ...least.plan, events: least.outcome.events, without };
      const outcome = runFaults(fewer);
      if (outcome.violation?.rule !== found.violation.rule) continue;
      least = { plan: fewer, outcome };
      needed = rest;
    }
    say(`${needed.length} faults are left after ${runs} runs`);
  }
  const { service: name, node } = least.outcome.violation!;
  const traced = runFaults({ ...least.plan, trace: { name, node } });
  for (const line of traced.lines) say(line);
  return traced;
}
