import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { ownedBy, TcpClient, UdpClient, until } from '@kube-dns/testkit';
import { decodeMessage, EVERY_ADDRESS, type Query } from '@kube-dns/wire';
import { type Answerer, type Client, NO_ANSWER_YET, type ReplyPath } from '../src/answerer.js';
import { listen, type Listener } from '../src/listener.js';
import { ENGINES } from './engines.js';
import { holdTimeouts } from './held-timers.js';
import { HAS_IPV6 } from './ipv6.js';
import { replyTo } from './messages.js';
import { answers, oneAddress, question } from './udp-listener.js';

const opened = ownedBy(afterEach);
afterEach(() => void jest.useRealTimers());
const CLIENTS = 60;
/** A client that sends nothing for so long pauses; and how long one may go on that never does. */
const PAUSE_MS = 50;
const LAST_QUERY_MS = 1_000;
const STEP_MS = 25;

const start = async (answerer: Answerer, options = {}): Promise<Listener> => {
  const all = { answerer, address: '127.0.0.1', port: 0, onFailure: () => undefined };
  return opened(await listen({ ...all, reusesPort: true, ...options }));
};

const freePort = async (address = '127.0.0.1') => {
  const listener = await start(oneAddress, { address });
  await listener.close();
  return listener.port;
};

describe.each(ENGINES)('listeners on one port with the engine %s', (name, engine) => {
  /** What the listener is bound to, and where its clients send to: `dgram` answers from one address. */
  const addresses: readonly (readonly [bound: string, asked: string])[] = [
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', name === 'batch' ? '127.0.0.2' : '127.0.0.1'],
    ...(HAS_IPV6
      ? ([
          ['::1', '::1'],
          ['::', '::1'],
          [EVERY_ADDRESS, '::1'],
          [EVERY_ADDRESS, '127.0.0.1'],
        ] as const)
      : []),
  ];
  const startEngine = (answerer: Answerer, options = {}) => start(answerer, { engine, ...options });
  /** So many clients, each with a port of its own: no listener is left out. */
  const connectMany = (port: number, address = '127.0.0.1') =>
    Promise.all(
      Array.from({ length: CLIENTS }, async () => opened(await UdpClient.connect(port, address))),
    );

  it('each serve some clients over UDP and TCP, and those left serve all when one closes', async () => {
    const listeners = [await startEngine(oneAddress)];
    const { port } = listeners[0]!;
    for (let i = 0; i < 2; i++) listeners.push(await startEngine(oneAddress, { port }));
    const askAll = async () => {
      for (const client of await connectMany(port)) {
        expect(decodeMessage(await client.ask(question())).answers).toHaveLength(1);
        const tcp = opened(await TcpClient.connect(port));
        expect(decodeMessage(await tcp.ask(question())).answers).toHaveLength(1);
      }
    };
    await askAll();
    const taken = (counter: 'udpQueries' | 'tcpQueries') =>
      listeners.map(({ counters }) => counters[counter]);
    for (const counter of ['udpQueries', 'tcpQueries'] as const) {
      expect(Math.min(...taken(counter))).toBeGreaterThan(0);
      expect(taken(counter).reduce((total, count) => total + count)).toBe(CLIENTS);
    }
    await listeners[2]!.close();
    const left = taken('udpQueries')[2];
    await askAll();
    expect(taken('udpQueries')[2]).toBe(left);
  });

  it('are refused when the first does not say so', async () => {
    const { port } = await startEngine(oneAddress, { reusesPort: false });
    await expect(startEngine(oneAddress, { port })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port} over UDP: address already in use (each process on this port needs --reuse-port, and the same user)`,
    );
  });

  it.each(addresses)(
    'on %s answer all that waits at %s before they leave',
    async (bound, asked) => {
      const replies: (() => void)[] = [];
      /** Answers some queries at once and the others later. */
      const answerer = answers((query: Query, out: Uint8Array, from: Client): number => {
        const message = replyTo(Buffer.from(query.bytes.subarray(0, query.length)));
        if (query.id % 2 === 0) {
          out.set(message);
          return message.length;
        }
        const reply: ReplyPath = from.defer();
        replies.push(() => reply.send(message, message.length));
        return NO_ANSWER_YET;
      });
      const port = await freePort(bound);
      const leaving = await startEngine(answerer, { address: bound, port });
      const staying = await startEngine(oneAddress, { address: bound, port });
      const clients = await connectMany(port, asked);
      clients.forEach((client, id) => client.send(question('web.x', id)));
      // Nothing was read yet: all that is for the first waits in its socket.
      expect(leaving.counters.udpQueries).toBe(0);
      let hasLeft = false;
      const left = leaving.leave().then(() => (hasLeft = true));
      await until(() => leaving.counters.udpQueries + staying.counters.udpQueries === CLIENTS);
      expect(leaving.counters.udpQueries).toBeGreaterThan(0);
      const others = await connectMany(port, asked);
      for (const client of others) await client.ask(question());
      expect(staying.counters.udpQueries).toBeGreaterThanOrEqual(CLIENTS);
      expect(hasLeft).toBe(false);
      for (const reply of replies) reply();
      await left;
      await leaving.close();
      const ids = await Promise.all(
        clients.map(async ({ inbox }) => decodeMessage(await inbox.next()).id),
      );
      expect(ids).toEqual(clients.map((_, id) => id));
    },
  );
});

describe.each(ENGINES)('a listener with the engine %s that leaves its port', (_name, engine) => {
  it('ends connections that have their answers, and accepts no more', async () => {
    let reply: ReplyPath | undefined;
    const answerer = answers((_query, _out, from) => {
      reply = from.defer();
      return NO_ANSWER_YET;
    });
    const port = await freePort();
    const leaving = await start(answerer, { engine, port });
    const [idle, waiting] = [await TcpClient.connect(port), await TcpClient.connect(port)];
    opened(idle);
    opened(waiting);
    waiting.send(question('web.x', 9));
    await until(() => reply !== undefined);
    const staying = await start(oneAddress, { engine, port });
    const left = leaving.leave();
    await idle.closed;
    const other = opened(await TcpClient.connect(port));
    expect(decodeMessage(await other.ask(question())).answers).toHaveLength(1);
    expect(staying.counters.tcpQueries).toBe(1);
    const message = replyTo(question('web.x', 9));
    reply!.send(message, message.length);
    expect(decodeMessage(await waiting.inbox.next()).id).toBe(9);
    await waiting.closed;
    await left;
  });

  it.each([true, false])(
    'answers over TCP what it has not read yet (shared: %s)',
    async (reusesPort) => {
      const port = await freePort();
      const leaving = await start(oneAddress, { engine, port, reusesPort });
      const client = opened(await TcpClient.connect(port));
      await client.ask(question('first.x', 0));
      const ids = Array.from({ length: 40 }, (_, i) => i + 1);
      for (const id of ids) client.send(question('web.x', id));
      expect(leaving.counters.tcpQueries).toBe(1);
      await leaving.leave();
      for (const id of ids) expect(decodeMessage(await client.inbox.next()).id).toBe(id);
      await client.closed;
    },
  );

  it('answers over TCP what is deferred, and UDP until it is closed where no other process has the port', async () => {
    let reply: ReplyPath | undefined;
    const answerer = answers((query, out, from) => {
      if (query.isOverTcp) reply = from.defer();
      return query.isOverTcp ? NO_ANSWER_YET : oneAddress.answer(query, out, from);
    });
    const leaving = await start(answerer, { engine, reusesPort: false });
    const client = opened(await TcpClient.connect(leaving.port));
    client.send(question('web.x', 9));
    await until(() => reply !== undefined);
    const left = leaving.leave();
    const udp = opened(await UdpClient.connect(leaving.port));
    expect(decodeMessage(await udp.ask(question())).answers).toHaveLength(1);
    await expect(TcpClient.connect(leaving.port)).rejects.toThrow();
    const message = replyTo(question('web.x', 9));
    reply!.send(message, message.length);
    expect(decodeMessage(await client.inbox.next()).id).toBe(9);
    await left;
    await client.closed;
  });

  it('ends a connection when its client pauses, or after a second, and loses no answer', async () => {
    for (const pauses of [true, false]) {
      const port = await freePort();
      const leaving = await start(oneAddress, { engine, port });
      const client = opened(await TcpClient.connect(port));
      const { counters } = leaving;
      let sent = 0;
      const ask = async () => {
        client.send(question('web.x', sent++));
        await until(() => counters.tcpQueries === sent);
      };
      await ask();
      holdTimeouts();
      const left = leaving.leave();
      // Once it has left UDP, a timeout of each kind runs.
      await until(() => jest.getTimerCount() === 3);
      for (let ms = 0; ms + STEP_MS < (pauses ? PAUSE_MS : LAST_QUERY_MS); ms += STEP_MS) {
        jest.advanceTimersByTime(STEP_MS);
        if (!pauses) await ask();
      }
      expect(client.hasEnded).toBe(false);
      jest.advanceTimersByTime(STEP_MS);
      await left;
      await client.closed;
      jest.useRealTimers();
      for (let id = 0; id < sent; id++) {
        expect(decodeMessage(await client.inbox.next()).id).toBe(id);
      }
    }
  });
});
