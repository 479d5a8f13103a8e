import { afterEach, describe, expect, it } from '@jest/globals';
import { ownedBy, TcpClient, UdpClient } from '@kube-dns/testkit';
import {
  AnswerWriter,
  decodeMessage,
  encodeRefusal,
  type Query,
  RCODE,
  relayTargetOf,
  TYPE,
  SECTION,
} from '@kube-dns/wire';
import { type Client, NO_ANSWER_YET } from '../src/answerer.js';
import { ServerCookies } from '../src/server-cookies.js';
import { listen } from '../src/listener.js';
import { ENGINES } from './engines.js';
import { itOverIPv6 } from './ipv6.js';
import { cookieOf, cookieQuery, extendedRcode, withCookie, withOpt } from './messages.js';
import { answers, question, starter } from './udp-listener.js';

const opened = ownedBy(afterEach);
const CLIENT = '0102030405060708';
/** A client's cookie and a server cookie made now. */
const GOOD = new RegExp(`^${CLIENT}01000000[0-9a-f]{24}$`);
const ADDRESS = Uint8Array.of(10, 0, 0, 1);
const writer = new AnswerWriter();
const later = new Uint8Array(65_535);

/** Answers with as many addresses as the first label says; `later…` later, `bare…` later with nothing but an rcode. */
function answer(query: Query, out: Uint8Array, from: Client): number {
  const label = Buffer.from(query.name.subarray(1, 1 + query.name[0]!)).toString();
  if (label.startsWith('broken')) throw new Error('defect');
  if (label.startsWith('bare')) {
    const refusal = encodeRefusal(relayTargetOf(query), RCODE.SERVFAIL);
    from.defer().send(refusal, refusal.length);
    return NO_ANSWER_YET;
  }
  const isLater = label.startsWith('later');
  writer.begin(query, isLater ? later : out);
  const count = Number(label.replace(/\D/g, ''));
  for (let i = 0; i < count; i++) {
    const name = query.name.subarray(0, query.nameLength);
    writer.add(SECTION.ANSWER, name, TYPE.A, 30, ADDRESS);
  }
  const length = writer.finish();
  if (!isLater) return length;
  from.defer().send(later, length);
  return NO_ANSWER_YET;
}

const NAMES = [
  ['with an answer', 'now1.x', 0],
  ['with a late answer', 'later1.x', 0],
  ['with a late SERVFAIL', 'bare.x', RCODE.SERVFAIL],
  ['with the SERVFAIL of a defect', 'broken.x', RCODE.SERVFAIL],
] as const;

describe.each(ENGINES)('a client with cookies, over UDP with the engine %s', (_name, engine) => {
  const start = starter(opened, engine);

  it.each(NAMES)('gets one %s', async (_, name, rcode) => {
    const { listener, client } = await start(answers(answer));
    const reply = await client.ask(withCookie(question(name), CLIENT));
    expect(cookieOf(reply)).toMatch(GOOD);
    expect(extendedRcode(reply)).toBe(rcode);
    const again = await client.ask(withCookie(question(name), cookieOf(reply)));
    expect(cookieOf(again)).toBe(cookieOf(reply));
    expect(listener.counters.cookies).toEqual({ good: 1, old: 0, bad: 0, none: 1 });
  });

  it.each(['now100.x', 'later100.x'])('gets one with a truncated answer for %s', async (name) => {
    const { client } = await start(answers(answer));
    for (const size of [512, 1_232]) {
      const reply = await client.ask(withCookie(question(name), CLIENT, size));
      const { isTruncated, answers: records } = decodeMessage(reply);
      expect([isTruncated, cookieOf(reply)]).toEqual([true, expect.stringMatching(GOOD)]);
      expect(records.length).toBeGreaterThan(10);
      expect(reply.length).toBeLessThanOrEqual(size);
      expect(reply.length + 16).toBeGreaterThan(size);
    }
  });

  it('gets one with BADVERS', async () => {
    const { client } = await start(answers(answer));
    const reply = await client.ask(withCookie(question('now1.x'), CLIENT, 1_232, 1));
    expect([extendedRcode(reply), cookieOf(reply)]).toEqual([
      RCODE.BADVERS,
      expect.stringMatching(GOOD),
    ]);
  });

  it('gets an answer and a good one for a bad one', async () => {
    const { listener, client } = await start(answers(answer));
    const reply = await client.ask(withCookie(question('now1.x'), `${CLIENT}${'00'.repeat(16)}`));
    expect(decodeMessage(reply).answers).toHaveLength(1);
    expect(cookieOf(reply)).toMatch(GOOD);
    expect(listener.counters.cookies).toEqual({ good: 0, old: 0, bad: 1, none: 0 });
  });

  it.each([0, 7, 9, 15, 41])('gets FORMERR for one of %d bytes', async (bytes) => {
    const { listener, client } = await start(answers(answer));
    const reply = await client.ask(withCookie(question('now1.x'), '00'.repeat(bytes)));
    expect(decodeMessage(reply)).toMatchObject({
      rcode: 'FORMERR',
      questions: [{ name: 'now1.x' }],
      additionals: [{ type: 'OPT' }],
    });
    expect(cookieOf(reply)).toBe('none');
    expect(listener.counters.formErrors).toBe(1);
  });

  it('may ask for one without a question', async () => {
    const { client } = await start(answers(answer));
    const reply = await client.ask(cookieQuery(CLIENT));
    expect(cookieOf(reply)).toMatch(GOOD);
    expect([extendedRcode(reply), decodeMessage(reply).questions]).toEqual([0, []]);
    const checked = await client.ask(cookieQuery(cookieOf(reply)));
    expect([extendedRcode(checked), cookieOf(checked)]).toEqual([0, cookieOf(reply)]);
    // RFC 7873 section 5.4: one that is bad is told so, and has a good one.
    const bad = await client.ask(cookieQuery(`${CLIENT}${'00'.repeat(16)}`));
    expect([extendedRcode(bad), cookieOf(bad)]).toEqual([
      RCODE.BADCOOKIE,
      expect.stringMatching(GOOD),
    ]);
  });

  it('gets none without having one', async () => {
    const { listener, client } = await start(answers(answer));
    const plain = await client.ask(question('now1.x'));
    const edns = await client.ask(withOpt(question('now1.x'), 1_232));
    expect([cookieOf(plain), cookieOf(edns), edns.length - plain.length]).toEqual([
      ...['none', 'none'],
      11,
    ]);
    expect(listener.counters.cookies).toEqual({ good: 0, old: 0, bad: 0, none: 0 });
  });

  it('has one for its own address', async () => {
    const { listener, client } = await start(answers(answer), { address: '' });
    const other = opened(await UdpClient.connect(listener.port, '127.0.0.1', '127.0.0.9'));
    const cookie = cookieOf(await client.ask(withCookie(question('now1.x'), CLIENT)));
    const reply = await other.ask(withCookie(question('now1.x'), cookie));
    expect(cookieOf(reply)).not.toBe(cookie);
    expect(listener.counters.cookies).toEqual({ good: 0, old: 0, bad: 1, none: 1 });
  });

  itOverIPv6('has one over IPv6', async () => {
    const { client } = await start(answers(answer), { address: '::1' });
    const cookie = cookieOf(await client.ask(withCookie(question('now1.x'), CLIENT)));
    const reply = await client.ask(withCookie(question('later1.x'), cookie));
    expect(cookieOf(reply)).toBe(cookie);
  });

  it('has the same over TCP, for every listener of a process', async () => {
    const cookies = new ServerCookies();
    const { client } = await start(answers(answer), { cookies });
    const other = opened(
      await listen({
        answerer: { answer },
        address: '',
        port: 0,
        cookies,
        engine,
        onFailure: () => undefined,
      }),
    );
    const tcp = opened(await TcpClient.connect(other.port));
    const cookie = cookieOf(await client.ask(withCookie(question('now1.x'), CLIENT)));
    for (const [, name, rcode] of NAMES) {
      const reply = await tcp.ask(withCookie(question(name), cookie));
      expect([cookieOf(reply), extendedRcode(reply)]).toEqual([cookie, rcode]);
    }
    const long = await tcp.ask(withCookie(question('later4091.x'), cookie));
    expect([cookieOf(long), long.length > 65_490]).toEqual([cookie, true]);
    expect(other.counters.cookies).toEqual({ good: 5, old: 0, bad: 0, none: 0 });
  });
});
