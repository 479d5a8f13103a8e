import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { VersionedAnswerer } from '@kube-dns/push';
import { SourceRecord } from '@kube-dns/resolver/testing';
import { ask, exchange, ScriptedNameServer, until } from '@kube-dns/testkit';
import { listen, type Listener } from '@kube-dns/transport';
import { encodeKey, writeUint16, ZONE_VERSION_REQUEST } from '@kube-dns/wire';
import { UPSTREAM_DEADLINE_MS } from '../src/answer/kubedns-answerer.js';
import { Answers } from './support/answers.js';
import { queryBytes } from './support/messages.js';
import { serviceObject } from './support/objects.js';

const sources = new SourceRecord();
const WEB = 'web.default.svc.cluster.local';
let upstream: ScriptedNameServer;
let answers: Answers;
let listener: Listener;

beforeEach(async () => {
  sources.take();
  upstream = await ScriptedNameServer.start();
  answers = new Answers();
  answers.forwardTo(upstream.hostPort);
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
});
afterEach(async () => {
  await listener.close();
  answers.close();
  await upstream.close();
});

/** The upstream is silent to this name, for as long as a client waits. */
async function silence(name: string): Promise<void> {
  await until(name, () => upstream.asked.includes(`${name} A`));
  answers.wait(UPSTREAM_DEADLINE_MS);
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
  const server = upstream.text;
  for (const [name, source] of [
    [WEB, 'zone'],
    ['a.example', `upstream ${server}`],
  ] as const) {
    const plain = queryBytes(name, 'A', { hasEdns: true });
    const query = Buffer.concat([plain, ZONE_VERSION_REQUEST]);
    writeUint16(query, plain.length - 2, ZONE_VERSION_REQUEST.length);
    await exchange(listener.port, query);
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
  const server = upstream.text;
  expect(await sourceOf('a.example')).toEqual([`a.example upstream ${server}`]);
  const ext = 'ext.default.svc.cluster.local';
  expect(await sourceOf(ext)).toEqual([`${ext} upstream ${server}`]);
});

it('a question without a reply comes from no server, and from memory while that is remembered', async () => {
  upstream.script = () => null;
  const ext = 'ext.default.svc.cluster.local';
  for (const [name, asked, again] of [
    ['a.example', 'a.example', 'cache'],
    // With the CNAME of the zone.
    [ext, 'db.example.com', 'zone'],
  ] as const) {
    const first = sourceOf(name);
    await silence(asked);
    expect(await first).toEqual([`${name} upstream`]);
    expect(await sourceOf(name)).toEqual([`${name} ${again}`]);
  }
});

it('a client joins the question of another one', async () => {
  upstream.script = () => null;
  const both = Promise.all([ask(listener.port, 'a.example'), ask(listener.port, 'a.example')]);
  await until('both', () => answers.forwarder.counters.joined === 1);
  await silence('a.example');
  await both;
  await until(() => sources.rows.length === 2);
  expect(sources.take().sort()).toEqual(['a.example joined', 'a.example upstream']);
});
