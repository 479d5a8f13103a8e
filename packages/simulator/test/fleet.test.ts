import { describe, expect, it } from '@jest/globals';
import { COSTS } from '../src/fleet/costs.js';
import { describeFleet } from '../src/fleet/report.js';
import { runFaults, runFleet } from '../src/fleet/fleet.js';
import type { FaultPlan, FleetPlan } from '../src/fleet/fleet-plan.js';

const PLAN: FleetPlan = {
  seed: 'test',
  nodes: 60,
  pods: 2,
  relays: 0,
  names: 10_000,
  changesPerSecond: 20,
  questionsPerSecond: 1,
  costs: COSTS,
  freshMs: 250,
  constants: {},
};
const SECONDS = 5;

describe('a fleet', () => {
  it('pins what any pod answers: each node is subscribed once, and goes on at another pod when one dies', () => {
    const { calm, subscribedNodes, coverage, herd } = runFleet(PLAN, SECONDS);
    expect(subscribedNodes).toBe(1);
    expect(calm.connections).toBe(0);
    expect(coverage).toBeGreaterThan(0.99);
    expect(calm.pinned / calm.answers).toBeGreaterThan(0.99);
    // A message waits some 10 ms for the next one.
    expect(calm.freshness.quantile(0.99)).toBeLessThan(30_000);
    expect(herd.lost).toBeGreaterThan(PLAN.nodes / 4);
    expect(herd.flushes).toBe(0);
    // One that tries the dead pod again waits for longer.
    expect(herd.againSeconds).toBeLessThan(10);
  });

  it('shows where the limit of subscribers ends it', () => {
    const constants = { MAX_SUBSCRIBERS: 15 };
    const { calm, subscribedNodes } = runFleet({ ...PLAN, constants }, SECONDS);
    expect(subscribedNodes).toBe(0.5);
    expect(calm.pinned).toBeLessThan(calm.answers / 2);
  });

  it('has nodes that publish to the others, if that is wanted', () => {
    const { subscribedNodes, coverage, mostSubscribers } = runFleet(
      { ...PLAN, relays: 4 },
      SECONDS,
    );
    expect([subscribedNodes, coverage]).toEqual([1, 1]);
    expect(mostSubscribers).toBeGreaterThan(PLAN.nodes / 8);
  });

  it('is the same for the same seed', () => {
    const plan = { ...PLAN, nodes: 20, names: 1_000 };
    const run = () => {
      const outcome = runFleet(plan, 2);
      return [outcome.events, describeFleet(plan, 2, outcome)];
    };
    expect(run()).toEqual(run());
  });

  it('knows the constants of the code', () => {
    const constants = { NO_LIMIT: 1 };
    expect(() => runFleet({ ...PLAN, constants }, 1)).toThrow('no constant NO_LIMIT');
  });
});

const FAULTS: FaultPlan = {
  ...PLAN,
  nodes: 20,
  pods: 3,
  names: 200,
  questionsPerSecond: 5,
  events: 150_000,
  without: new Set(),
};

describe('a fleet with faults', () => {
  it('gives no answer that is older than it may be', () => {
    const { violation, faults } = runFaults(FAULTS);
    expect(violation?.message).toBeUndefined();
    expect(faults).toBeGreaterThan(5);
  });

  it.each([
    ['fresh', 'names are collected for too long', { PAUSE_MS: 1_000 }],
    ['lag', 'a publisher that is behind is not left', { LAG_MS: 1_000_000 }],
    ['unversioned', 'what has no version lives for its TTL', { UNVERSIONED_SECONDS: 30 }],
  ])('%s: finds that %s', (rule, _, constants: Record<string, number>) => {
    expect(runFaults({ ...FAULTS, constants }).violation?.rule).toBe(rule);
  });
});
