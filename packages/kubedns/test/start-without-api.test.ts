import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { ZoneSubscription } from '@kube-dns/push';
import {
  addressRecords,
  endPrograms,
  freePort,
  ScriptedNameServer,
  TemporaryFolder,
  until,
} from '@kube-dns/testkit';
import { encodeKey } from '@kube-dns/wire';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { SHOP } from './support/objects.js';

const DB = 'db-0.db.shop.svc.cluster.local';
const NEW = 'new.shop.svc.cluster.local';

let api: ApiServer;
let upstream: ScriptedNameServer;
let folder: TemporaryFolder;
let path: string;

beforeAll(async () => {
  api = await createApiServer({ port: await freePort() });
  await api.apply(SHOP);
  upstream = await ScriptedNameServer.start();
  folder = new TemporaryFolder();
  path = join(folder.path, 'snapshot');
  const kubedns = await start([`--snapshot-file=${path}`, '--drain-time=50ms']).ready();
  kubedns.program.signal('SIGTERM');
  expect(await kubedns.program.ended).toBe(0);
  expect(existsSync(path)).toBe(true);
});
afterEach(async () => {
  await endPrograms();
  api.unhang();
});
afterAll(() => Promise.all([upstream.close(), api.close(), folder.close()]));

const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  startKubedns(api, upstream, args, env);

/** Starts with the file, while the API server is silent, and waits until it answers. */
async function startAlone(args: readonly string[] = [], env?: NodeJS.ProcessEnv) {
  api.hang();
  const kubedns = start([`--snapshot-file=${path}`, ...args], env);
  await kubedns.waitForLine(/answers from a snapshot of \d+ s ago/);
  return kubedns;
}

/** The rcode and the Extended DNS Error. */
async function asked(kubedns: KubednsProcess, name: string, type = 'A') {
  const { rcode, extendedError } = await kubedns.ask(name, type, { hasEdns: true });
  return [rcode, extendedError];
}

describe('a start without the API server', () => {
  it('answers what the file has, is ready with the reason, and says it everywhere', async () => {
    const metricsPort = await freePort();
    const env = { PROMETHEUS_PORT: String(metricsPort) };
    const kubedns = await startAlone(['--initial-sync-timeout=20s', '--snapshot-token='], env);
    expect((await kubedns.ask(DB, 'A')).answers).toEqual([`${DB} A 10.1.0.1`]);
    expect(await asked(kubedns, DB)).toEqual(['NOERROR', 3]);
    expect(await asked(kubedns, DB, 'AAAA')).toEqual(['NOERROR', 3]);
    expect(await asked(kubedns, NEW)).toEqual(['SERVFAIL', 14]);
    expect(await asked(kubedns, 'nothing.cluster.local')).toEqual(['NXDOMAIN', 3]);

    await until('ready', async () => (await kubedns.get('/readiness'))[0] === 200);
    const [, body] = await kubedns.get('/readiness');
    expect(body).toMatch(
      /^ok: answers from a snapshot of \d+ s ago \(\/.*\), the API server is not reached\n$/,
    );
    const [, explained] = await kubedns.get(`/explain?name=${NEW}&type=A`);
    const { steps } = JSON.parse(explained) as { steps: { step: string; text: string }[] };
    expect(steps[0]).toMatchObject({ step: 'snapshot', from: path });
    expect(steps[0]!.text).toMatch(/records are from a snapshot of \d+ s ago/);
    const page = async (at: string) => (await fetch(`http://127.0.0.1:${metricsPort}${at}`)).text();
    const metrics = await page('/metrics');
    expect(metrics).toMatch(/^kubedns_snapshot_serving 1$/m);
    expect(metrics).toMatch(/^kubedns_snapshot_age_seconds \d+$/m);
    const status = JSON.parse(await page('/status')) as { problems: string[] };
    expect(status.problems).toContainEqual(expect.stringMatching(/^answers from a snapshot of/));
    expect((await kubedns.get('/snapshot'))[0]).toBe(404);

    api.unhang();
    await kubedns.waitForLine(/the API server is reached: the answers are no longer/);
    expect(await kubedns.get('/readiness')).toEqual([200, 'ok\n']);
    expect(await asked(kubedns, NEW)).toEqual(['NXDOMAIN', -1]);
    expect(await page('/metrics')).toMatch(/^kubedns_snapshot_serving 0$/m);
  });

  it('is not ready with --ready-without-api=false, but answers', async () => {
    const kubedns = await startAlone(['--ready-without-api=false']);
    expect(await asked(kubedns, DB)).toEqual(['NOERROR', 3]);
    const [status, body] = await kubedns.get('/readiness');
    expect([status, body]).toEqual([
      503,
      expect.stringMatching(/^not ready: answers from a snapshot/),
    ]);
    api.unhang();
    await until('ready', async () => (await kubedns.get('/readiness'))[0] === 200);
  });

  it('takes no subscription until the API server is there', async () => {
    const kubedns = await startAlone();
    const events: string[] = [];
    const subscription = new ZoneSubscription({
      server: { address: '127.0.0.1', port: await kubedns.port() },
      zones: [encodeKey('cluster.local')],
      events: {
        onLive: () => void events.push('live'),
        onChanged: () => undefined,
        onFlush: () => undefined,
        onLost: () => undefined,
        onUnsupported: () => void events.push('unsupported'),
      },
    });
    try {
      subscription.start();
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(events).toEqual([]);
      api.unhang();
      await until('live', () => events.includes('live'));
    } finally {
      subscription.close();
    }
  });

  it('notifies others of what may have changed only when the API server is there', async () => {
    const socket = createSocket('udp4');
    let count = 0;
    socket.on('message', () => {
      count++;
    });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    try {
      const kubedns = await startAlone([`--notify=127.0.0.1#${socket.address().port}`]);
      await kubedns.ask(DB, 'A');
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(count).toBe(0);
      api.unhang();
      await until('a NOTIFY', () => count > 0);
    } finally {
      socket.close();
    }
  });

  it('asks another replica, through the DNS service and with the token', async () => {
    const port = await freePort();
    const token = join(folder.path, 'token');
    writeFileSync(token, 'the secret\n');
    upstream.respond('pods.example A', { answers: addressRecords(30, '127.0.0.2') });
    upstream.respond('pods.example AAAA', { answers: [] });
    const shared = [`--healthz-port=${port}`, `--snapshot-token=${token}`];
    await start([...shared, '--http-bind-address=127.0.0.2']).ready();
    api.hang();
    const kubedns = start(
      [...shared, '--http-bind-address=127.0.0.1', '--snapshot-replicas=pods.example.'],
      {
        KUBE_DNS_SERVICE_HOST: '127.0.0.1',
        KUBE_DNS_SERVICE_PORT: upstream.hostPort.split(':')[1],
      },
    );
    await kubedns.waitForLine(/answers from a snapshot of \d+ s ago \(replica 127\.0\.0\.2\)/);
    expect(await asked(kubedns, DB)).toEqual(['NOERROR', 3]);
    expect(kubedns.program.stderr).not.toContain('the secret');
  });

  it('says that no replica is asked where the address of the DNS service is not known', async () => {
    const token = join(folder.path, 'token');
    writeFileSync(token, 'the secret');
    const args = ['--snapshot-replicas=pods.example', `--snapshot-token=${token}`];
    await start(args).waitForLine(/--snapshot-replicas: KUBE_DNS_SERVICE_HOST is not set/);
    // Without a token none would be asked.
    const other = await start(['--snapshot-replicas=pods.example']).ready();
    expect(other.program.stderr).not.toContain('KUBE_DNS_SERVICE_HOST');
  });
});
