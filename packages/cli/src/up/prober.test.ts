import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '@kube-dns/testkit';
import { ManualClock } from '../../test/support/manual-clock.js';
import { getAction, probeOf } from '../../test/support/plans.js';
import type { ProbeAction, ProbeSpec } from './manifest.js';
import { Prober, runProbe } from './prober.js';

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

let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/silent') return;
    if (request.url === '/endless') {
      response.statusCode = 500;
      const write = () => {
        while (response.write('x'.repeat(1_000)));
      };
      response.on('drain', write);
      write();
      return;
    }
    response.statusCode = Number(request.url?.slice(1));
    response.end(`because of ${String(request.headers['x-why'])}\nand more`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
});

function run(action: ProbeAction, signal = new AbortController().signal) {
  return runProbe(action, { cwd: process.cwd(), env: { PATH: process.env.PATH ?? '' } }, signal);
}

function timeout(): AbortSignal {
  return AbortSignal.any([AbortSignal.timeout(50)]);
}

describe('an HTTP probe', () => {
  it.each([200, 204, 302, 399])('takes %i for success', async (status) => {
    expect(await run(getAction(port, `/${status}`))).toBeUndefined();
  });

  it('reports the status and the first line of the body on failure', async () => {
    const action = { ...getAction(port, '/503'), headers: { 'x-why': 'rain' } };
    expect(await run(action)).toBe(`GET http://127.0.0.1:${port}/503: status 503 because of rain`);
  });

  it('reads no more of the answer than it shows', async () => {
    const failure = await run(getAction(port, '/endless'));
    expect(failure).toContain('status 500 xxx');
    expect(failure?.length).toBeLessThan(300);
  });

  it('reports a refused connection', async () => {
    const closed = await freePort();
    expect(await run(getAction(closed, '/'))).toBe(
      `GET http://127.0.0.1:${closed}/: connection refused`,
    );
  });

  it('ends when it is aborted', async () => {
    expect(await run(getAction(port, '/silent'), timeout())).toContain('/silent: ');
  });
});

describe('a TCP probe', () => {
  it('succeeds when the port is open', async () => {
    expect(await run({ kind: 'tcp', host: '127.0.0.1', port })).toBeUndefined();
  });

  it('fails when it is not', async () => {
    const closed = await freePort();
    expect(await run({ kind: 'tcp', host: '127.0.0.1', port: closed })).toBe(
      `connect to 127.0.0.1:${closed}: connection refused`,
    );
  });
});

describe('an exec probe', () => {
  const node = (code: string): ProbeAction => ({
    kind: 'exec',
    command: [process.execPath, '-e', code],
  });

  it('succeeds with status 0', async () => {
    expect(await run(node(''))).toBeUndefined();
  });

  it('fails with another status', async () => {
    expect(await run(node('process.exit(3)'))).toMatch(/: status 3$/);
  });

  it('fails when the program is not there', async () => {
    const failure = await run({ kind: 'exec', command: ['/nowhere/check'] });
    expect(failure).toBe('exec /nowhere/check: no such file or directory');
  });

  it('kills the program when it is aborted', async () => {
    expect(await run(node('setInterval(() => 0, 1000)'), timeout())).toMatch(/^exec /);
  });
});
