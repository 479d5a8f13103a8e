import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ask, exchangeUdp, SourceRecord } from '@kube-dns/resolver/testing';
import { againIfStalled, until } from '@kube-dns/testkit';
import { listen, type Listener } from '@kube-dns/transport';
import { encodeKey, writeUint16, ZONE_VERSION_REQUEST } from '@kube-dns/wire';
import { VersionedAnswerer } from '../src/subscription/versioned-answerer.js';
import { Answers } from './support/answers.js';
import { queryBytes } from './support/messages.js';
import { NameServer } from './support/name-server.js';
import { serviceObject } from './support/objects.js';

const sources = new SourceRecord();
const WEB = 'web.default.svc.cluster.local';
let upstream: NameServer;
let answers: Answers;
let listener: Listener;

/** Long beside a moment without CPU time; a question that gets no reply has a short one. */
const DEADLINE_MS = 20_000;
const SHORT_MS = 300;

beforeEach(async () => {
  sources.take();
  upstream = await NameServer.start();
  await serve(DEADLINE_MS);
});
afterEach(async () => {
  await close();
  await upstream.close();
});

async function serve(deadlineMs: number): Promise<void> {
  answers = new Answers({ deadlineMs });
  answers.forwardTo(upstream.address);
  answers.cluster.services.put(serviceObject({ clusterIPs: ['10.96.0.5'] }));
  answers.cluster.services.put(serviceObject({ name: 'ext', externalName: 'db.example.com' }));
  answers.cluster.services.put(serviceObject({ name: 'own', externalName: WEB }));
  const version = { instance: new Uint8Array(8), serial: 1, apex: encodeKey('cluster.local') };
  listener = await listen({
    answerer: new VersionedAnswerer(answers.answerer, version),
    address: '127.0.0.1',
    port: 0,
    observer: sources,
    onFailure: (error) => {
      throw error;
    },
  });
}

async function close(): Promise<void> {
  await listener.close();
  answers.close();
}

/** From now on the upstream is silent, and a question is over soon. */
async function silence(): Promise<void> {
  upstream.isSilent = true;
  await close();
  await serve(SHORT_MS);
}

/** Where the answer to one question came from. */
async function sourceOf(name: string, rest: object = {}): Promise<string[]> {
  await ask(listener.port, { name, ...rest });
  return sources.take();
}

it('an answer about the cluster comes from the zone, whatever it is', async () => {
  for (const name of [
    WEB,
    `no.${WEB}`,
    '5.0.96.10.in-addr.arpa',
    'own.default.svc.cluster.local',
  ]) {
    expect(await sourceOf(name, name.endsWith('arpa') ? { type: 'PTR' } : {})).toEqual([
      `${name} zone`,
    ]);
  }
});

it('so it is where the client asks for the version of the zone', async () => {
  const server = upstream.address.replace(':', '#');
  for (const [name, source] of [
    [WEB, 'zone'],
    ['a.example', `upstream ${server}`],
  ] as const) {
    const plain = queryBytes(name, 'A', { hasEdns: true });
    const query = Buffer.concat([plain, ZONE_VERSION_REQUEST]);
    writeUint16(query, plain.length - 2, ZONE_VERSION_REQUEST.length);
    await exchangeUdp(listener.port, query);
    expect(sources.take()).toEqual([`${name} ${source}`]);
  }
});

it('an answer about the process, and one while the cluster is not known, are made here', async () => {
  expect(await sourceOf('version.bind', { type: 'TXT', class: 'CH' })).toEqual([
    'version.bind local',
  ]);
  answers.isSynced = false;
  expect(await sourceOf(WEB)).toEqual([`${WEB} local`]);
  answers.isSynced = true;
  answers.forwardTo();
  expect(await sourceOf('a.example')).toEqual(['a.example local']);
});

it('a forwarded answer, also that of an ExternalName, comes from the server that replied', async () => {
  const server = upstream.address.replace(':', '#');
  expect(await sourceOf('a.example')).toEqual([`a.example upstream ${server}`]);
  const ext = 'ext.default.svc.cluster.local';
  expect(await sourceOf(ext)).toEqual([`${ext} upstream ${server}`]);
});

it('a question without a reply comes from no server, and from memory a moment later', async () => {
  await silence();
  let attempt = 0;
  await againIfStalled(async () => {
    attempt++;
    const externalName = `db${attempt}.example.com`;
    answers.cluster.services.put(serviceObject({ name: `ext${attempt}`, externalName }));
    const plain = `a${attempt}.example`;
    const ext = `ext${attempt}.default.svc.cluster.local`;
    // Neither is asked again for a second, so the second answer is there at once, with the CNAME of the zone.
    expect(await sourceOf(plain)).toEqual([`${plain} upstream`]);
    expect(await sourceOf(plain)).toEqual([`${plain} cache`]);
    expect(await sourceOf(ext)).toEqual([`${ext} upstream`]);
    expect(await sourceOf(ext)).toEqual([`${ext} zone`]);
  });
});

it('a client joins the question of another one', async () => {
  await silence();
  await Promise.all([ask(listener.port, 'a.example'), ask(listener.port, 'a.example')]);
  await until(() => sources.rows.length === 2);
  expect(sources.take().sort()).toEqual(['a.example joined', 'a.example upstream']);
});
