import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '@kube-dns/testkit';
import { getAction } from '../../test/support/plans.js';
import { runProbe } from './probe.js';
import type { ProbeAction } from './probe-spec.js';

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
