import { describe, expect, it } from '@jest/globals';
import { COSTS } from '../src/fleet/costs.js';
import { describeFleet } from '../src/fleet/report.js';
import { type FleetPlan, runFleet } from '../src/fleet/fleet.js';

const PLAN: FleetPlan = {
  seed: 'test',
  nodes: 60,
  pods: 2,
  changesPerSecond: 20,
  questionsPerSecond: 1,
  seconds: 10,
  costs: COSTS,
  constants: {},
};

describe('a fleet', () => {
  it('is right within its limits: every node subscribes to every pod, and again after the death of one', () => {
    const { calm, subscribedNodes, subscriptions, herd } = runFleet(PLAN);
    expect(subscribedNodes).toBe(1);
    expect(subscriptions).toBe(2);
    // Some are of the time before the second subscription, and have their TTL.
    expect(calm.pinned / calm.answers).toBeGreaterThan(0.95);
    // With 60 subscribers names are collected for 13 ms.
    expect(calm.freshness.quantile(0.99)).toBeLessThan(20_000);
    expect(herd.lost).toBe(PLAN.nodes);
    expect(herd.againSeconds).toBeLessThan(1);
  });

  it('shows where the limit of subscribers ends it', () => {
    const { calm, subscriptions } = runFleet({ ...PLAN, constants: { MAX_SUBSCRIBERS: 15 } });
    expect(subscriptions).toBe(0.5);
    expect(calm.pinned).toBeLessThan(calm.answers / 2);
  });

  it('is the same for the same seed', () => {
    const run = () => {
      const outcome = runFleet({ ...PLAN, seconds: 2 });
      return [outcome.events, describeFleet(PLAN, outcome)];
    };
    expect(run()).toEqual(run());
  });

  it('knows the constants of the code', () => {
    expect(() => runFleet({ ...PLAN, constants: { NO_LIMIT: 1 } })).toThrow('no constant NO_LIMIT');
  });
});
