import { type Lifetime, TcpClient } from '@kube-dns/testkit';
import { decodeMessage, encodeQuery, type Query } from '@kube-dns/wire';
import { type Answerer, type Client, NO_ANSWER_YET, type ReplyPath } from '../src/answerer.js';
import { listen } from '../src/listener.js';
import type { TcpLimits } from '../src/tcp-listener.js';
import type { UdpEngine } from '../src/udp-engine.js';
import { answerWith, replyTo } from './messages.js';

export const question = (id = 7, name = 'web.x') => encodeQuery({ id, name, type: 'A' });
/** A query that `startDeferring` answers at once. */
export const askNow = (id: number) => encodeQuery({ id, name: 'now', type: 'AAAA' });
export const idOf = (message: Uint8Array) => decodeMessage(message).id;

/** Answers every query with one address. */
export const oneAddress: Answerer['answer'] = (query, out) => answerWith(query, out, ['10.0.0.1']);

/** What starts the listeners of a test with an engine. */
export function starters(opened: Lifetime, engine: UdpEngine) {
  /** A listener and a client that is connected to it. */
  const start = async (answer: Answerer['answer'], tcp: Partial<TcpLimits> = {}) => {
    const failures: unknown[] = [];
    const listener = opened(
      await listen({
        answerer: { answer },
        address: '127.0.0.1',
        port: 0,
        tcp,
        engine,
        onFailure: (error) => void failures.push(error),
      }),
    );
    const connect = async () => opened(await TcpClient.connect(listener.port));
    return { listener, connect, failures, client: await connect() };
  };
  /** A listener that defers every query for an A record; queries for AAAA are answered at once. */
  const startDeferring = async (tcp: Partial<TcpLimits> = {}) => {
    const deferred: { readonly reply: ReplyPath; readonly query: Buffer }[] = [];
    const answer = (query: Query, out: Uint8Array, from: Client): number => {
      if (query.type === 28) return answerWith(query, out, []);
      const copy = Buffer.from(query.bytes.subarray(0, query.length));
      deferred.push({ reply: from.defer(), query: copy });
      return NO_ANSWER_YET;
    };
    const send = (index: number, addresses: readonly string[] = []) => {
      const { reply, query } = deferred[index]!;
      const message = replyTo(query, { addresses });
      reply.send(message, message.length);
    };
    return { ...(await start(answer, tcp)), deferred, send };
  };
  return { start, startDeferring };
}
