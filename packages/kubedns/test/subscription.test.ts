import { connect } from 'node:net';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiServer, createApiServer } from '@kube-dns/apiserver';
import { type SubscriptionEvents, ZoneSubscription } from '@kube-dns/push';
import {
  endPrograms,
  frameMessage,
  Frames,
  freePort,
  Inbox,
  ScriptedNameServer,
  unless,
  until,
} from '@kube-dns/testkit';

import {
  decodeName,
  DSO_TYPE,
  type DsoMessage,
  encodeKey,
  RCODE,
  readDso,
  writeDso,
} from '@kube-dns/wire';
import { type KubednsProcess, startKubedns } from './support/kubedns-process.js';
import { HEADLESS, namespaceObject, serviceObject, sliceObject } from './support/objects.js';

const PORTS = [{ name: 'http', port: 80 }];
const ZONES = ['cluster.local', 'in-addr.arpa'].map(encodeKey);

let api: ApiServer;
let upstream: ScriptedNameServer;
let kubedns: KubednsProcess;
const opened: { close(): void }[] = [];

beforeAll(async () => {
  api = await createApiServer();
  await api.apply([
    namespaceObject('default'),
    serviceObject({ clusterIPs: ['10.96.0.5'], ports: PORTS }),
  ]);
  upstream = await ScriptedNameServer.start();
  kubedns = await startKubedns(api, upstream).ready();
});
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});
afterAll(async () => {
  await endPrograms();
  await upstream.close();
  await api.close();
});

/** What a subscriber was told: `live`, names, `flush`, `lost: …`. */
class Told implements SubscriptionEvents {
  readonly events: string[] = [];
  onLive(): void {
    this.events.push('live');
  }
  onChanged(name: Uint8Array): void {
    this.events.push(decodeName(name));
  }
  onFlush(): void {
    this.events.push('flush');
  }
  onLost(reason: string): void {
    this.events.push(`lost: ${reason}`);
  }
  onUnsupported(reason: string): void {
    this.events.push(`unsupported: ${reason}`);
  }
}

async function subscribe(program: KubednsProcess): Promise<Told> {
  const told = new Told();
  const server = { address: '127.0.0.1', port: await program.port() };
  const subscription = new ZoneSubscription({ zones: ZONES, server, events: told });
  opened.push(subscription);
  subscription.start();
  await until('live', () => told.events.includes('live'));
  told.events.length = 0;
  return told;
}

/** One client's session, message by message. */
async function session() {
  const socket = connect(await kubedns.port(), '127.0.0.1');
  await once(socket, 'connect');
  opened.push({ close: () => socket.destroy() });
  const inbox = new Inbox<DsoMessage>();
  const frames = new Frames();
  socket.on('data', (chunk) => {
    for (const message of frames.push(chunk)) inbox.push(readDso(message)!);
  });
  const send = (bytes: Uint8Array) => socket.write(frameMessage(Buffer.from(bytes)));
  const request = async (type: number, data: Uint8Array) => {
    send(writeDso({ id: 7, isResponse: false, rcode: 0, tlvs: [{ type, data }] }));
    return inbox.next();
  };
  return { socket, send, request, inbox };
}

/** An address of this machine that is not on loopback. */
const outside = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

unless(outside === undefined ? 'no IPv4 address but loopback' : undefined, it)(
  'attack 24: --subscribers has other clients REFUSED, and those of this machine subscribed',
  async () => {
    const args = ['--subscribers=203.0.113.77', '--dns-bind-address=0.0.0.0'];
    const program = await startKubedns(api, upstream, args).ready();
    await subscribe(program);
    const told = new Told();
    const server = { address: outside!, port: await program.port() };
    const subscription = new ZoneSubscription({ zones: ZONES, server, events: told });
    opened.push(subscription);
    subscription.start();
    await until('refused', () => told.events.length > 0);
    expect(told.events).toEqual([expect.stringMatching(/^unsupported: REFUSED: /)]);
    expect(program.program.output).toContain(
      `${outside!} may not subscribe to changes: it is not in --subscribers`,
    );
  },
);

describe('a subscription at kubedns', () => {
  it('announces the names of a service that changes, with its reverse names', async () => {
    const told = await subscribe(kubedns);
    await api.apply([serviceObject({ name: 'new', clusterIPs: ['10.96.0.9'], ports: PORTS })]);
    await until('both names', () => told.events.length >= 2);
    expect(told.events.sort()).toEqual(['9.0.96.10.in-addr.arpa', 'new.default.svc.cluster.local']);
  });

  it('tells an endpoint that comes, a namespace that goes', async () => {
    await api.apply([serviceObject({ name: 'db', ...HEADLESS }), namespaceObject('old')]);
    await until(
      'served',
      async () => (await kubedns.ask('old.svc.cluster.local', 'A')).rcode === 'NOERROR',
    );
    const told = await subscribe(kubedns);
    await api.apply([
      sliceObject({
        name: 'db-1',
        service: 'db',
        endpoints: [{ addresses: ['10.1.0.1'], hostname: 'a' }],
      }),
    ]);
    await until('the endpoint', () => told.events.includes('1.0.1.10.in-addr.arpa'));
    expect(told.events).toContain('db.default.svc.cluster.local');
    api.delete('Namespace', undefined, 'old');
    await until('the namespace', () => told.events.includes('old.pod.cluster.local'));
    expect(told.events).toContain('old.svc.cluster.local');
  });

  it('is lost with the program, and lives again when it is back', async () => {
    const args = [`--dns-port=${await freePort()}`];
    const first = await startKubedns(api, upstream, args).ready();
    const told = await subscribe(first);
    first.program.signal('SIGKILL');
    await until('lost', () => told.events.some((event) => event.startsWith('lost')));
    startKubedns(api, upstream, args);
    await until('live again', () => told.events.includes('live'));
  });
});

describe('a session at kubedns', () => {
  it('refuses zones that are not its own, and operations that it does not know', async () => {
    const { request } = await session();
    const rcodes = [
      await request(DSO_TYPE.SUBSCRIBE, encodeKey('example.com')),
      await request(DSO_TYPE.SUBSCRIBE, Uint8Array.of(5, 1)),
      await request(0xf8ff, new Uint8Array(0)),
      await request(DSO_TYPE.SUBSCRIBE, encodeKey('Cluster.LOCAL')),
      await request(DSO_TYPE.KEEPALIVE, new Uint8Array(8)),
    ].map(({ rcode }) => rcode);
    expect(rcodes).toEqual([RCODE.NOTAUTH, RCODE.FORMERR, RCODE.DSOTYPENI, 0, 0]);
  });

  it('answers ordinary queries, too', async () => {
    const { request, send, socket } = await session();
    await request(DSO_TYPE.SUBSCRIBE, encodeKey('cluster.local'));
    socket.removeAllListeners('data');
    send(
      Buffer.from(
        '000101000001000000000000037765620764656661756c740373766307636c7573746572056c6f63616c0000010001',
        'hex',
      ),
    );
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.readUInt16BE(2)).toBe(1);
    expect(chunk.readUInt16BE(8)).toBe(1);
  });

  it.each([
    ['is malformed', Buffer.from('000730000000000000000000f800', 'hex')],
    [
      'wants no response and is not known',
      writeDso({ id: 0, isResponse: false, rcode: 0, tlvs: [] }),
    ],
  ])('ends with a message that %s', async (_, bytes) => {
    const { send, socket } = await session();
    send(bytes);
    await once(socket, 'close');
    expect((await kubedns.ask('web.default.svc.cluster.local', 'A')).answers).toHaveLength(1);
  });
});
