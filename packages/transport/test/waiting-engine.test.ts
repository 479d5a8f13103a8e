import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, UdpClient, unless, until } from '@kube-dns/testkit';
import { encodeQuery } from '@kube-dns/wire';
import { type Answerer, NO_ANSWER_YET } from '../src/answerer.js';
import { loopUse } from '../src/batch-clock.js';
import { BatchEngine } from '../src/batch/batch-engine.js';
import { type EventLoop, loadLibc } from '../src/batch/libc.js';
import { listen } from '../src/listener.js';
import { NO_BATCH } from './engines.js';
import { answerWith } from './messages.js';

const opened = ownedBy(afterEach);
const oneAddress: Answerer = { answer: (query, out) => answerWith(query, out, ['10.0.0.1']) };
const question = (id: number) => encodeQuery({ id, name: 'web.x', type: 'A' });

/** A listener whose engine waits by `loop`, and how to ask it so that the next question comes while it waits. */
async function listener(loop: Partial<EventLoop>, answerer = oneAddress) {
  const libc = await loadLibc();
  let socket = -1;
  const timeouts: number[] = [];
  const watched: EventLoop = {
    fd: -1,
    untilDueMs: loop.untilDueMs ?? (() => Infinity),
    waitReadable: (timeoutMs) => {
      timeouts.push(timeoutMs);
      return loop.waitReadable?.(socket) ?? -1;
    },
  };
  const engine = new BatchEngine({
    ...libc,
    loop: watched,
    recvmmsg: (...call) => {
      [socket] = call;
      return libc.recvmmsg(...call);
    },
  });
  const options = { answerer, address: '127.0.0.1', port: 0, onFailure: () => undefined, engine };
  const { port, counters } = opened(await listen(options));
  const client = opened(await UdpClient.connect(port));
  const ask = async () => {
    const { udpQueries } = counters;
    client.send(question(1));
    await until(() => counters.udpQueries > udpQueries);
  };
  /** A busy machine may take longer for some than the pause after which it is not waited for. */
  const askUntilAwaited = async () => {
    while (timeouts.length === 0) await ask();
  };
  return { client, counters, timeouts, ask, askUntilAwaited };
}

unless(NO_BATCH, describe)('a socket that is asked again and again', () => {
  it('is waited for in place of the event loop, but not after its first question', async () => {
    const { timeouts, ask, askUntilAwaited } = await listener({});
    await ask();
    expect(timeouts).toEqual([]);
    await askUntilAwaited();
    expect(timeouts).toEqual([20]);
  });

  it('is received from and answered within the wait, without a turn of the loop', async () => {
    let turns = 0;
    let atTurn = -1;
    const seen = { isAnsweredInTurn: false };
    const { client, counters, ask } = await listener({
      waitReadable: (socket) => {
        if (atTurn === turns) seen.isAnsweredInTurn = counters.answers > 1;
        if (seen.isAnsweredInTurn) return -1;
        atTurn = turns;
        setImmediate(() => turns++);
        client.send(question(2));
        return socket;
      },
    });
    // A busy machine may take longer for one than it is waited for.
    while (!seen.isAnsweredInTurn) await ask();
    expect(counters.answers).toBeGreaterThan(1);
  });

  it.each([0, 0.4])(
    'is not waited for when the loop has something to do in %d ms',
    async (dueMs) => {
      const { timeouts, ask } = await listener({ untilDueMs: () => dueMs });
      for (let i = 0; i < 5; i++) await ask();
      expect(timeouts).toEqual([]);
    },
  );

  it('is waited for until the next timer at most', async () => {
    const { timeouts, askUntilAwaited } = await listener({ untilDueMs: () => 7 });
    await askUntilAwaited();
    expect(timeouts).toEqual([7]);
  });

  it('is not waited for when it was asked long ago', async () => {
    const { timeouts, ask } = await listener({});
    for (let i = 0; i < 3; i++) {
      await ask();
      await delay(25);
    }
    expect(timeouts).toEqual([]);
  });

  it('is not waited for after a question that is answered later', async () => {
    const later: Answerer = {
      answer: (_query, _out, client) => {
        client.defer();
        return NO_ANSWER_YET;
      },
    };
    const { timeouts, ask } = await listener({}, later);
    for (let i = 0; i < 5; i++) await ask();
    expect(timeouts).toEqual([]);
  });

  it('is answered without functions of libuv, too', async () => {
    const engine = new BatchEngine({ ...(await loadLibc()), loop: undefined });
    const onFailure = () => undefined;
    const options = { answerer: oneAddress, address: '127.0.0.1', port: 0, onFailure, engine };
    const client = opened(await UdpClient.connect(opened(await listen(options)).port));
    for (const id of [1, 2, 3]) {
      client.send(question(id));
      await client.inbox.next();
    }
  });
});

unless(NO_BATCH, describe)('the event loop, for a callback that waits in its place', () => {
  const loopOf = async () => (await loadLibc()).loop!;

  it('says when it has something to do that no descriptor says', async () => {
    const loop = await loopOf();
    const timer = setTimeout(() => undefined, 50);
    const immediate = setImmediate(() => undefined);
    expect(loop.untilDueMs()).toBe(0);
    clearImmediate(immediate);
    expect(loop.untilDueMs()).toBeLessThanOrEqual(50);
    clearTimeout(timer);
  });

  it('says which descriptor can be read, and leaves it to be read', async () => {
    const loop = await loopOf();
    const socket = createSocket('udp4');
    opened({ close: () => void socket.close() });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const message = once(socket, 'message');
    socket.send('x', socket.address().port, '127.0.0.1');
    // Descriptors of the test runner may be ready as well.
    let readable = -1;
    while (readable < 0)
      readable = await new Promise((resolve) => setImmediate(() => resolve(loop.waitReadable(0))));
    await message;
  });

  it('ends the wait for a connection', async () => {
    const server = createServer((socket) => socket.end('x'));
    opened({ close: () => void server.close() });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { timeouts, askUntilAwaited } = await listener(await loopOf());
    await askUntilAwaited();
    const connection = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [bytes] = (await once(connection, 'data')) as [Buffer];
    expect(bytes.toString()).toBe('x');
    expect(timeouts.length).toBeGreaterThan(0);
  });

  it('does not count the wait as work', async () => {
    const uncounted = () => performance.eventLoopUtilization().active - loopUse().activeMs;
    const before = uncounted();
    const { askUntilAwaited } = await listener({
      waitReadable: () => {
        const end = performance.now() + 200;
        while (performance.now() < end);
        return -1;
      },
    });
    await askUntilAwaited();
    await delay(1);
    expect(uncounted() - before).toBeGreaterThanOrEqual(200);
    expect(loopUse().part).toBeGreaterThan(0);
  });
});
