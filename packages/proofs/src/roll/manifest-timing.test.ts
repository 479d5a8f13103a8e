import { expect, it } from '@jest/globals';
import { manifestTiming } from './manifest-timing.js';

it('a pod has the times of the manifest', () => {
  expect(manifestTiming(1)).toEqual({
    preStopMs: 10_000,
    drainMs: 5_000,
    graceMs: 30_000,
    initialDelayMs: 3_000,
    probePeriodMs: 10_000,
    probeTimeoutMs: 5_000,
    failureThreshold: 3,
    propagationMs: 1_000,
  });
});

it('a scale shortens all times but those for a slow machine', () => {
  expect(manifestTiming(10)).toMatchObject({
    preStopMs: 1_000,
    probePeriodMs: 1_000,
    graceMs: 30_000,
    probeTimeoutMs: 5_000,
  });
});
