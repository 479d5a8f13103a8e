import { describe, expect, it } from '@jest/globals';
import { ManualClock } from '../../test/support/manual-clock.js';
import { probeOf } from '../../test/support/plans.js';
import type { ProbeSpec } from './probe-spec.js';
import { Prober } from './prober.js';

/** A prober whose probes return the listed results in order, the last one for ever. */
function prober(spec: Partial<ProbeSpec>, results: string, eagerPeriodMs?: number) {
  const clock = new ManualClock();
  const verdicts: boolean[] = [];
  const startedAt: number[] = [];
  const probe = new Prober(
    probeOf({ kind: 'tcp', host: '', port: 1 }, { periodMs: 1_000, ...spec }),
    (signal) => {
      const result = results[startedAt.length] ?? results.at(-1);
      startedAt.push(clock.now());
      if (result === '.') {
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve((signal.reason as Error).message));
        });
      }
      return Promise.resolve(result === '+' ? undefined : 'no');
    },
    {
      clock,
      onVerdict: (isHealthy) => verdicts.push(isHealthy),
      ...(eagerPeriodMs === undefined ? {} : { eagerPeriodMs }),
    },
  );
  const advance = async (ms: number) => {
    clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { probe, advance, verdicts, startedAt };
}

describe('repeating a probe', () => {
  it('waits for the initial delay and then for its period', async () => {
    const { advance, startedAt } = prober({ initialDelayMs: 3_000 }, '+');
    await advance(2_999);
    expect(startedAt).toEqual([]);
    for (let count = 0; count < 30; count += 1) await advance(100);
    expect(startedAt.length).toBe(3);
  });

  it('reports a verdict when a threshold is reached, and only once', async () => {
    const spec = { successThreshold: 2, failureThreshold: 3 };
    const { advance, verdicts } = prober(spec, '+-++--+---+++');
    const after: boolean[][] = [];
    await advance(0);
    for (let count = 0; count < 13; count += 1) {
      after.push([...verdicts]);
      await advance(1_000);
    }
    expect(after[2]).toEqual([]);
    expect(after[3]).toEqual([true]);
    expect(after[8]).toEqual([true]);
    expect(after[9]).toEqual([true, false]);
    expect(after[12]).toEqual([true, false, true]);
  });

  it('takes silence for a failure after the timeout', async () => {
    const { probe, advance, verdicts } = prober({ timeoutMs: 500, failureThreshold: 1 }, '.');
    await advance(0);
    await advance(499);
    expect(verdicts).toEqual([]);
    await advance(1);
    expect(verdicts).toEqual([false]);
    expect(probe.lastFailure).toBe('no answer within 0.5 s');
  });

  it('asks more often until the first success when it is eager', async () => {
    const { advance, startedAt } = prober({}, '--+-', 200);
    await advance(0);
    for (let count = 0; count < 20; count += 1) await advance(100);
    expect(startedAt).toEqual([0, 200, 400, 1_400]);
  });

  it('is silent once closed, with a probe in progress', async () => {
    const { probe, advance, verdicts, startedAt } = prober({ failureThreshold: 1 }, '.');
    await advance(0);
    probe.close();
    probe.close();
    await advance(10_000);
    expect(startedAt).toEqual([0]);
    expect(verdicts).toEqual([]);
  });
});
