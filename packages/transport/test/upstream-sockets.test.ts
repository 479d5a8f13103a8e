import { createSocket } from 'node:dgram';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  deadServer,
  Inbox,
  type NameServerRequest,
  ownedBy,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { encodeQuery, writeUint16 } from '@kube-dns/wire';
import type { ReplyHandler, SentQuery } from '../src/forward/server-sockets.js';
import { UpstreamSockets, type UpstreamSocketsOptions } from '../src/forward/sockets.js';
import { ENGINES } from './engines.js';
import { replyTo } from './messages.js';

const opened = ownedBy(afterEach);
const good = ({ query, send }: NameServerRequest) =>
  send(replyTo(query, { addresses: ['10.0.0.1'] }));
const question = (name = 'web.x') => encodeQuery({ id: 0, name, type: 'A' });

let now: number;
let replies: Inbox<Buffer>;
let unreachable: Inbox<SentQuery>;
const handler: ReplyHandler = {
  onReply: (sent, reply) => {
    sent.socket.forget(sent);
    replies.push(Buffer.from(reply));
  },
  onUnreachable: (sent) => unreachable.push(sent),
};

beforeEach(() => {
  now = 1_000;
  replies = new Inbox();
  unreachable = new Inbox();
});

/** A server that notes the port of each question. */
async function serve(script: (request: NameServerRequest) => void = good) {
  const ports: number[] = [];
  const server = opened(
    await ScriptedNameServer.start((request) => {
      ports.push(request.peer.port);
      script(request);
    }),
  );
  return { server, ports };
}

describe.each(ENGINES)('UpstreamSockets with the engine %s', (_name, engine) => {
  const create = (options: UpstreamSocketsOptions = {}) =>
    opened(new UpstreamSockets({ now: () => now, engine, ...options }));

  it('at a low rate gives each question an ID and a port of its own', async () => {
    const { server, ports } = await serve();
    const way = create().socketsFor({ server: server.at });
    for (let i = 0; i < 40; i++) {
      expect(way.send(question(), handler)).toBeDefined();
      await replies.next();
    }
    const ids = server.requests.map(({ query }) => query.readUInt16BE(0));
    // The system may give a port again once its socket is closed.
    expect(new Set(ports).size).toBeGreaterThan(36);
    // Three IDs that occur twice are rarer than one time in 10^6.
    expect(new Set(ids).size).toBeGreaterThan(37);
    const steps = ports.slice(1).map((port, i) => port - ports[i]!);
    expect(new Set(steps).size).toBeGreaterThan(20);
  });

  it('sends from ports of the whole range that needs no privilege', async () => {
    const { server, ports } = await serve();
    const way = create().socketsFor({ server: server.at });
    for (let i = 0; i < 200; i++) {
      now += 20;
      way.send(question(), handler);
      await replies.next();
    }
    // By chance less often than one time in 10^10: a quarter of the range each.
    expect(Math.min(...ports)).toBeLessThan(1_024 + 16_128);
    expect(Math.max(...ports)).toBeGreaterThan(65_535 - 16_128);
    expect(Math.min(...ports)).toBeGreaterThanOrEqual(1_024);
  });

  it.each([
    [10, 1],
    [1_000, 64],
    [50_000, 2_048],
  ])('at %i questions a second sends at most %i of them from one port', async (perSecond, most) => {
    const server = await deadServer();
    const way = create().socketsFor({ server });
    const counts = new Map<object, number>();
    const count = Math.min(10_000, 4 * perSecond);
    for (let i = 0; i < count; i++) {
      now += 1_000 / perSecond;
      const sent = way.send(question(), handler)!;
      sent.socket.forget(sent);
      counts.set(sent.socket, (counts.get(sent.socket) ?? 0) + 1);
    }
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(most);
  });

  it('at a high rate shares a few sockets, which change with time', async () => {
    const { server, ports } = await serve();
    const sockets = create();
    const way = sockets.socketsFor({ server: server.at });
    for (let i = 0; i < 150; i++) way.send(question(), handler);
    await replies.take(150);
    const first = new Set(ports);
    expect(first.size).toBeGreaterThan(3);
    expect(first.size).toBeLessThanOrEqual(66);
    expect(sockets.size).toBeLessThanOrEqual(4);
    now += 1_000;
    for (let i = 0; i < 60; i++) way.send(question(), handler);
    await replies.take(60);
    const later = ports.slice(150).filter((port) => !first.has(port));
    expect(later.length).toBeGreaterThan(50);
  });

  it('keeps many questions in flight on one socket apart, whatever the order of the replies', async () => {
    const held: NameServerRequest[] = [];
    const { server } = await serve((request) => void held.push(request));
    const way = create({ ports: { fixed: 0 } }).socketsFor({ server: server.at });
    const names = Array.from({ length: 200 }, (_none, i) => `n${i}.x`);
    for (const name of names) way.send(question(name), handler);
    await until(() => held.length === 200);
    for (const request of held.reverse()) good(request);
    const got = await replies.take(200);
    expect(new Set(got.map((reply) => reply.subarray(12, 20).toString())).size).toBe(200);
  });

  it('closes what is not used any more', async () => {
    const { server } = await serve();
    const sockets = create();
    const way = sockets.socketsFor({ server: server.at });
    way.send(question(), handler);
    await replies.next();
    now += 2_001;
    sockets.sweep();
    expect(sockets.size).toBe(0);
    way.send(question(), handler);
    await replies.next();
  });

  it('retires an old socket, which still gets its reply', async () => {
    const held: NameServerRequest[] = [];
    const { server } = await serve((request) => void held.push(request));
    const sockets = create();
    const way = sockets.socketsFor({ server: server.at });
    way.send(question(), handler);
    await until(() => held.length === 1);
    now += 10_001;
    sockets.sweep();
    expect(sockets.size).toBe(1);
    good(held[0]!);
    await replies.next();
    expect(sockets.size).toBe(0);
  });

  it('stays bounded when no server answers', async () => {
    const { server } = await serve(() => undefined);
    const sockets = create();
    const way = sockets.socketsFor({ server: server.at });
    for (let i = 0; i < 2_000; i++) {
      now += 20;
      way.send(question(), handler);
    }
    expect(sockets.size).toBeLessThanOrEqual(512);
  });

  it.each<[string, UpstreamSocketsOptions]>([
    ['connected', {}],
    ['on a fixed port', { ports: { fixed: 0 } }],
  ])('believes no forged reply on a socket that is %s', async (_what, options) => {
    const forger = createSocket('udp4');
    opened({ close: () => forger.close() });
    const { server } = await serve(({ query, peer, send }) => {
      const forged = replyTo(query, { addresses: ['6.6.6.6'] });
      const wrongId = Buffer.from(forged);
      writeUint16(wrongId, 0, query.readUInt16BE(0) ^ 1);
      send(wrongId);
      const wrongName = Buffer.from(forged);
      wrongName[13]! ^= 1;
      send(wrongName);
      send(query);
      send(forged.subarray(0, 11));
      send(forged.subarray(0, 1));
      // The system has the forger's before the good one.
      forger.send(forged, peer.port, peer.address, () =>
        send(replyTo(query, { addresses: ['10.0.0.1'] })),
      );
    });
    create(options).socketsFor({ server: server.at }).send(question(), handler);
    const reply = await replies.next();
    expect([...reply.subarray(-4)]).toEqual([10, 0, 0, 1]);
    expect(replies.length).toBe(0);
  });

  it('reports immediately that no server listens on the port', async () => {
    const server = await deadServer();
    const sent = create().socketsFor({ server }).send(question(), handler);
    expect(await unreachable.next()).toBe(sent);
  });

  it('sends again with the same ID from the same port, until it is forgotten', async () => {
    const { server, ports } = await serve(() => undefined);
    const sent = create().socketsFor({ server: server.at }).send(question(), handler)!;
    sent.socket.resend(sent);
    await until(() => ports.length === 2);
    expect(new Set(ports).size).toBe(1);
    expect(server.requests[1]!.query).toEqual(server.requests[0]!.query);
    sent.socket.forget(sent);
    sent.socket.resend(sent);
    expect(sent.socket).toHaveProperty('inFlight', 0);
  });

  it('leaves from the one port that is asked for, for all servers', async () => {
    const { server, ports } = await serve();
    const { server: other, ports: otherPorts } = await serve();
    const sockets = create({ ports: { fixed: 0 } });
    const ways = [server, other].map(({ at }) => sockets.socketsFor({ server: at }));
    for (let i = 0; i < 10; i++) for (const way of ways) way.send(question(), handler);
    await replies.take(20);
    expect(new Set([...ports, ...otherPorts]).size).toBe(1);
    expect(sockets.size).toBe(1);
  });

  it('leaves from ports of a range, and shares them when it is small', async () => {
    const free = await deadServer();
    const range = { min: free.port, max: free.port };
    const { server, ports } = await serve();
    const way = create({ ports: range }).socketsFor({ server: server.at });
    for (let i = 0; i < 10; i++) way.send(question(), handler);
    await replies.take(10);
    expect(new Set(ports)).toEqual(new Set([free.port]));
  });

  it('leaves from the source address and port of a server', async () => {
    const { server } = await serve();
    const { port } = await deadServer();
    const end = { server: server.at, sourceAddress: '127.0.0.7', sourcePort: port };
    create().socketsFor(end).send(question(), handler);
    await replies.next();
    expect(server.requests.at(-1)!.peer).toMatchObject({ address: '127.0.0.7', port });
  });

  it('sends nothing from an address that this machine does not have', async () => {
    const { server } = await serve();
    const way = create().socketsFor({ server: server.at, sourceAddress: '192.0.2.1' });
    expect(way.send(question(), handler)).toBeUndefined();
  });

  it('forgets all when it is closed, also twice', async () => {
    const { server } = await serve(() => undefined);
    const sockets = create();
    const sent = sockets.socketsFor({ server: server.at }).send(question(), handler)!;
    sockets.close();
    sockets.close();
    expect(sockets.size).toBe(0);
    expect(sent.socket).toHaveProperty('inFlight', 0);
  });
});
