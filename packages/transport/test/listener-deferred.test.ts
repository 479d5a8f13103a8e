import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, UdpClient, until } from '@kube-dns/testkit';
import { decodeMessage, encodeQuery, type Query } from '@kube-dns/wire';
import { type Client, NO_ANSWER_YET, type ReplyPath } from '../src/answerer.js';
import { ENGINES } from './engines.js';
import { answerWith, manyAddresses, replyTo, withOpt } from './messages.js';
import { answers, question, starter } from './udp-listener.js';

const opened = ownedBy(afterEach);

describe.each(ENGINES)('a listener with the engine %s', (_name, engine) => {
  const start = starter(opened, engine);

  describe('and an answerer that answers later', () => {
    interface Deferred {
      readonly reply: ReplyPath;
      readonly query: Buffer;
    }

    /** Defers every query but those for `now`, which come as a barrier. */
    const deferring = async () => {
      const deferred: Deferred[] = [];
      const answer = (query: Query, out: Uint8Array, from: Client): number => {
        const copy = Buffer.from(query.bytes.subarray(0, query.length));
        if (query.type === 28) return answerWith(query, out, []);
        deferred.push({ reply: from.defer(), query: copy });
        return NO_ANSWER_YET;
      };
      return { ...(await start(answers(answer))), deferred };
    };
    const barrier = encodeQuery({ id: 9999, name: 'now', type: 'AAAA' });

    it('sends the answer when it comes', async () => {
      const { client, deferred } = await deferring();
      client.send(question('web.x', 5));
      await until(() => deferred.length === 1);
      const message = replyTo(deferred[0]!.query, { addresses: ['10.0.0.5'] });
      deferred[0]!.reply.send(message, message.length);
      const reply = decodeMessage(await client.inbox.next());
      expect(reply).toMatchObject({ id: 5, answers: [{ data: '10.0.0.5' }] });
    });

    it('gives each client its own answer, in any order', async () => {
      const { listener, client, deferred } = await deferring();
      const other = opened(await UdpClient.connect(listener.port));
      client.send(question('a', 1));
      await until(() => deferred.length === 1);
      other.send(question('b', 2));
      await until(() => deferred.length === 2);
      for (const { reply, query } of deferred.reverse()) reply.send(replyTo(query), query.length);
      expect(decodeMessage(await client.inbox.next()).id).toBe(1);
      expect(decodeMessage(await other.inbox.next()).id).toBe(2);
    });

    it('sends what is written where it leaves from, and what is not, each to its client', async () => {
      const { client, deferred } = await deferring();
      const ids = Array.from({ length: 100 }, (_, i) => i + 1);
      for (const id of ids) client.send(question(`n${id}.x`, id));
      await until(() => deferred.length === ids.length);
      for (const [i, { reply, query }] of deferred.entries()) {
        const message = replyTo(query);
        const out = i % 3 === 0 ? message : (reply.out ?? new Uint8Array(65_535));
        out.set(message);
        reply.send(out, message.length);
      }
      const replies = (await client.inbox.take(ids.length)).map(decodeMessage);
      const namesById = replies.map(({ id, questions }) => `n${id}.x` === questions[0]?.name);
      expect(namesById).toEqual(ids.map(() => true));
    });

    it('uses a spare path only when it has ended, for its new client alone', async () => {
      const paths: ReplyPath[] = [];
      const answer = (query: Query, _out: Uint8Array, from: Client): number => {
        const message = replyTo(Buffer.from(query.bytes.subarray(0, query.length)));
        const path = from.defer(paths.at(-1));
        // The last one stays open.
        if (query.id < 3) path.send(message, message.length);
        paths.push(path);
        return NO_ANSWER_YET;
      };
      const { client } = await start(answers(answer));
      for (const id of [1, 2, 3, 4]) {
        client.send(question('a', id));
        await until(() => paths.length === id);
      }
      expect(paths[1]).toBe(paths[0]);
      expect(paths[2]).toBe(paths[1]);
      expect(paths[3]).not.toBe(paths[2]);
      for (const [i, path] of paths.slice(2).entries()) {
        const message = replyTo(question('a', 3 + i));
        path.send(message, message.length);
        path.send(message, message.length);
      }
      const ids = (await client.inbox.take(4)).map((reply) => decodeMessage(reply).id);
      expect(ids).toEqual([1, 2, 3, 4]);
    });

    it('cuts it to the size that this client takes', async () => {
      const { client, deferred } = await deferring();
      client.send(withOpt(question('web.x', 1), 800));
      await until(() => deferred.length === 1);
      client.send(question('web.x', 2));
      await until(() => deferred.length === 2);
      for (const { reply, query } of deferred) {
        const message = replyTo(query, { addresses: manyAddresses(100) });
        reply.send(message, message.length);
      }
      const sizes = (await client.inbox.take(2)).map(({ length }) => length);
      expect(sizes[0]).toBeGreaterThan(512);
      expect(sizes[0]).toBeLessThanOrEqual(800);
      expect(sizes[1]).toBeLessThanOrEqual(512);
    });

    it('takes a copy, so that the bytes may be used for the next answer at once', async () => {
      const { client, deferred } = await deferring();
      client.send(question('a', 1));
      client.send(question('b', 2));
      await until(() => deferred.length === 2);
      const out = Buffer.alloc(512);
      for (const { reply, query } of deferred) {
        const message = replyTo(query, { addresses: [`10.0.0.${query.readUInt16BE(0)}`] });
        message.copy(out);
        reply.send(out, message.length);
      }
      out.fill(0);
      const replies = (await client.inbox.take(2)).map((reply) => decodeMessage(reply).answers);
      expect(replies).toMatchObject([[{ data: '10.0.0.1' }], [{ data: '10.0.0.2' }]]);
    });

    it('sends an answer once, and none after it was given up', async () => {
      const { client, deferred } = await deferring();
      client.send(question('a', 1));
      client.send(question('b', 2));
      await until(() => deferred.length === 2);
      const [first, second] = deferred;
      const message = replyTo(first!.query);
      first!.reply.send(message, message.length);
      first!.reply.send(message, message.length);
      second!.reply.abandon();
      second!.reply.send(replyTo(second!.query), message.length);
      client.send(barrier);
      const ids = (await client.inbox.take(2)).map((reply) => decodeMessage(reply).id);
      expect(ids).toEqual([1, 9999]);
      expect(client.inbox).toHaveLength(0);
    });

    it('takes an answer that comes when it is closed', async () => {
      const { listener, client, deferred } = await deferring();
      client.send(question());
      await until(() => deferred.length === 1);
      await listener.close();
      const { reply, query } = deferred[0]!;
      expect(() => reply.send(replyTo(query), query.length)).not.toThrow();
      expect(listener.counters.sendErrors).toBe(1);
    });
  });
});
