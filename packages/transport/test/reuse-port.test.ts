import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, TcpClient, UdpClient, until } from '@kube-dns/testkit';
import { decodeMessage, EVERY_ADDRESS, type Query } from '@kube-dns/wire';
import { type Answerer, type Client, NO_ANSWER_YET, type ReplyPath } from '../src/answerer.js';
import { listen, type Listener } from '../src/listener.js';
import { ENGINES } from './engines.js';
import { HAS_IPV6 } from './ipv6.js';
import { replyTo } from './messages.js';
import { answers, oneAddress, question } from './udp-listener.js';

const opened = ownedBy(afterEach);

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
  const start = async (answerer: Answerer, options = {}): Promise<Listener> => {
    const all = { answerer, address: '127.0.0.1', port: 0, onFailure: () => undefined, engine };
    return opened(await listen({ ...all, reusesPort: true, ...options }));
  };
  const freePort = async (address = '127.0.0.1') => {
    const listener = await start(oneAddress, { address });
    await listener.close();
    return listener.port;
  };
  /** So many clients, each with a port of its own: no listener is left out. */
  const connectMany = (port: number, address = '127.0.0.1', count = 60) =>
    Promise.all(
      Array.from({ length: count }, async () => opened(await UdpClient.connect(port, address))),
    );

  it('each serve some clients over UDP and TCP, and those left serve all when one closes', async () => {
    const listeners = [await start(oneAddress)];
    const { port } = listeners[0]!;
    for (let i = 0; i < 2; i++) listeners.push(await start(oneAddress, { port }));
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
      expect(taken(counter).reduce((total, count) => total + count)).toBe(60);
    }
    await listeners[2]!.close();
    const left = taken('udpQueries')[2];
    await askAll();
    expect(taken('udpQueries')[2]).toBe(left);
  });

  it('are refused when the first does not say so', async () => {
    const { port } = await start(oneAddress, { reusesPort: false });
    await expect(start(oneAddress, { port })).rejects.toThrow(
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
      const leaving = await start(answerer, { address: bound, port });
      const staying = await start(oneAddress, { address: bound, port });
      const clients = await connectMany(port, asked, 200);
      clients.forEach((client, id) => client.send(question('web.x', id)));
      // Nothing was read yet: all that is for the first waits in its socket.
      expect(leaving.counters.udpQueries).toBe(0);
      let hasLeft = false;
      const left = leaving.leave().then(() => (hasLeft = true));
      await until(() => leaving.counters.udpQueries + staying.counters.udpQueries === 200);
      expect(leaving.counters.udpQueries).toBeGreaterThan(0);
      const others = await connectMany(port, asked);
      for (const client of others) await client.ask(question());
      expect(staying.counters.udpQueries).toBeGreaterThanOrEqual(60);
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

  it('end connections that have their answers, and accept no more', async () => {
    let reply: ReplyPath | undefined;
    const answerer = answers((_query, _out, from) => {
      reply = from.defer();
      return NO_ANSWER_YET;
    });
    const port = await freePort();
    const leaving = await start(answerer, { port });
    const [idle, waiting] = [await TcpClient.connect(port), await TcpClient.connect(port)];
    opened(idle);
    opened(waiting);
    waiting.send(question('web.x', 9));
    await until(() => reply !== undefined);
    const staying = await start(oneAddress, { port });
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

  it('answer over TCP what they have not read yet', async () => {
    const port = await freePort();
    const leaving = await start(oneAddress, { port });
    const client = opened(await TcpClient.connect(port));
    await client.ask(question('first.x', 0));
    const ids = Array.from({ length: 40 }, (_, i) => i + 1);
    for (const id of ids) client.send(question('web.x', id));
    expect(leaving.counters.tcpQueries).toBe(1);
    await leaving.leave();
    for (const id of ids) expect(decodeMessage(await client.inbox.next()).id).toBe(id);
    await client.closed;
  });

  it('end a connection whose client never pauses, and lose no answer that it has not read', async () => {
    const port = await freePort();
    const leaving = await start(oneAddress, { port });
    const client = opened(await TcpClient.connect(port));
    let sent = 0;
    const sending = setInterval(() => client.send(question('web.x', sent++)), 5);
    await until(() => leaving.counters.tcpQueries > 5);
    await leaving.leave();
    await client.closed;
    clearInterval(sending);
    for (let id = 0; id < leaving.counters.tcpQueries; id++) {
      expect(decodeMessage(await client.inbox.next()).id).toBe(id);
    }
  });
});
