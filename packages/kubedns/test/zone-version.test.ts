import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { ZoneSubscription } from '@kube-dns/push';
import { endPrograms, exchange, ScriptedNameServer, until } from '@kube-dns/testkit';

import {
  CLUSTER_VERSION_REQUEST,
  clusterVersionAt,
  type ClusterVersionNote,
  decodeName,
  encodeKey,
  hasSameIdentity,
  knownOf,
  readSerial,
  seenOf,
  type Subscribed,
  writeUint16,
  ZONE_VERSION_REQUEST,
  zoneVersionAt,
} from '@kube-dns/wire';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { queryBytes } from './support/messages.js';
import { namespaceObject, serviceObject } from './support/objects.js';

const PORTS = [{ name: 'http', port: 80 }];
const WEB = 'web.default.svc.cluster.local';

let api: ApiServer;
let upstream: ScriptedNameServer;
let kubedns: KubednsProcess;
const subscriptions: ZoneSubscription[] = [];

beforeAll(async () => {
  api = await createApiServer();
  const external = { type: 'ExternalName', externalName: 'a.example' };
  await api.apply([
    namespaceObject('default'),
    serviceObject({ clusterIPs: ['10.96.0.5'], ports: PORTS }),
    Object.assign(serviceObject({ name: 'out' }), { spec: external }),
  ]);
  upstream = await ScriptedNameServer.start();
  upstream.respond('a.example A', { answers: [{ type: 'A', ttl: 9, data: '192.0.2.1' }] });
  kubedns = await startKubedns(api, upstream).ready();
});
afterEach(() => {
  for (const one of subscriptions.splice(0)) one.close();
});
afterAll(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

/** The reply to a query that asks for the version. */
async function askVersion(
  name: string,
  isOverTcp = false,
  { option = ZONE_VERSION_REQUEST, of = kubedns } = {},
): Promise<Buffer> {
  const plain = queryBytes(name, 'A', { hasEdns: true });
  const query = Buffer.concat([plain, option]);
  writeUint16(query, plain.length - 2, option.length);
  return exchange(await of.port(), query, { isOverTcp, limitMs: 60_000 });
}

/** The version of the cluster in the answer of a process. */
async function clusterVersionOf(of: KubednsProcess, name = WEB): Promise<Uint8Array> {
  const reply = await askVersion(name, false, { option: CLUSTER_VERSION_REQUEST, of });
  const at = clusterVersionAt(reply, zoneVersionAt(reply));
  if (at < 0) throw new Error('the answer has no version of the cluster');
  return reply.subarray(at);
}

/** `LABELCOUNT TYPE INSTANCE SERIAL`, and undefined without a version. */
function versionIn(reply: Buffer): string | undefined {
  const at = zoneVersionAt(reply);
  if (at < 0) return undefined;
  const instance = reply.toString('hex', at, at + 8);
  return `${reply[at - 2]} ${reply[at - 1]} ${instance} ${readSerial(reply, at + 8)}`;
}

/** What servers said of the version of the cluster when they accepted subscriptions. */
const notes: ClusterVersionNote[] = [];

async function subscribe(
  known?: Uint8Array,
  onChanged: (name: Uint8Array) => void = () => undefined,
): Promise<Subscribed> {
  const server = { address: '127.0.0.1', port: await kubedns.port() };
  return new Promise((resolve) => {
    const nothing = () => undefined;
    const onLive = (subscribed: Subscribed, note?: ClusterVersionNote) => {
      notes.push(note!);
      resolve(subscribed);
    };
    const events = { onLive, onChanged, onFlush: nothing, onLost: nothing, onUnsupported: nothing };
    const zones = [encodeKey('cluster.local')];
    const subscription = new ZoneSubscription({
      server,
      zones,
      events,
      knownVersion: () => known,
    });
    subscriptions.push(subscription);
    subscription.start();
  });
}

describe('the version of the zone, for a client that asks for it', () => {
  it.each([
    ['the zone', WEB, 2],
    ['a name that does not exist', `none.${WEB}`, 2],
    ['a reverse name', '5.0.96.10.in-addr.arpa', 2],
    ['an external name, with records from upstream', 'out.default.svc.cluster.local', 2],
    ['a foreign reverse name', '1.2.0.192.in-addr.arpa', 2],
  ])(
    'is in the answer of %s, with the instance that subscribers are told',
    async (_, name, labels) => {
      const { instance, serial } = await subscribe();
      const expected = `${labels} 246 ${Buffer.from(instance).toString('hex')} ${serial}`;
      expect(versionIn(await askVersion(name))).toBe(expected);
      expect(versionIn(await askVersion(name, true))).toBe(expected);
    },
  );

  it('has a higher serial after each change', async () => {
    const { serial } = await subscribe();
    await api.apply([serviceObject({ name: 'new', clusterIPs: ['10.96.0.9'], ports: PORTS })]);
    const serialNow = async () => Number(versionIn(await askVersion(WEB))!.split(' ')[3]);
    await until('the next serial', async () => (await serialNow()) === serial + 1);
  });

  it('goes on for a subscriber that comes back: what changed meanwhile is repeated', async () => {
    const { serial } = await subscribe();
    const { version } = notes.at(-1)!;
    subscriptions[0]!.close();
    await api.apply([serviceObject({ name: 'between', clusterIPs: ['10.96.0.8'], ports: PORTS })]);
    const serialNow = async () => Number(versionIn(await askVersion(WEB))!.split(' ')[3]);
    await until('the next serial', async () => (await serialNow()) > serial);
    const repeated: string[] = [];
    await subscribe(version, (name) => repeated.push(decodeName(name)));
    expect(notes.at(-1)!.isResumed).toBe(true);
    await until('the name', () => repeated.includes('between.default.svc.cluster.local'));
  });

  it('is not in the answers of others', async () => {
    const port = await kubedns.port();
    for (const query of [queryBytes(WEB, 'A'), queryBytes(WEB, 'A', { hasEdns: true })]) {
      const reply = await exchange(port, query, { limitMs: 60_000 });
      expect(versionIn(reply)).toBeUndefined();
      expect(reply.length).toBe(query.length + 16);
    }
  });
});

describe('the version of the cluster, for a client that knows such versions', () => {
  it('is comparable between replicas, in the answers of the zone and of upstream servers', async () => {
    const replica = await startKubedns(api, upstream).ready();
    const versions = [
      await clusterVersionOf(kubedns),
      await clusterVersionOf(replica, 'none.default.svc.cluster.local'),
      await clusterVersionOf(replica, 'out.default.svc.cluster.local'),
    ];
    for (const each of versions) expect(hasSameIdentity(each, 0, versions[0]!)).toBe(true);
    await api.apply([serviceObject({ name: 'newest', clusterIPs: ['10.96.0.10'], ports: PORTS })]);
    const after = knownOf(versions[0]!, 0, 0);
    for (const process of [kubedns, replica]) {
      await until('the change', async () => {
        const version = await clusterVersionOf(process);
        return knownOf(version, 0, 0) > after && seenOf(version, 0, 0) === knownOf(version, 0, 0);
      });
    }
    const [one, other] = [await clusterVersionOf(kubedns), await clusterVersionOf(replica)];
    expect(seenOf(one, 0, 0)).toBe(seenOf(other, 0, 0));
  });

  it('is another one where answers have another shape', async () => {
    const other = await startKubedns(api, upstream, ['--record-ttl=7']).ready();
    const versions = [await clusterVersionOf(kubedns), await clusterVersionOf(other)];
    expect(hasSameIdentity(versions[0]!, 0, versions[1]!)).toBe(false);
  });
});
