import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { againIfStalled, timed } from './stalls.js';

/** Stops this process for so long, as a machine does that has no CPU for it. */
async function stall(ms: number): Promise<void> {
  const script = `kill -STOP ${process.pid}; sleep ${ms / 1_000}; kill -CONT ${process.pid}`;
  const stopping = spawn('sh', ['-c', script], { stdio: 'ignore' });
  await new Promise((resolve) => stopping.once('close', resolve));
}

function compute(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

describe('the time that work takes', () => {
  it('is that of the clock, and without the stalls of the machine', async () => {
    const { result, elapsedMs, runningMs } = await timed(async () => {
      await stall(400);
      return 7;
    });
    expect(result).toBe(7);
    expect(elapsedMs).toBeGreaterThanOrEqual(400);
    expect(elapsedMs - runningMs).toBeGreaterThanOrEqual(350);
  });

  it('has the time that it computes or waits', async () => {
    const { runningMs } = await timed(async () => {
      compute(200);
      await delay(100);
    });
    // Less on a machine that stalls now.
    expect(runningMs).toBeGreaterThanOrEqual(100);
  });
});

describe('work that depends on time', () => {
  it('is done again when it fails and the machine stalled', async () => {
    let runs = 0;
    const work = async () => {
      if (++runs === 2) return runs;
      await stall(200);
      throw new Error('late');
    };
    expect(await againIfStalled(work)).toBe(2);
  });

  it('is not done without end', async () => {
    let runs = 0;
    const work = async () => {
      runs++;
      await stall(150);
      throw new Error('late');
    };
    await expect(againIfStalled(work)).rejects.toThrow('late');
    expect(runs).toBe(4);
  });

  it('fails at once when the machine did not stall', async () => {
    let runs = 0;
    const work = () => Promise.reject(new Error(`wrong ${++runs}`));
    await expect(againIfStalled(work)).rejects.toThrow('wrong 1');
  });
});
