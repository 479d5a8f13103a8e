import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { held, ownedBy, TcpClient, UdpClient, until } from '@kube-dns/testkit';
import { writeUint16 } from '@kube-dns/wire';
import type { Answerer } from '../src/answerer.js';
import { holdClock, holdTimeouts } from './held-timers.js';
import { ENGINES } from './engines.js';
import { answerWith, manyAddresses, replyTo } from './messages.js';
import { askNow, idOf, oneAddress, question, starters } from './tcp-listening.js';

const opened = ownedBy(afterEach);
const NEVER_MS = 1e9;

describe.each(ENGINES)('with the engine %s', (name, engine) => {
  const { start, startDeferring } = starters(opened, engine);

  describe('limits over TCP', () => {
    it('close a connection on which nothing happens', async () => {
      const { listener, client } = await start(oneAddress, { idleTimeoutMs: 20 });
      await client.closed;
      expect(listener.counters).toMatchObject({ tcpIdleClosed: 1, tcpRefused: 0 });
    });

    it('close a connection that never finishes its message', async () => {
      const { client } = await start(oneAddress, { idleTimeoutMs: 20 });
      client.socket.write('GET / HTTP/1.1\r\n');
      await client.closed;
    });

    it('close the connection unused for longest when there are too many', async () => {
      const { listener, client: first, connect } = await start(oneAddress, { maxConnections: 2 });
      await first.ask(question(1));
      const second = await connect();
      await second.ask(question(2));
      await first.ask(question(3));
      const third = await connect();
      await second.closed;
      expect(idOf(await third.ask(question(4)))).toBe(4);
      expect(idOf(await first.ask(question(5)))).toBe(5);
      expect(listener.counters).toMatchObject({
        tcpConnections: 3,
        tcpRefused: 1,
        tcpIdleClosed: 0,
      });
    });

    it('refuse a new connection when all others wait for an answer', async () => {
      const { listener, client, connect, deferred, send } = await startDeferring({
        maxConnections: 1,
      });
      client.send(question(1));
      await until(() => deferred.length === 1);
      const refused = await connect();
      await refused.closed;
      expect(listener.counters).toMatchObject({ tcpConnections: 1, tcpRefused: 1 });
      send(0);
      expect(idOf(await client.inbox.next())).toBe(1);
    });

    it('take the oldest connection from a client that keeps all of them busy, for that of another', async () => {
      const { listener, client, connect, deferred } = await startDeferring({
        maxConnections: 20,
      });
      client.send(question(1));
      await until(() => deferred.length === 1);
      for (let id = 2; id <= 20; id++) (await connect()).send(question(id));
      await until(() => deferred.length === 20);
      const other = opened(await TcpClient.connect(listener.port, '127.0.0.1', '127.0.0.2'));
      other.send(question(21));
      await until(() => deferred.length === 21);
      await client.closed;
      expect(listener.counters).toMatchObject({ tcpRefused: 1, tcpOpen: 20 });
      const own = await connect();
      await own.closed;
    });

    it('leave idle ones of others alone while one client has most places, all of them busy', async () => {
      const { listener, client, connect, deferred } = await startDeferring({
        maxConnections: 20,
      });
      client.send(question(1));
      for (let id = 2; id <= 18; id++) (await connect()).send(question(id));
      await until(() => deferred.length === 18);
      const connectFrom = async (address: string) =>
        opened(await TcpClient.connect(listener.port, '127.0.0.1', address));
      const others = [await connectFrom('127.0.0.2'), await connectFrom('127.0.0.3')];
      await until(() => listener.counters.tcpOpen === 20);
      others.push(await connectFrom('127.0.0.4'));
      await client.closed;
      for (const [i, other] of others.entries()) {
        other.send(question(30 + i));
        await until(() => deferred.length === 19 + i);
      }
      expect(listener.counters).toMatchObject({ tcpRefused: 1, tcpOpen: 20 });
    });

    it('count the connections that are open, refused ones never', async () => {
      const { listener, client, connect, deferred, send } = await startDeferring({
        maxConnections: 1,
      });
      client.send(question(1));
      await until(() => deferred.length === 1);
      const refused = await connect();
      await refused.closed;
      expect(listener.counters.tcpOpen).toBe(1);
      send(0);
      await client.inbox.next();
      client.end();
      await until(() => listener.counters.tcpOpen === 0);
    });

    it('give the place of a closed connection to the next', async () => {
      const { listener, client, connect } = await start(oneAddress, { maxConnections: 1 });
      await client.ask(question(1));
      client.end();
      await client.closed;
      const next = await connect();
      expect(idOf(await next.ask(question(2)))).toBe(2);
      expect(listener.counters.tcpRefused).toBe(0);
    });
  });

  describe('the age of a connection over TCP', () => {
    afterEach(() => void jest.useRealTimers());

    it('ends it between two questions: the client opens another one', async () => {
      const { listener, client, connect } = await start(oneAddress, { maxAgeMs: 100 });
      expect(idOf(await client.ask(question(1)))).toBe(1);
      await client.closed;
      expect(listener.counters).toMatchObject({ tcpAgeClosed: 1, tcpIdleClosed: 0, tcpRefused: 0 });
      expect(client.hasEnded).toBe(true);
      const next = await connect();
      expect(idOf(await next.ask(question(2)))).toBe(2);
    });

    it('does not end it while an answer is due', async () => {
      const { listener, client, connect, deferred, send } = await startDeferring({
        maxAgeMs: 40,
      });
      client.send(question(1));
      await until(() => deferred.length === 1);
      await until(() => listener.counters.tcpAgeClosed === 1);
      // One that is idle ends, although it is younger.
      await (
        await connect()
      ).closed;
      expect(client.hasEnded).toBe(false);
      send(0);
      expect(idOf(await client.inbox.next())).toBe(1);
      await client.closed;
    });

    it('ends one on which there is always an answer due when those that came in 3 s are sent', async () => {
      holdTimeouts();
      const { listener, client, deferred, send } = await startDeferring({ maxAgeMs: 40 });
      client.send(question(1));
      await until(() => deferred.length === 1 && listener.counters.tcpAgeClosed === 1);
      jest.advanceTimersByTime(2_999);
      client.send(question(2));
      await until(() => deferred.length === 2);
      send(0);
      expect(idOf(await client.inbox.next())).toBe(1);
      expect(client.hasEnded).toBe(false);
      jest.advanceTimersByTime(1);
      client.send(question(3));
      send(1);
      expect(idOf(await client.inbox.next())).toBe(2);
      await client.closed;
      expect([client.hasEnded, deferred.length]).toEqual([true, 2]);
    });

    it('is ten minutes at most unless it is given, and another one for each', async () => {
      jest.useFakeTimers(held('performance', 'setInterval', 'clearInterval'));
      const { listener, connect } = await start(oneAddress, { idleTimeoutMs: NEVER_MS });
      const CLIENTS = 60;
      for (let i = 1; i < CLIENTS; i++) await connect();
      await until(() => listener.counters.tcpOpen === CLIENTS);
      const { counters } = listener;
      jest.advanceTimersByTime(449_000);
      expect(counters.tcpAgeClosed).toBe(0);
      let most = 0;
      for (let seconds = 449; seconds < 602; seconds++) {
        const before = counters.tcpAgeClosed;
        jest.advanceTimersByTime(1_000);
        most = Math.max(most, counters.tcpAgeClosed - before);
      }
      expect(counters.tcpAgeClosed).toBe(CLIENTS);
      expect(most).toBeLessThan(CLIENTS / 4);
    });

    it('has no limit where that is 0', async () => {
      jest.useFakeTimers(held('performance', 'setInterval', 'clearInterval'));
      const { listener, client } = await start(oneAddress, {
        maxAgeMs: 0,
        idleTimeoutMs: NEVER_MS,
      });
      jest.advanceTimersByTime(86_400_000);
      expect(idOf(await client.ask(question(1)))).toBe(1);
      expect(listener.counters.tcpAgeClosed).toBe(0);
    });

    it('cuts off a client that does not close its side, whatever it sends', async () => {
      jest.useFakeTimers(held('performance', 'setInterval', 'clearInterval'));
      const { listener, client } = await start(oneAddress, {
        maxAgeMs: 60_000,
        idleTimeoutMs: NEVER_MS,
      });
      while (listener.counters.tcpAgeClosed === 0) jest.advanceTimersByTime(1_000);
      await client.closed;
      expect([client.hasEnded, listener.counters.tcpOpen]).toEqual([true, 1]);
      client.send(question(1));
      jest.advanceTimersByTime(10_000);
      await until(() => listener.counters.tcpOpen === 0);
      expect(listener.counters).toMatchObject({ tcpAgeClosed: 1, tcpIdleClosed: 0 });
    });
  });

  describe('clients over TCP that never finish their messages', () => {
    const CLIENTS = 320;
    const BYTES = 65_000;

    it('are cut off when all together hold too much, and others are not', async () => {
      const { listener, client, connect } = await start(oneAddress, {
        maxConnections: 1_000,
        idleTimeoutMs: 60_000,
      });
      const part = Buffer.alloc(2 + BYTES);
      part.writeUInt16BE(0xffff);
      const many = await Promise.all(Array.from({ length: CLIENTS }, connect));
      for (const { socket } of many) socket.write(part);
      await until(() => listener.counters.tcpRefused > 0);
      expect(idOf(await client.ask(question(1)))).toBe(1);
      // 16 MiB in equal parts; the client that has its answer holds nothing.
      await until(() => (listener.counters.tcpOpen - 1) * BYTES <= 16 * 1024 * 1024);
      expect(listener.counters.tcpOpen).toBeGreaterThan(150);
    });

    it('are cut off from the one that holds most', async () => {
      const { listener, connect, client } = await start(oneAddress, { maxConnections: 1_000 });
      const part = Buffer.alloc(50_000);
      part.writeUInt16BE(0xffff);
      client.socket.write(part);
      await until(() => client.socket.bytesWritten === part.length);
      part.writeUInt16BE(60_000);
      const many = await Promise.all(Array.from({ length: CLIENTS }, connect));
      for (const { socket } of many) socket.write(part);
      await client.closed;
      expect(listener.counters.tcpRefused).toBeGreaterThan(0);
    });
  });

  describe('a client over TCP that asks much at once', () => {
    const QUERIES = 500;
    /** Each takes a millisecond of the two in one turn of the event loop. */
    const MOST_IN_TURN = 3;
    /** Until a query of another client, sent in one turn, is answered. */
    const TURNS = 10;
    /** Of another client that asks much, for small answers. */
    const SMALL = 80;
    const asked = Array.from({ length: QUERIES }, (_, id) => question(id));

    afterEach(() => void jest.useRealTimers());

    it('lets others continue after each large answer', async () => {
      const large = replyTo(question(0, 'large'), { addresses: manyAddresses(3_000) });
      const order: string[] = [];
      const { client, connect } = await start((query, out, from) => {
        jest.advanceTimersByTime(0.1);
        if (query.name[0] !== 'large'.length) {
          order.push('small');
          return oneAddress(query, out, from);
        }
        // All that the first client has sent waits.
        if (order.push('large') === 1) other.send(...asked.slice(0, SMALL));
        out.set(large);
        writeUint16(out, 0, query.id);
        return large.length;
      });
      const other = await connect();
      holdClock();
      client.send(...asked.map((_, id) => question(id, 'large')));
      await other.inbox.take(SMALL);
      const since = order.slice(order.indexOf('small'), order.lastIndexOf('small'));
      expect(since.filter((each) => each === 'large').length).toBeLessThan(SMALL / 4);
      await client.inbox.take(QUERIES);
    });

    it.each(['UDP', 'TCP'])('does not delay clients over %s', async (protocol) => {
      let count = 0;
      let countBefore = QUERIES;
      const { listener, client, connect } = await start((query, out, from) => {
        if (query.name[0] === 'other'.length) countBefore = count;
        else {
          jest.advanceTimersByTime(1);
          count++;
          // All that the first client has sent waits.
          if (count === 1) other.send(question(1, 'other'));
        }
        return oneAddress(query, out, from);
      });
      const other =
        protocol === 'TCP' ? await connect() : opened(await UdpClient.connect(listener.port));
      holdClock();
      client.send(...asked);
      await other.inbox.next();
      expect(countBefore).toBeLessThanOrEqual(TURNS * MOST_IN_TURN);
      expect((await client.inbox.take(QUERIES)).map(idOf)).toEqual(asked.map((_, id) => id));
    });
  });

  describe('a client over TCP that does not read', () => {
    const QUERIES = 600;
    const large = manyAddresses(4000);

    afterEach(() => void jest.useRealTimers());

    /** Lets a deaf client send queries for large answers until the listener reads no more of them. */
    async function stall(answer: Answerer['answer'], first: readonly Buffer[] = []) {
      const { listener } = await start(answer);
      const deaf = opened(await TcpClient.connectDeaf(listener.port));
      deaf.send(...first, ...Array.from({ length: QUERIES }, (_, id) => question(id, 'large')));
      const other = opened(await UdpClient.connect(listener.port));
      const { counters } = listener;
      let seen = -1;
      for (let still = 0; still < 20; still++) {
        if (counters.tcpQueries !== seen) still = 0;
        seen = counters.tcpQueries;
        await other.ask(question(1, 'small'));
      }
      return { counters, deaf };
    }

    const largeAnswer = replyTo(question(0, 'large'), { addresses: large });
    const largeOrSmall: Answerer['answer'] = (query, out) => {
      if (query.name[0] !== 5 || !query.isOverTcp) return answerWith(query, out, []);
      out.set(largeAnswer);
      writeUint16(out, 0, query.id);
      return largeAnswer.length;
    };

    it('is read from no further until it reads', async () => {
      const { counters, deaf } = await stall(largeOrSmall);
      expect(counters.tcpQueries).toBeGreaterThan(3);
      // The system takes megabytes where it may.
      expect(counters.tcpQueries).toBeLessThan(name === 'batch' ? 30 : QUERIES / 2);
      deaf.read();
      const ids = (await deaf.inbox.take(QUERIES)).map((message) => message.readUInt16BE(0));
      expect(ids).toEqual(Array.from({ length: QUERIES }, (_, id) => id));
    });

    it('is closed when it takes nothing for the idle time', async () => {
      jest.useFakeTimers(held('performance', 'setInterval', 'clearInterval'));
      const { counters, deaf } = await stall(largeOrSmall);
      // What it took last is seen at the first look.
      jest.advanceTimersByTime(12_000);
      expect(counters.tcpIdleClosed).toBeGreaterThan(1);
      deaf.read();
      await deaf.closed;
    });

    /** What one connection may have deferred. */
    const DEFERRED = 100;
    const ids = Array.from({ length: DEFERRED }, (_, id) => id);
    const startLargeDeferred = async () => {
      const { listener, deferred, client } = await startDeferring();
      const connect = async () => {
        const deaf = opened(await TcpClient.connectDeaf(listener.port));
        const before = deferred.length;
        deaf.send(...ids.map((id) => question(id, 'large')));
        await until(() => deferred.length === before + DEFERRED);
        return deaf;
      };
      const sendAll = () => {
        for (const { reply, query } of deferred.splice(0)) {
          const message = replyTo(query, { addresses: large });
          reply.send(message, message.length);
        }
      };
      return { counters: listener.counters, client, connect, sendAll };
    };

    it('gets all answers that were due once it reads', async () => {
      const { counters, connect, sendAll } = await startLargeDeferred();
      const deaf = await connect();
      sendAll();
      deaf.read();
      expect((await deaf.inbox.take(DEFERRED)).map(idOf)).toEqual(ids);
      expect(counters.tcpRefused).toBe(0);
    });

    it('is cut off when all together leave too much unread', async () => {
      const { counters, client, connect, sendAll } = await startLargeDeferred();
      for (let i = 0; i < 12; i++) await connect();
      sendAll();
      await until(() => counters.tcpRefused > 0);
      expect(idOf(await client.ask(askNow(1)))).toBe(1);
    });
  });
});
