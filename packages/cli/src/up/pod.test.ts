import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Clock, systemClock } from '@kube-dns/base';
import { freePort, isAlive, until } from '@kube-dns/testkit';
import { LogText } from '../../test/support/log-text.js';
import { ManualClock } from '../../test/support/manual-clock.js';
import { getAction, planOf, probeOf } from '../../test/support/plans.js';
import { LogOutput } from './log.js';
import type { ContainerPlan } from './plan.js';
import { Pod } from './pod.js';

let out: LogText;
let port: number;
let pod: Pod;
let readyAfter: number[];
let ended: Promise<string | undefined>;

beforeEach(async () => {
  out = new LogText();
  port = await freePort();
  readyAfter = [];
});

afterEach(async () => {
  pod.kill();
  await ended;
});

function run(plans: readonly ContainerPlan[], clock: Clock): void {
  const log = new LogOutput(
    out,
    plans.map(({ name }) => name),
    false,
  );
  pod = new Pod(plans, { log, clock, onReady: (seconds) => readyAfter.push(seconds) });
  ended = pod.run();
}

function server(env: Record<string, string> = {}): ContainerPlan {
  const readiness = probeOf(getAction(port, '/ready'), { failureThreshold: 1 });
  const probes = { startup: undefined, liveness: undefined, readiness };
  return planOf('web', ['server.mjs', String(port)], { env, probes });
}

const saw = (text: string) => until(text, () => out.text.includes(text));
const set = (isReady: boolean) => fetch(`http://127.0.0.1:${port}/set?ready=${isReady ? 1 : 0}`);

describe('a pod', () => {
  it('is ready when all its containers are, and says once when it is not', async () => {
    const clock = new ManualClock();
    // Answers come in real time, the questions by this clock.
    const sees = (text: string) =>
      until(text, () => {
        clock.advance(50);
        return out.text.includes(text);
      });
    run([server({ NEVER_READY: '1' }), planOf('mule', ['stubborn.mjs'])], clock);
    await sees('mule is ready after');
    expect(readyAfter).toEqual([]);
    // On a busy machine the server may not listen yet.
    await until('the server', () => set(true).catch(() => undefined));
    await sees('web is ready after');
    expect(readyAfter).toHaveLength(1);
    await set(false);
    await sees(
      `the pod is not ready: web (GET http://127.0.0.1:${port}/ready: status 503 not yet)`,
    );
    await set(true);
    await sees('the pod is ready again');
    expect(readyAfter).toHaveLength(1);
  });

  it('says every five seconds what it waits for and why', async () => {
    const clock = new ManualClock();
    run([server({ NEVER_READY: '1' }), planOf('mule', ['stubborn.mjs'])], clock);
    await saw('web      | pid');
    // The manual clock starts the probe; its answer comes in real time.
    await until('a failing probe', () => {
      clock.advance(250);
      return out.text.includes(
        `waiting for web (GET http://127.0.0.1:${port}/ready: status 503 not yet)`,
      );
    });
    expect(out.text).toMatch(/^kube-dns \| waiting for web/m);
  });

  it('stops everything when one container cannot be started', async () => {
    run([planOf('mule', ['server.mjs', String(port)]), planOf('api', ['crash.mjs'])], systemClock);
    expect(await ended).toMatch(/^container api ended with status 1 before it was ready: crash: /);
    const pids = out.all(/\| pid (\d+)/g).map(Number);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(readyAfter).toEqual([]);
  });

  it('says whose end it waits for', async () => {
    const clock = new ManualClock();
    run([planOf('mule', ['stubborn.mjs'])], clock);
    await saw('mule     | pid');
    pod.stop();
    clock.advance(4_999);
    await saw('got SIGTERM');
    clock.advance(1);
    expect(await ended).toBeUndefined();
    expect(out.text).toContain('waiting for the end of mule');
  });

  it('ends immediately when it is killed while it stops', async () => {
    run([planOf('mule', ['stubborn.mjs'])], systemClock);
    const pid = Number(await until('a pid', () => out.all(/\| pid (\d+)/g)[0]));
    pod.stop();
    await saw('got SIGTERM');
    pod.kill();
    await ended;
    expect(isAlive(pid)).toBe(false);
  });
});
