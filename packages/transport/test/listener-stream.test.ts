import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, TcpClient, until } from '@kube-dns/testkit';
import { writeUint16 } from '@kube-dns/wire';
import { type Answerer, NO_ANSWER_YET, type ReplyStream } from '../src/answerer.js';
import { ENGINES } from './engines.js';
import { answerWith } from './messages.js';
import { askNow, idOf, question, starters } from './tcp-listening.js';

const opened = ownedBy(afterEach);

describe.each(ENGINES)('with the engine %s', (_name, engine) => {
  const { start } = starters(opened, engine);
  const PART_BYTES = 16 * 1024;

  /** A listener that answers queries for A by a stream, others at once. */
  async function startStreaming() {
    const streams: ReplyStream[] = [];
    const answer: Answerer['answer'] = (query, out, client) => {
      if (query.type === 28) return answerWith(query, out, []);
      streams.push(client.stream!());
      return NO_ANSWER_YET;
    };
    return { ...(await start(answer)), streams };
  }

  /** A part of the answer with an ID. */
  function part(id: number): Uint8Array {
    const message = new Uint8Array(PART_BYTES);
    writeUint16(message, 0, id);
    writeUint16(message, 2, 0x8000);
    return message;
  }

  /** Sends parts until the client has enough to read; returns how many. */
  function fill(stream: ReplyStream): number {
    let sent = 1;
    while (stream.write(part(1), PART_BYTES)) sent++;
    return sent;
  }

  describe('an answer of several messages', () => {
    it('has its messages as they are, in order, others between them, and counts as one', async () => {
      const { listener, client, streams } = await startStreaming();
      client.send(question(1));
      await until(() => streams.length === 1);
      const [stream] = streams;
      expect(stream!.address).toBe('127.0.0.1');
      stream!.write(part(1), PART_BYTES);
      expect(await client.inbox.next()).toHaveLength(PART_BYTES);
      expect(idOf(await client.ask(askNow(9)))).toBe(9);
      stream!.write(part(1), 12);
      expect(await client.inbox.next()).toHaveLength(12);
      stream!.end();
      stream!.end();
      stream!.write(part(1), 12);
      expect(idOf(await client.ask(askNow(10)))).toBe(10);
      expect(listener.counters.answers).toBe(3);
    });

    it('keeps the connection open until its end, also when the client has ended its side', async () => {
      const { client, streams } = await startStreaming();
      client.send(question(1));
      client.end();
      await until(() => streams.length === 1);
      streams[0]!.write(part(1), 12);
      await client.inbox.next();
      expect(client.hasEnded).toBe(false);
      streams[0]!.end();
      await client.closed;
    });

    it('waits for a client that does not read, and goes on when it has', async () => {
      const { listener, streams } = await startStreaming();
      const client = opened(await TcpClient.connectDeaf(listener.port));
      client.send(question(1));
      await until(() => streams.length === 1);
      const [stream] = streams;
      let drained = 0;
      stream!.onDrain = () => drained++;
      const sent = fill(stream!);
      expect(drained).toBe(0);
      client.read();
      await client.inbox.take(sent);
      await until(() => drained === 1);
      expect(stream!.write(part(1), 12)).toBe(true);
      stream!.end();
    });

    it('ends with the connection, on either side', async () => {
      const { client, connect, streams } = await startStreaming();
      client.send(question(1));
      await until(() => streams.length === 1);
      const other = await connect();
      other.send(question(2));
      await until(() => streams.length === 2);
      let closed = 0;
      for (const stream of streams) stream.onClose = () => closed++;
      await client.close();
      // A client may end its side and read on: only what is sent shows that it has gone.
      await until(() => {
        streams[0]!.write(part(1), 12);
        return closed === 1;
      });
      expect(streams[0]!.write(part(1), 12)).toBe(false);
      streams[1]!.abort();
      await other.closed;
      expect(closed).toBe(1);
    });
  });
});
