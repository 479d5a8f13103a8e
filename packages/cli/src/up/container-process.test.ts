import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { LogText } from '../../test/support/log-text.js';
import { planOf } from '../../test/support/plans.js';
import { systemClock } from '../clock.js';
import { ContainerProcess, type Exit } from './container-process.js';
import { LogOutput } from './log-output.js';
import type { ContainerPlan } from './plan.js';

function run(plan: ContainerPlan, out: PassThrough | LogText) {
  const exits: Exit[] = [];
  const log = new LogOutput(out, [plan.name], false);
  const child = new ContainerProcess(plan, log, systemClock, (exit) => exits.push(exit));
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
    const { child, exit, exits } = run(planOf('a', ['endless-line.mjs']), out);
    await until('a full log', () => out.writableNeedDrain);
    child.terminate(5_000);
    expect((await exit()).description).toBe('was ended by SIGTERM');
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
    const { exit } = run(nodePlan(grandchild), out);
    try {
      expect((await exit()).isClean).toBe(true);
    } finally {
      process.kill(Number(out.all(/child (\d+)/g)[0]), 'SIGKILL');
    }
  });
});
