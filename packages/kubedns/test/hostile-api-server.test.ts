import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import {
  type AddressInfo,
  createServer as createPlainServer,
  type Server,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { TestAuthority } from '@kube-dns/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { StreamError } from '../src/errors.js';
import { ApiClient } from '../src/watch/api-client.js';
import { LineReader } from '../src/watch/json-stream.js';

const ADDRESS = '127.0.0.1';
const authority = new TestAuthority();
const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
const EVENT = '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}\n';
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

let folder: string;
let server: Server | undefined;
let client: ApiClient;
/** Connections that are open. */
const sockets = new Set<Socket>();
let accepted = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubedns-'));
  await writeFile(join(folder, 'ca.crt'), authority.cert);
  accepted = 0;
});

afterEach(async () => {
  client.close();
  for (const socket of sockets) socket.destroy();
  server?.close();
  await rm(folder, { recursive: true });
});

/** An API server that answers the first request of a connection with these bytes, the last ones without an end. */
async function serve(
  tls: TlsOptions | undefined,
  first: string,
  again = '',
  cpuMs?: () => number,
): Promise<string> {
  const bytes = Buffer.from(again.repeat(1_000));
  const repeat = (socket: Socket) => {
    while (bytes.length > 0 && !socket.destroyed && socket.write(bytes));
    if (bytes.length > 0) socket.once('drain', () => setImmediate(repeat, socket));
  };
  const onConnection = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.once('data', () => {
      socket.write(first);
      repeat(socket);
    });
  };
  server = tls === undefined ? createPlainServer(onConnection) : createTlsServer(tls, onConnection);
  server.on('connection', () => accepted++);
  server.listen(0, ADDRESS);
  await once(server, 'listening');
  const url = `http${tls === undefined ? '' : 's'}://${ADDRESS}:${(server.address() as AddressInfo).port}`;
  const config = new KubeConfig();
  const cluster = {
    name: 'test',
    server: url,
    ...(tls === undefined ? {} : { caFile: join(folder, 'ca.crt') }),
    skipTLSVerify: tls === undefined,
  };
  config.loadFromClusterAndUser(cluster, { name: 'nobody' });
  client = new ApiClient(config, 'test', undefined, cpuMs);
  return url;
}

/** The values of a watch until it ends; rejects as it does. */
async function watch(most = Number.POSITIVE_INFINITY): Promise<unknown[]> {
  const values: unknown[] = [];
  const lines = new LineReader();
  const query = new URLSearchParams();
  const { signal } = new AbortController();
  for await (const { bytes } of await client.get({ path: '/api', query, signal, isWatch: true })) {
    values.push(...lines.push(bytes));
    if (values.length >= most) break;
  }
  return values;
}

const INFORMATIONAL = 'HTTP/1.1 103 \r\n\r\n';

describe.each([
  ['plain', undefined],
  ['TLS', authority.issue({ names: [ADDRESS] })],
])('a hostile API server over %s', (_what, tls) => {
  it.each([
    ['103 responses before an answer', '', INFORMATIONAL, 'informational responses'],
    ['100 responses before an answer', '', 'HTTP/1.1 100 \r\n\r\n', 'informational responses'],
    ['empty lines in a watch', HEAD + chunk(EVENT), chunk('\n'.repeat(100)), 'blank lines'],
    ['blank lines in a watch', HEAD + chunk(EVENT), chunk(' \r\n'.repeat(100)), 'blank lines'],
    ['pieces of one byte', HEAD + chunk(EVENT), chunk(' '), 'pieces of fewer than 64 bytes'],
  ])(
    'finding 7: is ended where it sends %s without an end',
    async (_kind, first, again, reason) => {
      await serve(tls, first, again);
      const failure = await watch().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(StreamError);
      expect(failure).toMatchObject({
        reason: 'garbled',
        message: expect.stringContaining(reason),
      });
    },
  );

  it('finding 7: is read where it sends a few of them', async () => {
    const few = INFORMATIONAL.repeat(8) + HEAD + chunk('\n'.repeat(900)) + chunk(' ').repeat(900);
    await serve(tls, few + chunk(EVENT));
    expect(await watch(1)).toEqual([JSON.parse(EVENT)]);
  });
});

it.each([
  ['is not tried again soon where it took 30 ms of CPU', 30, 1],
  ['is tried again where it was cheap', 1, 3],
])('finding 2: a handshake with the API server that failed %s', async (_what, cpuMs, expected) => {
  const stranger = new TestAuthority('other').issue({ names: [ADDRESS] });
  let usedMs = 0;
  // Each look is later: what is used between two is the cost of what was between them.
  await serve(stranger, HEAD, '', () => (usedMs += cpuMs));
  for (let i = 0; i < 3; i++) await expect(watch()).rejects.toThrow(/certificate|issuer/);
  expect(accepted).toBe(expected);
});

describe('an API server with old ciphers', () => {
  const rsa = authority.issue({ names: [ADDRESS], keyType: 'rsa' });
  const old = { ...rsa, maxVersion: 'TLSv1.2', dhparam: 'auto', honorCipherOrder: true } as const;

  it('finding 1: is used with ECDHE where it prefers DHE', async () => {
    const ciphers = 'DHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256';
    await serve({ ...old, ciphers }, HEAD + chunk(EVENT));
    expect(await watch(1)).toHaveLength(1);
  });

  it.each(['DHE-RSA-AES128-GCM-SHA256', 'AES128-GCM-SHA256', 'ECDHE-RSA-AES128-SHA'])(
    'finding 1: is named, with what to enable, where it has %s alone',
    async (ciphers) => {
      const url = await serve({ ...old, ciphers }, HEAD);
      await expect(watch()).rejects.toThrow(
        `the API server ${url} accepts neither TLS 1.3 nor TLS 1.2 with ECDHE and AES-GCM or ChaCha20: enable one`,
      );
      expect(accepted).toBe(1);
    },
  );
});
