import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { ApiClient, loadKubeConfig } from '../src/watch/api-client.js';

/** Throw-away certificates of two authorities, valid for a hundred years, for 127.0.0.1. */
const fixture = (name: string) =>
  readFile(fileURLToPath(new URL(`fixtures/tls/${name}`, import.meta.url)), 'utf8');

let folder: string;
let server: Server;
let client: ApiClient | undefined;
/** The requests that came, and how many connections there were. */
let requests: IncomingMessage[];
let connections: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubedns-'));
  requests = [];
  connections = 0;
  server = createServer(
    {
      key: await fixture('server-one.key'),
      cert: await fixture('server-one.pem'),
      ca: await fixture('ca-one.pem'),
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      requests.push(request);
      const isKnown = request.headers.authorization !== 'Bearer old';
      response.writeHead(isKnown ? 200 : 401).end('{"message":"who are you"}');
    },
  );
  server.on('secureConnection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  client?.close();
  client = undefined;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

const url = () => `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
const path = (name: string) => join(folder, name);

/** What loadFromCluster of client-node makes of a pod, with the files elsewhere. */
async function inCluster(token: string): Promise<ApiClient> {
  await writeFile(path('token'), token);
  await writeFile(path('ca.crt'), await fixture('ca-one.pem'));
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'inCluster', server: url(), caFile: path('ca.crt'), skipTLSVerify: false },
    { name: 'user', authProvider: { name: 'tokenFile', config: { tokenFile: path('token') } } },
  );
  return (client = new ApiClient(config, 'test'));
}

async function ask(): Promise<void> {
  const body = await client!.get({
    path: '/api',
    query: new URLSearchParams(),
    signal: new AbortController().signal,
  });
  for await (const { bytes } of body) expect(bytes.length).toBeGreaterThan(0);
}

describe('the token of a service account', () => {
  it('is read without its line feed', async () => {
    await inCluster('new\n');
    await ask();
    expect(requests[0]?.headers.authorization).toBe('Bearer new');
  });

  it('is used as soon as it is replaced, over the same connection', async () => {
    await inCluster('old');
    await expect(ask()).rejects.toThrow(
      'HTTP 401: who are you; the credentials of the service account are not accepted',
    );
    await writeFile(path('token'), 'new');
    await ask();
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer old',
      'Bearer new',
    ]);
    expect(connections).toBe(1);
  });

  it('that is missing for a moment fails that request alone', async () => {
    await inCluster('new');
    await ask();
    await rm(path('token'));
    await expect(ask()).rejects.toThrow(/ENOENT/);
    await writeFile(path('token'), 'new');
    await ask();
  });
});

describe('the CA of the server', () => {
  it('is checked for every new connection, and used as soon as it is replaced', async () => {
    await inCluster('new');
    await ask();
    // The server gets a certificate of another authority; the old connection is not to be used again.
    server.setSecureContext({
      key: await fixture('server-two.key'),
      cert: await fixture('server-two.pem'),
    });
    server.closeAllConnections();
    await expect(ask()).rejects.toThrow(/certificate|issuer/);
    await writeFile(path('ca.crt'), await fixture('ca-two.pem'));
    await ask();
    expect(requests).toHaveLength(2);
  });

  it('reuses a connection while the CA is the same', async () => {
    await inCluster('new');
    for (let i = 0; i < 3; i++) await ask();
    expect(connections).toBe(1);
  });
});

describe('a kubeconfig with a client certificate', () => {
  it('shows it to the server', async () => {
    const data = async (name: string) => Buffer.from(await fixture(name)).toString('base64');
    await writeFile(
      path('config'),
      `
apiVersion: v1
kind: Config
current-context: here
contexts: [{ name: here, context: { cluster: mine, user: me } }]
clusters:
  - { name: mine, cluster: { server: "${url()}", certificate-authority-data: ${await data('ca-one.pem')} } }
users:
  - name: me
    user:
      client-certificate-data: ${await data('client.pem')}
      client-key-data: ${await data('client.key')}
`,
    );
    client = new ApiClient(loadKubeConfig({ kubecfgFile: path('config'), masterUrl: '' }), 'test');
    await ask();
    const socket = requests[0]?.socket as TLSSocket;
    expect(socket.authorized).toBe(true);
    expect(socket.getPeerCertificate().subject.CN).toBe('test client');
  });
});

describe('requests at the same time', () => {
  it('share four connections', async () => {
    await inCluster('new');
    await Promise.all(Array.from({ length: 20 }, ask));
    expect(requests).toHaveLength(20);
    expect(connections).toBeLessThanOrEqual(4);
  });
});
