import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Clock, systemClock } from '@kube-dns/base';
import { freePort, isAlive, until } from '@kube-dns/testkit';
import { LogText } from '../../test/support/log-text.js';
import { ManualClock } from '../../test/support/manual-clock.js';
import { getAction, planOf, probeOf } from '../../test/support/plans.js';
import { BackOff, Container, ContainerProcess, type Exit } from './container.js';
import { LogOutput } from './log.js';
import type { ContainerPlan } from './plan.js';

let out: LogText;
let readiness: boolean[];
let failures: string[];
let container: Container | undefined;
let port: number;

beforeEach(async () => {
  out = new LogText();
  readiness = [];
  failures = [];
  port = await freePort();
});

afterEach(async () => {
  const stopped = container?.stop(0);
  container?.kill();
  await stopped;
  container = undefined;
});

function start(plan: ContainerPlan, clock: Clock): Container {
  container = new Container(plan, new LogOutput(out, [plan.name], false), clock, {
    onReadyChange: ({ isReady }) => readiness.push(isReady),
    onFailedStart: (message) => failures.push(message),
  });
  container.start();
  return container;
}

function pid(run: number): Promise<number> {
  return until(`run ${run}`, () => Number(out.all(/\| pid (\d+)/g)[run - 1] ?? 0) || undefined);
}

const server = (probes: Partial<ContainerPlan['probes']> = {}, env: Record<string, string> = {}) =>
  planOf('web', ['server.mjs', String(port)], {
    probes: { startup: undefined, readiness: undefined, liveness: undefined, ...probes },
    env,
  });

describe('a container without probes', () => {
  it('is ready when it has run for a second', async () => {
    const clock = new ManualClock();
    start(server(), clock);
    await pid(1);
    clock.advance(999);
    expect(readiness).toEqual([]);
    clock.advance(1);
    expect(readiness).toEqual([true]);
  });

  it('is restarted immediately, then after 10 s, then after 20 s', async () => {
    const clock = new ManualClock();
    start(server(), clock);
    await pid(1);
    clock.advance(1_000);
    for (const [run, delayMs] of [[1, 0] as const, [2, 10_000] as const, [3, 20_000] as const]) {
      const when = delayMs === 0 ? 'immediately' : `in ${delayMs / 1000} s`;
      process.kill(await pid(run), 'SIGKILL');
      await until(when, () => out.text.includes(`web was ended by SIGKILL, is restarted ${when}`));
      clock.advance(delayMs - 1);
      expect(container?.isRunning).toBe(false);
      clock.advance(1);
      expect(container?.isRunning).toBe(true);
    }
    expect(readiness).toEqual([true, false]);
    expect(failures).toEqual([]);
  });

  it('is restarted when it ends with status 0 before it was ready', async () => {
    const clock = new ManualClock();
    start(planOf('job', ['crash.mjs', '0']), clock);
    await until('the end', () => out.text.includes('job ended with status 0, is restarted'));
    expect(failures).toEqual([]);
  });
});

describe('a container that fails at its first start', () => {
  it('is not started again, and its last line is reported', async () => {
    const clock = new ManualClock();
    start(planOf('api', ['crash.mjs', '3']), clock);
    await until('a failure', () => failures.length > 0);
    expect(failures).toEqual([
      'container api ended with status 3 before it was ready: ' +
        'crash: objects/web.yaml: spec.ports is missing',
    ]);
    clock.advance(600_000);
    expect(container?.isRunning).toBe(false);
    expect(out.text).toContain('api      | about to read the objects');
  });

  it('reports why the program cannot be executed', async () => {
    start({ ...planOf('api', ['']), file: '/nowhere/api' }, systemClock);
    await until('a failure', () => failures.length > 0);
    expect(failures).toEqual(['container api cannot be started: no such file or directory']);
  });

  it('reports an argument that cannot be passed', async () => {
    start(planOf('api', ['crash.mjs', 'a\0b']), systemClock);
    await until('a failure', () => failures.length > 0);
    expect(failures[0]).toContain('container api cannot be started: ');
  });
});

describe('a container with probes', () => {
  const set = (isReady: boolean) => fetch(`http://127.0.0.1:${port}/set?ready=${isReady ? 1 : 0}`);

  it('is ready while its readiness probe says so', async () => {
    start(server({ readiness: probeOf(getAction(port, '/ready')) }), systemClock);
    await until('ready', () => readiness.length === 1);
    await set(false);
    await until('not ready', () => readiness.length === 2);
    expect(container?.condition).toBe(`GET http://127.0.0.1:${port}/ready: status 503 not yet`);
    await set(true);
    await until('ready again', () => readiness.length === 3);
    expect(readiness).toEqual([true, false, true]);
    expect(out.all(/\| pid (\d+)/g)).toHaveLength(1);
  });

  it('is restarted when its liveness probe fails, though it was never ready', async () => {
    const clock = new ManualClock();
    const liveness = probeOf(getAction(port, '/ready'), { initialDelayMs: 2_000 });
    const never = probeOf(getAction(port, '/ready'));
    start(server({ liveness, readiness: never }, { NEVER_READY: '1' }), clock);
    const first = await pid(1);
    clock.advance(2_000);
    // The probes are sent when the clock says so, and have their answers in real time.
    await until('another run', () => {
      clock.advance(20);
      return out.all(/\| pid (\d+)/g).length === 2;
    });
    expect(isAlive(first)).toBe(false);
    expect(failures).toEqual([]);
    expect(out.text).toContain(
      `web is restarted, its liveness probe failed: GET http://127.0.0.1:${port}/ready: `,
    );
  });

  it('is probed for readiness only after its startup probe succeeded', async () => {
    const startup = probeOf(getAction(port, '/ready'), { failureThreshold: 1_000 });
    const ready = probeOf({ kind: 'tcp', host: '127.0.0.1', port });
    start(server({ startup, readiness: ready }, { NEVER_READY: '1' }), systemClock);
    await until('a failing startup probe', () => container?.condition.includes('status 503'));
    expect(readiness).toEqual([]);
    await set(true);
    await until('ready', () => readiness.length === 1);
  });

  it('is ready as soon as its startup probe succeeds when it has no other', async () => {
    const startup = probeOf(getAction(port, '/ready'), { failureThreshold: 1_000 });
    start(server({ startup }), systemClock);
    await until('ready', () => readiness.length === 1);
    expect(out.all(/\| pid (\d+)/g)).toHaveLength(1);
  });
});

describe('stopping a container', () => {
  it('ends its process and does not start it again', async () => {
    start(server(), new ManualClock());
    const first = await pid(1);
    await Promise.all([container?.stop(), container?.stop()]);
    expect(isAlive(first)).toBe(false);
    expect(container?.isRunning).toBe(false);
    expect(readiness).toEqual([]);
  });

  it('kills a process that ignores SIGTERM, after the grace period', async () => {
    const clock = new ManualClock();
    start(planOf('mule', ['stubborn.mjs']), clock);
    const first = await pid(1);
    const stopped = container?.stop();
    await until('SIGTERM', () => out.text.includes('got SIGTERM'));
    clock.advance(4_999);
    expect(isAlive(first)).toBe(true);
    clock.advance(1);
    await stopped;
    expect(isAlive(first)).toBe(false);
  });

  it('ends the wait for a restart', async () => {
    const clock = new ManualClock();
    start(planOf('job', ['crash.mjs', '0']), clock);
    await until('the end', () => out.text.includes('is restarted'));
    await container?.stop();
    clock.advance(600_000);
    expect(container?.isRunning).toBe(false);
  });
});

describe('the output of a container', () => {
  it('may be an endless line', async () => {
    start(planOf('noise', ['endless-line.mjs']), new ManualClock());
    await until('the end', () => out.text.includes('is restarted'));
    const lines = out.text.split('\n').filter((line) => line.startsWith('noise    | x'));
    expect(lines).toHaveLength((128 * 65_536) / 16_384);
  });
});

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

describe('the back-off of restarts', () => {
  it('is none at first, then 10 s doubling to 5 minutes', () => {
    const backOff = new BackOff();
    const delays = Array.from({ length: 9 }, () => backOff.next(1_000) / 1000);
    expect(delays).toEqual([0, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('starts over after ten minutes of running', () => {
    const backOff = new BackOff();
    backOff.next(1_000);
    backOff.next(1_000);
    expect(backOff.next(599_999)).toBe(20_000);
    expect(backOff.next(600_000)).toBe(0);
    expect(backOff.next(1_000)).toBe(10_000);
  });
});
