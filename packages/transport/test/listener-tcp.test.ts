import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, TcpClient, UdpClient, until } from '@kube-dns/testkit';
import { decodeMessage } from '@kube-dns/wire';
import { frameMessage } from '../src/frame-reader.js';
import { ENGINES } from './engines.js';
import { answerWith, manyAddresses, replyTo, withOpt } from './messages.js';
import { askNow, idOf, oneAddress, question, starters } from './tcp-listening.js';

const opened = ownedBy(afterEach);

describe.each(ENGINES)('with the engine %s', (_name, engine) => {
  const { start, startDeferring } = starters(opened, engine);

  describe('a listener over TCP', () => {
    it('answers a query', async () => {
      const { listener, client } = await start(oneAddress);
      expect(decodeMessage(await client.ask(question(4321)))).toMatchObject({
        id: 4321,
        answers: [{ data: '10.0.0.1' }],
      });
      expect(listener.counters).toMatchObject({ tcpQueries: 1, udpQueries: 0, tcpConnections: 1 });
    });

    it('tells the answerer who asks, and that it is over TCP', async () => {
      const seen: unknown[] = [];
      const { client } = await start((query, out, from) => {
        seen.push(from.address, query.isOverTcp);
        return answerWith(query, out, []);
      });
      await client.ask(question());
      expect(seen).toEqual(['127.0.0.1', true]);
    });

    it('does not truncate what 64 KiB hold', async () => {
      const { listener, client } = await start((query, out) =>
        answerWith(query, out, manyAddresses(4000)),
      );
      const reply = decodeMessage(await client.ask(withOpt(question(), 512)));
      expect(reply.isTruncated).toBe(false);
      expect(reply.answers).toHaveLength(4000);
      expect(listener.counters.truncated).toBe(0);
    });

    it.each([
      ['FORMERR', Buffer.from('000701000002000000000000', 'hex'), '000781010000000000000000'],
      ['NOTIMP', Buffer.from('000710000001000000000000', 'hex'), '000790040000000000000000'],
    ])('refuses with %s and stays connected', async (_, message, header) => {
      const { client } = await start(oneAddress);
      expect((await client.ask(message)).toString('hex')).toBe(header);
      expect(idOf(await client.ask(question(8)))).toBe(8);
    });

    it('refuses an EDNS version with BADVERS', async () => {
      const { client } = await start(oneAddress);
      const reply = decodeMessage(await client.ask(withOpt(question(), 512, 3)));
      expect(reply.additionals).toMatchObject([{ type: 'OPT', extendedRcode: 1 }]);
    });

    it.each([
      ['eleven bytes', question().subarray(0, 11)],
      ['a response', replyTo(question())],
    ])('passes over %s', async (_, message) => {
      const { listener, client } = await start(oneAddress);
      client.send(message, question(8));
      expect(idOf(await client.inbox.next())).toBe(8);
      expect(listener.counters.dropped).toBe(1);
    });

    it('ends the connection at an empty message, once the queries before it are answered', async () => {
      const { listener, client, deferred, send } = await startDeferring();
      client.send(question(1), askNow(2), Buffer.alloc(0), askNow(3));
      expect(idOf(await client.inbox.next())).toBe(2);
      client.send(askNow(4));
      await until(() => deferred.length === 1);
      expect(client.hasEnded).toBe(false);
      send(0);
      expect(idOf(await client.inbox.next())).toBe(1);
      await client.closed;
      expect(listener.counters.tcpQueries).toBe(2);
    });

    it('answers SERVFAIL for an answerer that throws, and goes on', async () => {
      const { client, failures } = await start((query, out) => {
        if (query.id === 1) throw new Error('defect');
        return answerWith(query, out, []);
      });
      client.send(question(1), question(2));
      const replies = (await client.inbox.take(2)).map(decodeMessage);
      expect(replies.map(({ id, rcode }) => [id, rcode])).toEqual([
        [1, 'SERVFAIL'],
        [2, 'NOERROR'],
      ]);
      expect(failures).toHaveLength(1);
    });

    it('lives on when a client resets its connection', async () => {
      const { client, connect } = await start(oneAddress);
      client.send(question());
      client.socket.resetAndDestroy();
      await client.closed;
      expect(idOf(await (await connect()).ask(question(2)))).toBe(2);
    });

    it('closes its connections with itself, twice if need be', async () => {
      const { listener, client } = await start(oneAddress);
      await client.ask(question());
      await Promise.all([listener.close(), listener.close()]);
      await client.closed;
      await expect(TcpClient.connect(listener.port)).rejects.toMatchObject({
        code: 'ECONNREFUSED',
      });
    });
  });

  describe('several queries on one connection', () => {
    it('are answered when they come in one chunk', async () => {
      const { listener, client } = await start(oneAddress);
      client.send(...Array.from({ length: 50 }, (_, id) => question(id)));
      const ids = (await client.inbox.take(50)).map(idOf);
      expect(ids).toEqual(Array.from({ length: 50 }, (_, id) => id));
      expect(listener.counters).toMatchObject({ tcpQueries: 50, tcpConnections: 1 });
    });

    it('are answered when they come byte by byte', async () => {
      const { client } = await start(oneAddress);
      const frames = [question(1), question(2)].map((query) => frameMessage(query, query.length));
      for (const byte of Buffer.concat(frames)) {
        await new Promise((resolve) => client.socket.write(Buffer.of(byte), resolve));
      }
      expect((await client.inbox.take(2)).map(idOf)).toEqual([1, 2]);
    });

    it('are answered when a chunk ends inside one', async () => {
      const { client } = await start(oneAddress);
      const frames = [1, 2, 3].map((id) => frameMessage(question(id), question(id).length));
      const stream = Buffer.concat(frames);
      client.socket.write(stream.subarray(0, -5));
      expect((await client.inbox.take(2)).map(idOf)).toEqual([1, 2]);
      client.socket.write(stream.subarray(-5));
      expect(idOf(await client.inbox.next())).toBe(3);
    });

    it('are answered in the order in which answers come', async () => {
      const { client, deferred, send } = await startDeferring();
      client.send(question(0), question(1), question(2));
      client.send(askNow(3));
      await until(() => deferred.length === 3);
      for (const index of [2, 0, 1]) send(index);
      expect((await client.inbox.take(4)).map(idOf)).toEqual([3, 2, 0, 1]);
    });

    it('are read no further while a hundred wait for an answer', async () => {
      const { listener, client, deferred, send } = await startDeferring();
      client.send(...Array.from({ length: 150 }, (_, id) => question(id)));
      await until(() => deferred.length === 100);
      const other = opened(await UdpClient.connect(listener.port));
      await other.ask(askNow(1));
      expect(deferred).toHaveLength(100);
      send(0);
      await until(() => deferred.length === 101);
      for (let index = 1; index < 150; index++) {
        await until(() => deferred.length > index);
        send(index);
      }
      expect((await client.inbox.take(150)).map(idOf)).toEqual(
        Array.from({ length: 150 }, (_, id) => id),
      );
    });

    it('do not call the answerer while it hands out replies', async () => {
      const { client, deferred, send } = await startDeferring();
      client.send(...Array.from({ length: 101 }, (_, id) => question(id)));
      await until(() => deferred.length === 100);
      send(0);
      expect(deferred).toHaveLength(100);
      await until(() => deferred.length === 101);
    });
  });

  describe('a deferred answer over TCP', () => {
    it('is sent once', async () => {
      const { client, send } = await startDeferring();
      client.send(question(1));
      client.send(askNow(2));
      await client.inbox.next();
      send(0);
      send(0);
      expect(idOf(await client.inbox.next())).toBe(1);
      expect(idOf(await client.ask(askNow(3)))).toBe(3);
    });

    it('reaches a client that has closed its side, and then the connection ends', async () => {
      const { client, deferred, send } = await startDeferring();
      client.send(question(1), question(2));
      client.end();
      await until(() => deferred.length === 2);
      send(1);
      expect(idOf(await client.inbox.next())).toBe(2);
      expect(client.hasEnded).toBe(false);
      send(0);
      expect(idOf(await client.inbox.next())).toBe(1);
      await client.closed;
      expect(client.hasEnded).toBe(true);
    });

    it('ends the connection too when it is given up', async () => {
      const { listener, client, deferred } = await startDeferring();
      client.send(question(1));
      client.end();
      await until(() => deferred.length === 1);
      deferred[0]!.reply.abandon();
      deferred[0]!.reply.abandon();
      await client.closed;
      expect(client.hasEnded).toBe(true);
      expect(listener.counters.answers).toBe(0);
    });

    it('leaves an open connection open when it is given up', async () => {
      const { client, deferred } = await startDeferring();
      client.send(question(1));
      await until(() => deferred.length === 1);
      deferred[0]!.reply.abandon();
      const now = askNow(2);
      expect(idOf(await client.ask(now))).toBe(2);
    });

    it('to a client that is gone does nothing, and its other queries are forgotten', async () => {
      const { listener, client, deferred, send } = await startDeferring();
      client.send(...Array.from({ length: 150 }, (_, id) => question(id)));
      await until(() => deferred.length === 100);
      client.socket.resetAndDestroy();
      const other = opened(await UdpClient.connect(listener.port));
      const now = askNow(1);
      // Written to, the listener learns that the client is gone, if it has not yet.
      await other.ask(now);
      for (let index = 0; index < 100; index++) send(index);
      await other.ask(now);
      expect(deferred).toHaveLength(100);
    });

    it('is no longer awaited when a client closes without a pending query', async () => {
      const { client } = await startDeferring();
      client.send(askNow(1));
      client.end();
      expect(idOf(await client.inbox.next())).toBe(1);
      await client.closed;
    });
  });
});
