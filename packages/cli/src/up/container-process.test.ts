import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { type Clock, systemClock } from '@kube-dns/base';
import { isAlive, until } from '@kube-dns/testkit';
import { LogText } from '../../test/support/log-text.js';
import { ManualClock } from '../../test/support/manual-clock.js';
import { planOf } from '../../test/support/plans.js';
import { ContainerProcess, type Exit } from './container-process.js';
import { LogOutput } from './log-output.js';
import type { ContainerPlan } from './plan.js';

function run(plan: ContainerPlan, out: PassThrough | LogText, clock: Clock = systemClock) {
  const exits: Exit[] = [];
  const log = new LogOutput(out, [plan.name], false);
  const child = new ContainerProcess(plan, log, clock, (exit) => exits.push(exit));
  return { child, log, exit: () => until('the exit', () => exits[0]), exits };
}

function nodePlan(code: string): ContainerPlan {
  return { ...planOf('a', ['']), args: ['-e', code] };
}

describe("the end of a container's process", () => {
  it('is reported after its whole output, including the unfinished last line', async () => {
    const out = new LogText();
    const { exit } = run(nodePlan(`process.stdout.write('x\\ny'); process.exitCode = 4`), out);
    expect(await exit()).toEqual({
      isClean: false,
      wasStarted: true,
      description: 'ended with status 4',
      lastLine: 'y',
    });
    expect(out.text).toBe('a        | x\na        | y\n');
  });

  it('is reported although the log is not read', async () => {
    const out = new PassThrough({ highWaterMark: 1 });
    const clock = new ManualClock();
    const { child, exits } = run(planOf('a', ['endless-line.mjs']), out, clock);
    await until('a full log', () => out.writableNeedDrain);
    child.terminate(600_000);
    await until('the exit', () => {
      clock.advance(100);
      return exits.length > 0;
    });
    expect(exits[0]?.description).toBe('was ended by SIGTERM');
    out.resume();
    await until('what was held back', () => out.writableLength === 0);
    expect(exits).toHaveLength(1);
  });

  it('is reported although a grandchild holds the output open', async () => {
    const grandchild = `const { spawn } = require('node:child_process');
      const child = spawn(process.execPath, ['-e', 'setTimeout(() => 0, 60000)'],
        { stdio: ['ignore', 'inherit', 'inherit'] });
      child.unref(); console.log('child', child.pid)`;
    const out = new LogText();
    const clock = new ManualClock();
    const { exits } = run(nodePlan(grandchild), out, clock);
    try {
      const [pid = ''] = await until('the grandchild', () => {
        const pids = out.all(/child (\d+)/g);
        return pids.length > 0 && pids;
      });
      expect(isAlive(Number(pid))).toBe(true);
      await until('the exit', () => {
        clock.advance(100);
        return exits.length > 0;
      });
      expect(exits[0]?.isClean).toBe(true);
    } finally {
      process.kill(Number(out.all(/child (\d+)/g)[0]), 'SIGKILL');
    }
  });
});
