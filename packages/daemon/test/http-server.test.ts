import { once } from 'node:events';
import { request, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { needsIpv6, unless } from '@kube-dns/testkit';

import { StartupError } from '../src/errors.js';
import { startHttpServer, type HttpServer } from '../src/http-server.js';
import { createLog } from '../src/log.js';
import { metricsHandler } from '../src/metrics/exposition.js';

let lines: string[];
let servers: HttpServer[];
beforeEach(() => {
  lines = [];
  servers = [];
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
});

async function start(host = '127.0.0.1', port = 0): Promise<HttpServer> {
  const server = await startHttpServer({
    host,
    port,
    purpose: 'sample',
    log: createLog({ name: 'test', verbosity: 0, write: (line) => lines.push(line) }),
    routes: (app) => {
      app.all('/ok', (_request, response) => void response.type('text/plain').send('ok\n'));
      app.all('/metrics', metricsHandler([]));
      app.all('/hang', () => undefined);
      app.all('/broken', () => {
        throw new Error('secret reason');
      });
      app.all('/broken-later', () => Promise.reject(new Error('secret reason')));
    },
  });
  servers.push(server);
  return server;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function ask(port: number, path: string, method = 'GET', host = '127.0.0.1') {
  return new Promise<Answer>((resolve, reject) => {
    const outgoing = request({ host, port, path, method, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
    });
    outgoing.on('error', reject).end();
  });
}

async function openConnection(port: number, request: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => {
    /* a reset is one way to be closed */
  });
  socket.resume();
  await once(socket, 'connect');
  socket.write(request);
  return socket;
}

unless(needsIpv6(), it).each(['', '0.0.0.0', '::', '[::]'])(
  'the host "%s" is every address of both families',
  async (host) => {
    const { port } = await start(host);
    for (const address of ['127.0.0.1', '::1']) {
      expect(await ask(port, '/ok', 'GET', address)).toMatchObject({ status: 200 });
    }
    await expect(start(host, port)).rejects.toThrow('address already in use');
  },
);

describe('startHttpServer', () => {
  it('serves its routes for any method and does not identify itself', async () => {
    const { port } = await start();
    const { status, headers, body } = await ask(port, '/ok', 'POST');
    expect({ status, body }).toEqual({ status: 200, body: 'ok\n' });
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(headers).not.toHaveProperty('x-powered-by');
    expect(headers).not.toHaveProperty('etag');
  });

  it.each(['/', '/OK', '/ok/', '/nothing'])(
    'answers %s as Go answers an unknown path',
    async (path) => {
      const { port } = await start();
      const { status, headers, body } = await ask(port, path);
      expect({ status, body }).toEqual({ status: 404, body: '404 page not found\n' });
      expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    },
  );

  it.each(['/broken', '/broken-later'])(
    'logs the reason of a failure at %s and does not send it',
    async (path) => {
      const { port } = await start();
      const { status, body } = await ask(port, path);
      expect({ status, body }).toEqual({ status: 500, body: 'internal server error\n' });
      expect(lines[0]).toContain(`sample: ${path}: secret reason`);
    },
  );

  it('compresses metrics for a client that accepts gzip, and for no other', async () => {
    const { port } = await start();
    const url = `http://127.0.0.1:${port}/metrics`;
    const headers = ['gzip, deflate', 'gzip;q=0', 'identity'].map((text) => ({
      'Accept-Encoding': text,
    }));
    const [packed, refused, plain] = await Promise.all(
      headers.map((each) => fetch(url, { headers: each })),
    );
    expect(packed?.headers.get('content-encoding')).toBe('gzip');
    expect(await packed?.text()).toContain('\nprocess_start_time_seconds ');
    for (const response of [refused, plain]) {
      expect(response?.headers.get('content-encoding')).toBeNull();
      expect(await response?.text()).toContain('\nprocess_start_time_seconds ');
    }
  });

  it('serves metrics in text format 0.0.4', async () => {
    const { port } = await start();
    const { status, headers, body } = await ask(port, '/metrics');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(body).toMatch(/^process_start_time_seconds \d+/m);
  });

  unless(needsIpv6(), it)('accepts an IPv6 address in brackets', async () => {
    const { port } = await start('[::1]');
    expect((await ask(port, '/ok', 'GET', '::1')).status).toBe(200);
  });

  it('names purpose, address and reason when the port is in use', async () => {
    const { port } = await start();
    const second = start('127.0.0.1', port);
    await expect(second).rejects.toBeInstanceOf(StartupError);
    await expect(second).rejects.toMatchObject({
      message: `sample: cannot listen on 127.0.0.1:${port}: address already in use`,
      exitCode: 255,
    });
    await expect(start('0.0.0.0', port)).rejects.toThrow(`cannot listen on :${port}: address`);
  });

  it('names purpose, address and reason when this machine does not have the address', async () => {
    await expect(start('192.0.2.1')).rejects.toThrow(
      'sample: cannot listen on 192.0.2.1:0: address not available',
    );
  });
});

describe('closing an HTTP server', () => {
  it('ends idle keep-alive connections and requests in progress', async () => {
    const server = await start();
    const idle = await openConnection(server.port, 'GET /ok HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(idle, 'data');
    const waiting = await openConnection(server.port, 'GET /hang HTTP/1.1\r\nHost: x\r\n\r\n');
    const halfSent = await openConnection(server.port, 'GET /ok HT');
    // After one whole exchange the server has certainly seen the two earlier connections.
    await ask(server.port, '/ok');
    const ended = [idle, waiting, halfSent].map((socket) => once(socket, 'close'));
    await server.close();
    await Promise.all(ended);
    await expect(ask(server.port, '/ok')).rejects.toThrow('ECONNREFUSED');
  });

  it('may be done twice', async () => {
    const server = await start();
    await Promise.all([server.close(), server.close()]);
    await server.close();
  });
});
