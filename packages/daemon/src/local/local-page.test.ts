import { request } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { needsIpv6, unless } from '@kube-dns/testkit';
import { type HttpServer, startHttpServer } from '../http-server.js';
import { createLog } from '../log.js';
import { localPages } from './local-page.js';

const log = createLog({ name: 'test', verbosity: 0, write: () => undefined });
const NOT_FOUND = '404 404 page not found\n';
const [OTHER] = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ internal, family }) => !internal && family === 'IPv4')
  .map(({ address }) => address);

let server: HttpServer;
beforeAll(async () => {
  const pages = new Map(
    ['/why', '/open'].map((path) => [
      path,
      (parameters: URLSearchParams) => ({
        status: 200,
        body: JSON.stringify(parameters.get('name')),
        headers: { 'X-Page': path },
      }),
    ]),
  );
  server = await startHttpServer({
    host: '',
    port: 0,
    log,
    purpose: 'test',
    routes: (app) => app.use(localPages(pages, new Set(['/open']))),
  });
});
afterAll(() => server.close());

interface Asking {
  readonly path?: string;
  readonly method?: string;
  readonly address?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask({ path = '/why?name=a', method, address, headers = {} }: Asking) {
  return await new Promise<string>((resolve, reject) => {
    const options = { host: address ?? '127.0.0.1', port: server.port, path, method };
    const asked = request(
      { ...options, headers: { host: 'localhost', ...headers } },
      (response) => {
        let text = `${response.statusCode} `;
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => resolve(text));
      },
    );
    asked.on('error', reject).end();
  });
}

/** The status of the reply to a request of which each byte is given. */
async function askRaw(...lines: readonly string[]): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    socket.on('end', () => resolve(text.split(' ')[1] ?? '')).on('error', reject);
    socket.write([...lines, 'Connection: close', '', ''].join('\r\n'));
  });
}

describe('a local page', () => {
  it.each(['localhost', '127.0.0.1:80', '127.8.9.10', '[::1]:8080', 'LOCALHOST:80'])(
    'answers requests from this machine for the host %s',
    async (host) => {
      expect(await ask({ headers: { host } })).toBe('200 "a"');
    },
  );

  it.each([
    ...['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '127.0.0.1@evil'],
    ...['10.0.0.1', '[::2]', '::1', '2130706433', '0x7f.1', '127.1'],
  ])(
    'is not there for the host %j: the name of a page of another site may lead here',
    async (host) => {
      expect(await ask({ headers: { host } })).toBe(NOT_FOUND);
    },
  );

  it('is not there for a page of another site that has the browser ask', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil', 'file://']) {
      expect(await ask({ headers: { origin } })).toBe(NOT_FOUND);
    }
    for (const site of ['cross-site', 'same-site']) {
      expect(await ask({ headers: { 'sec-fetch-site': site } })).toBe(NOT_FOUND);
    }
    const own = { origin: 'http://localhost:8081', 'sec-fetch-site': 'same-origin' };
    expect(await ask({ headers: own })).toBe('200 "a"');
    expect(await ask({ headers: { 'sec-fetch-site': 'none' } })).toBe('200 "a"');
  });

  it('is not there where a request names another host as well', async () => {
    const [get, host] = ['GET /why HTTP/1.1', 'Host: localhost'];
    expect(await askRaw(get, host)).toBe('200');
    expect(await askRaw(get, host, 'Host: evil.example')).toMatch(/^40[04]$/);
    expect(await askRaw(get, 'Host: evil.example', host)).toMatch(/^40[04]$/);
    expect(await askRaw('GET http://localhost/why HTTP/1.1', host)).toBe('200');
    expect(await askRaw('GET http://evil.example/why HTTP/1.1', host)).toBe('404');
    expect(await askRaw('GET http://localhost@evil/why HTTP/1.1', host)).toBe('404');
  });

  unless(needsIpv6(), it)('answers over IPv6, and over IPv4 on a socket of IPv6', async () => {
    expect(await ask({ address: '::1', headers: { host: '[::1]' } })).toBe('200 "a"');
    expect(await ask({ address: '::ffff:127.0.0.1' })).toBe('200 "a"');
  });

  unless(OTHER === undefined ? 'this machine has no address but loopback' : undefined, it)(
    'is not there at another address, whatever the headers say',
    async () => {
      const forged = {
        'x-forwarded-for': '127.0.0.1',
        'x-real-ip': '127.0.0.1',
        forwarded: 'for=127.0.0.1;host=localhost',
        'x-forwarded-host': 'localhost',
      };
      expect(await ask({ address: OTHER! })).toBe(NOT_FOUND);
      expect(await ask({ address: OTHER!, headers: forged })).toBe(NOT_FOUND);
      expect(await ask({ address: OTHER!, path: '/open' })).toBe('200 null');
    },
  );

  it('is read, not written to', async () => {
    expect(await ask({ method: 'HEAD' })).toBe('200 ');
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      expect(await ask({ method })).toBe(NOT_FOUND);
      expect(await ask({ method, path: '/open' })).toBe(NOT_FOUND);
    }
  });

  it('is there for every client where it is open', async () => {
    expect(await ask({ path: '/open?name=b', headers: { host: 'evil.example' } })).toBe('200 "b"');
  });

  it('takes any text of a request', async () => {
    for (const path of ['//why', '/why?%zz', '/why?name=%', 'http://[/why', '/why?a#b?name=c']) {
      expect(await ask({ path })).toMatch(/^(?:200|400|404) /);
    }
  });

  it('is not stored, and has the type that it says', async () => {
    const { headers } = await fetch(`http://127.0.0.1:${server.port}/why`);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'x-page': '/why',
    });
  });
});
