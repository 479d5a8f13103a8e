import { describe, expect, it } from '@jest/globals';
import { ClusterPlan } from './cluster-plan.js';
import { changesOf, togglesOf } from './toggles.js';

const PLAN = new ClusterPlan({ services: 100, slices: 100, endpointsPerSlice: 1, headless: 0.1 });

describe('the toggles', () => {
  it('have the changes that users wait for', () => {
    expect(changesOf(togglesOf(PLAN))).toEqual([
      'service deleted',
      'service created',
      'address changed',
      'headless endpoint removed',
      'headless endpoint added',
      'PTR changed',
      'namespace created',
      'namespace deleted',
    ]);
  });

  it('have one question each, and two answers', () => {
    for (const [first, second] of togglesOf(PLAN)) {
      const { name, type, ...before } = first.expectation;
      expect(second.expectation).toMatchObject({ name, type });
      expect(second.expectation).not.toMatchObject(before);
    }
  });
});
