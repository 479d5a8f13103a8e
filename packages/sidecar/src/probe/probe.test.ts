import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createLog } from '@kube-dns/daemon';
import type { DecodedMessage } from '@kube-dns/wire';

import { FakePacing } from '../../test/fake-pacing.js';
import { replyWith } from '../../test/messages.js';
import { addressRecord } from '../../test/responder.js';
import { parseProbeSpec } from './probe-spec.js';
import { Probe } from './probe.js';

const OK = { isOk: true, latencySeconds: 0.0125, error: '' };

let pacing: FakePacing;
let lines: string[];
let ask: (signal: AbortSignal) => Promise<DecodedMessage>;
let probe: Probe;

beforeEach(() => {
  pacing = new FakePacing();
  lines = [];
  ask = () => {
    pacing.timeMs += 12.5;
    return Promise.resolve(replyWith(addressRecord));
  };
  probe = new Probe({
    spec: parseProbeSpec('sample,127.0.0.1,example.com,5,A'),
    ask: (signal) => ask(signal),
    pacing,
    log: createLog({ name: 'test', verbosity: 3, write: (line) => lines.push(line) }),
  });
});
afterEach(() => probe.close());

const failWith = (message: string) => () => Promise.reject(new Error(message));
const failed = (error: string) => ({ isOk: false, latencySeconds: 0, error });

describe('Probe', () => {
  it('is not healthy before its first result, which follows after a random part of the interval', async () => {
    probe.start();
    expect(await pacing.paused()).toBe(2_500);
    expect(probe.health()).toEqual(failed('waiting for first probe'));
    await pacing.next();
    expect(probe.health()).toEqual(OK);
  });

  it('observes the latency of a success and asks again one interval after the query', async () => {
    probe.start();
    expect(await pacing.next()).toBe(5_000 - 12.5);
    expect(probe.latencyMs.count).toBe(1);
    expect(probe.latencyMs.sum).toBe(12.5);
    expect(probe.errors).toBe(0);
    await pacing.next();
    expect(probe.latencyMs.count).toBe(2);
  });

  it('has the buckets of the original', () => {
    expect(probe.latencyMs.bounds).toEqual([
      0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192,
    ]);
  });

  it('counts a failure, leaves the histogram alone, and recovers with the next success', async () => {
    const succeed = ask;
    ask = failWith('no reply');
    probe.start();
    expect(await pacing.next()).toBe(5_000);
    expect(probe.health()).toEqual(failed('no reply'));
    expect(probe.errors).toBe(1);
    expect(probe.latencyMs.count).toBe(0);
    ask = succeed;
    await pacing.next();
    expect(probe.health()).toEqual(OK);
    expect(probe.errors).toBe(1);
  });

  it('counts a reply without answer records as a failure', async () => {
    ask = () => Promise.resolve(replyWith());
    probe.start();
    await pacing.next();
    expect(probe.health()).toEqual(failed('no RRs for domain "example.com."'));
  });

  it('asks again immediately when a reply takes longer than the interval', async () => {
    ask = () => {
      pacing.timeMs += 6_000;
      return Promise.resolve(replyWith(addressRecord));
    };
    probe.start();
    expect(await pacing.next()).toBe(0);
  });

  it('returns the age of its last result, good or bad, and none before the first', async () => {
    probe.start();
    await pacing.paused();
    expect(probe.ageMs()).toBeNull();
    await pacing.next();
    pacing.timeMs += 700;
    expect(probe.ageMs()).toBe(700);
    ask = failWith('no reply');
    await pacing.next();
    expect(probe.ageMs()).toBe(0);
  });

  it('is not healthy any more once its last result is older than three intervals', async () => {
    probe.start();
    await pacing.next();
    pacing.timeMs += 15_000;
    expect(probe.health()).toEqual(OK);
    pacing.timeMs += 1;
    expect(probe.health()).toEqual(failed('last probe was 15 s ago'));
  });

  it('logs once that it fails or succeeds, and each failure with -v=3', async () => {
    const succeed = ask;
    probe.start();
    await pacing.next();
    await pacing.next();
    ask = failWith('no reply');
    await pacing.next();
    await pacing.next();
    ask = succeed;
    await pacing.next();
    expect(lines.map((line) => line[0]! + ' ' + line.trim().split('] ')[1]!)).toEqual([
      'I probe sample: ok',
      'W probe sample: failing: no reply',
      'I probe sample: still failing: no reply',
      'I probe sample: ok',
    ]);
  });

  it('cancels the query in flight when it is closed, and counts nothing', async () => {
    const asked = new Promise<AbortSignal>((resolve) => {
      ask = (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('canceled')));
          resolve(signal);
        });
    });
    probe.start();
    await pacing.paused();
    void pacing.next();
    const signal = await asked;
    probe.close();
    probe.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(signal.aborted).toBe(true);
    expect(probe.errors).toBe(0);
    expect(lines).toEqual([]);
  });
});
