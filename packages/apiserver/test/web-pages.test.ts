import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { needsIpv6, unless } from '@kube-dns/testkit';
import type { ApiServer } from '../src/index.js';
import { closeAll, configMap, CONFIG_MAPS, startServer } from './harness.js';

afterEach(closeAll);

/** A request with exactly these headers, as a browser or kubectl sends it; its status and message. */
async function send(server: ApiServer, headers: Record<string, string>, method = 'GET') {
  const outgoing = request(server.url + CONFIG_MAPS, { method, headers });
  outgoing.end(method === 'POST' ? JSON.stringify(configMap('a')) : undefined);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const chunks = await response.toArray();
  const text = Buffer.concat(chunks as Buffer[]).toString();
  return {
    status: response.statusCode,
    message: (JSON.parse(text) as { message?: string }).message,
  };
}

describe('a request of a web page', () => {
  it.each([
    'evil.example',
    'evil.example:18080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.1.2.3',
    'x y',
  ])('for the host %s is refused, which names the host', async (host) => {
    const server = await startServer();
    expect(await send(server, { host })).toEqual({
      status: 403,
      message: `request refused: the host "${host}" is not this server`,
    });
  });

  it.each(['http://evil.example', 'https://127.0.0.1', 'http://127.0.0.1:1', 'null'])(
    'with the origin %s is refused and changes nothing',
    async (origin) => {
      const server = await startServer();
      const headers = { origin, 'content-type': 'text/plain' };
      expect(await send(server, headers, 'POST')).toMatchObject({ status: 403 });
      expect(server.get('ConfigMap', 'default', 'a')).toBeUndefined();
    },
  );

  it.each(['cross-site', 'same-site'])('without an origin that is %s is refused', async (site) => {
    expect(await send(await startServer(), { 'sec-fetch-site': site })).toMatchObject({
      status: 403,
    });
  });

  it('cannot use the test switches', async () => {
    const server = await startServer();
    const answer = await fetch(`${server.url}/_test/hang`, {
      method: 'POST',
      headers: { origin: 'http://evil.example' },
    });
    expect(answer.status).toBe(403);
  });
});

describe('a request of a program', () => {
  it.each(['localhost', 'LOCALHOST:8080', '127.0.0.1', '127.9.9.9:80', '[::1]', '[::1]:8080'])(
    'for the host %s is answered',
    async (host) => {
      expect(await send(await startServer(), { host })).toMatchObject({ status: 200 });
    },
  );

  it('of its own origin is answered, and so is one that a user typed', async () => {
    const server = await startServer();
    expect(await send(server, { origin: server.url })).toMatchObject({ status: 200 });
    expect(await send(server, { 'sec-fetch-site': 'none' })).toMatchObject({ status: 200 });
  });

  it('for any address is answered where the server listens on all', async () => {
    const server = await startServer({ host: '0.0.0.0' });
    expect(await send(server, { host: '10.1.2.3:6443' })).toMatchObject({ status: 200 });
    expect(await send(server, { host: 'evil.example' })).toMatchObject({ status: 403 });
  });
});

unless(needsIpv6(), it).each(['0.0.0.0', '::'])(
  'a server on %s answers at every address of both families',
  async (host) => {
    const { port } = await startServer({ host });
    for (const address of ['127.0.0.1', '[::1]']) {
      expect((await fetch(`http://${address}:${port}/version`)).status).toBe(200);
    }
  },
);
