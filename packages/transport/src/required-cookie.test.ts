import { describe, expect, it } from '@jest/globals';
import { decodeMessage, RCODE } from '@kube-dns/wire';
import { clientAt } from '../test/client-at.js';
import { cookieOf, extendedRcode, withCookie, withOpt } from '../test/messages.js';
import { oneAddress, question } from '../test/udp-listener.js';
import { ListenerCounters } from './counters.js';
import { MessageHandler } from './message-handler.js';
import { ServerCookies } from './server-cookies.js';

const CLIENT = '0102030405060708';
const REMOTE = clientAt('192.0.2.7');

/** A listener that wants a cookie for each query. */
function strict() {
  const counters = new ListenerCounters();
  const handler = new MessageHandler({
    answerer: oneAddress,
    counters,
    maxUdpBytes: 1_232,
    cookies: new ServerCookies({ requiredAbove: 0 }),
    onFailure: (error) => {
      throw error;
    },
  });
  const out = new Uint8Array(65_535);
  const ask = (query: Uint8Array, client = REMOTE, isOverTcp = false): Buffer => {
    const length = handler.handle(query, query.length, isOverTcp, client, out);
    return Buffer.from(out.subarray(0, length));
  };
  return { ask, counters };
}

describe('attack 28: a query without a good cookie, where one is required', () => {
  it('gets BADCOOKIE with a good one, which is answered', () => {
    const { ask, counters } = strict();
    for (const cookie of [CLIENT, `${CLIENT}${'00'.repeat(16)}`]) {
      const query = withCookie(question(), cookie);
      const reply = ask(query);
      expect(extendedRcode(reply)).toBe(RCODE.BADCOOKIE);
      expect(decodeMessage(reply)).toMatchObject({ answers: [], questions: [{ name: 'web.x' }] });
      expect(reply.length).toBeLessThanOrEqual(query.length + 16);
      const again = ask(withCookie(question(), cookieOf(reply)));
      expect(decodeMessage(again).answers).toHaveLength(1);
    }
    expect(counters).toMatchObject({ badCookies: 2, cookieless: 0, answers: 2 });
  });

  it('gets TC without an answer when it has none, and its answer over TCP', () => {
    const { ask, counters } = strict();
    for (const query of [question(), withOpt(question(), 1_232)]) {
      const reply = ask(query);
      const { isTruncated, rcode, answers } = decodeMessage(reply);
      expect([isTruncated, rcode, answers]).toEqual([true, 'NOERROR', []]);
      expect(reply.length).toBeLessThanOrEqual(query.length);
      expect(decodeMessage(ask(query, REMOTE, true)).answers).toHaveLength(1);
    }
    expect(counters).toMatchObject({ badCookies: 0, cookieless: 2, truncated: 2 });
  });

  it('attack 2: gets BADCOOKIE or TC with the ID and the case of its own query, whatever others asked before', () => {
    const { ask } = strict();
    const names = ['web.x', 'WEB.x', 'wEb.X', 'wEB.x'];
    for (let i = 0; i < 200; i++) {
      const name = names[i % names.length]!;
      const plain = question(name, 1 + i * 327);
      const queries = [plain, withCookie(plain, CLIENT), withOpt(plain, 1_232)];
      for (const query of queries) {
        const reply = ask(query, clientAt(`192.0.2.${i % 5}`));
        const { id, questions, answers } = decodeMessage(reply);
        expect([id, questions, answers]).toEqual([
          1 + i * 327,
          [expect.objectContaining({ name })],
          [],
        ]);
      }
    }
  });

  it('is answered for the containers of the pod and its probes', () => {
    const { ask } = strict();
    for (const query of [question(), withCookie(question(), CLIENT)]) {
      expect(decodeMessage(ask(query, clientAt('127.0.0.1'))).answers).toHaveLength(1);
      expect(decodeMessage(ask(query, clientAt('::1'))).answers).toHaveLength(1);
    }
  });
});
