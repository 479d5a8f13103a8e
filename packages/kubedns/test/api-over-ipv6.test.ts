import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect } from '@jest/globals';
import { TemporaryFolder } from '@kube-dns/testkit';
import { KubeConfig } from '@kubernetes/client-node';
import { ApiClient, loadKubeConfig } from '../src/watch/api-client.js';
import { itOverIPv6 } from './support/ipv6.js';

const SERVICE_ACCOUNT = 'var/run/secrets/kubernetes.io/serviceaccount';
/** A throw-away certificate of its own authority, valid for a hundred years, for ::1. */
const fixturePath = (name: string) =>
  fileURLToPath(new URL(`fixtures/tls/${name}`, import.meta.url));
const CERTIFICATE = fixturePath('server-ipv6.pem');

let folder: TemporaryFolder;
let server: Server;
let port: number;
beforeEach(async () => {
  folder = new TemporaryFolder();
  const key = await readFile(fixturePath('server-ipv6.key'));
  server = createServer({ key, cert: await readFile(CERTIFICATE) }, ({ headers }, response) => {
    response.end(JSON.stringify(headers.authorization ?? 'no token'));
  });
  await new Promise<void>((resolve) => server.listen(0, '::1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await folder.close();
});

function fromKubeconfig(host: string, masterUrl = ''): KubeConfig {
  const cluster = { server: `https://${host}:${port}`, 'certificate-authority': CERTIFICATE };
  const text = JSON.stringify({
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'mine', user: 'me' } }],
    clusters: [{ name: 'mine', cluster }],
    users: [{ name: 'me', user: { token: 'secret' } }],
  });
  return loadKubeConfig({ kubecfgFile: folder.file('config', text), masterUrl });
}

/** As kubelet sets up a pod of a cluster whose service network is IPv6. */
async function fromPod(): Promise<KubeConfig> {
  const mounted = (name: string) => join(folder.path, SERVICE_ACCOUNT, name);
  await mkdir(dirname(mounted('token')), { recursive: true });
  await writeFile(mounted('token'), 'secret');
  await writeFile(mounted('ca.crt'), await readFile(CERTIFICATE));
  process.env.KUBERNETES_SERVICE_HOST = '::1';
  process.env.KUBERNETES_SERVICE_PORT = String(port);
  const config = new KubeConfig();
  config.loadFromCluster(`${folder.path}/`);
  delete process.env.KUBERNETES_SERVICE_HOST;
  delete process.env.KUBERNETES_SERVICE_PORT;
  return config;
}

describe('an API server with an IPv6 address', () => {
  itOverIPv6.each<[string, () => KubeConfig | Promise<KubeConfig>]>([
    ['--kubecfg-file', () => fromKubeconfig('[::1]')],
    ['--kube-master-url', () => fromKubeconfig('127.0.0.1', `https://[::1]:${port}`)],
    ['KUBERNETES_SERVICE_HOST', fromPod],
  ])('is asked, and its certificate checked, when %s names it', async (_source, load) => {
    const client = new ApiClient(await load(), 'test');
    const { signal } = new AbortController();
    const chunks: Uint8Array[] = [];
    const body = await client.get({ path: '/api', query: new URLSearchParams(), signal });
    for await (const { bytes } of body) chunks.push(Uint8Array.from(bytes));
    expect(Buffer.concat(chunks).toString()).toBe('"Bearer secret"');
    expect(client.server).toBe(`https://[::1]:${port}`);
    client.close();
  });
});
