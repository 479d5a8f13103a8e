import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Script } from '@kube-dns/testkit';
import { cookieOf } from '../../test/cookie-messages.js';
import { answered, ForwarderFixture } from '../../test/forwarder-fixture.js';
import { replyTo } from '../../test/messages.js';
import { says } from '../../test/scripts.js';

const SERVER = 'c0'.repeat(16);
const BADCOOKIE = 23;
let fixture: ForwarderFixture;
beforeEach(() => {
  fixture = new ForwarderFixture({}, true);
});
afterEach(() => fixture.close());

/** A reply to a query with an OPT record that has this cookie. */
function replyWith(query: Buffer, cookie: string, address: string, rcode = 0): Buffer {
  const data = Buffer.from(cookie, 'hex');
  const fields = { rcode: rcode & 0xf, ...(rcode === 0 && { addresses: [address] }) };
  const option = Buffer.from([0, 10, 0, data.length, ...data]);
  const opt = Buffer.from([0, 0, 41, 4, 208, rcode >> 4, 0, 0, 0, 0, option.length]);
  const reply = Buffer.concat([replyTo(query, fields), opt, option]);
  reply.writeUInt16BE(1, 10);
  return reply;
}

/** Has a cookie for everybody, and another address over TCP. */
const withCookies: Script = (request) => {
  const { query, protocol } = request;
  if (protocol === 'tcp') return says('10.0.0.2')(request);
  return [replyWith(query, cookieOf(query).slice(0, 16) + SERVER, '10.0.0.1')];
};

async function ask(group: Parameters<ForwarderFixture['ask']>[0], name: string) {
  const client = fixture.ask(group, { name, ednsBytes: 1_232 });
  await answered(client);
  return client;
}

describe('a server that is asked with cookies', () => {
  it('gets ours, and then its own back; clients get none of them', async () => {
    const { group, own } = await fixture.groupOf([withCookies]);
    for (const name of ['a', 'b', 'c']) {
      const client = await ask(group, name);
      expect(client.result).toBe('A 10.0.0.1');
      expect(cookieOf(client.bytes)).toBe('none');
    }
    const [first = '', ...others] = own[0]!.requests.map(({ query }) => cookieOf(query));
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(others).toEqual([first + SERVER, first + SERVER]);
  });

  it('has another client cookie than other servers have', async () => {
    const { group, own } = await fixture.groupOf([withCookies, withCookies], { order: 'all' });
    await ask(group, 'a');
    const cookies = own.flatMap(({ requests }) => requests.map(({ query }) => cookieOf(query)));
    expect(new Set(cookies).size).toBe(2);
  });

  it.each([
    ['no cookie', () => undefined],
    ['another client cookie', () => `${'ee'.repeat(8)}${SERVER}`],
    ['a cookie that is too long', (own: string) => own + SERVER.repeat(3)],
  ])('and known to have them is asked over TCP after a reply with %s', async (_, forge) => {
    let isForged = false;
    const { group, own } = await fixture.groupOf([
      (request) => {
        if (!isForged || request.protocol === 'tcp') return withCookies(request);
        const cookie = forge(cookieOf(request.query).slice(0, 16));
        return cookie === undefined
          ? says('6.6.6.6')(request)
          : [replyWith(request.query, cookie, '6.6.6.6')];
      },
    ]);
    await ask(group, 'a');
    isForged = true;
    expect((await ask(group, 'b')).result).toBe('A 10.0.0.2');
    expect(own[0]!.requests.map(({ protocol }) => protocol)).toEqual(['udp', 'udp', 'tcp']);
    expect(fixture.servers.rejectedReplies).toBe(1);
  });

  it('and has no cookies any more is asked over TCP once', async () => {
    let hasCookies = true;
    const { group, own } = await fixture.groupOf([
      (request) => (hasCookies ? withCookies(request) : says('10.0.0.3')(request)),
    ]);
    await ask(group, 'a');
    hasCookies = false;
    for (const name of ['b', 'c', 'd']) expect((await ask(group, name)).result).toBe('A 10.0.0.3');
    expect(own[0]!.requests.filter(({ protocol }) => protocol === 'tcp')).toHaveLength(1);
  });

  it('and has none is answered as it is', async () => {
    const { group, own } = await fixture.groupOf([says('10.0.0.3')]);
    for (const name of ['a', 'b']) expect((await ask(group, name)).result).toBe('A 10.0.0.3');
    expect(own[0]!.requests.map(({ protocol }) => protocol)).toEqual(['udp', 'udp']);
  });

  it('is asked once more after BADCOOKIE, then over TCP', async () => {
    let refusals = 1;
    const { group, own } = await fixture.groupOf([
      (request) => {
        if (request.protocol === 'tcp' || refusals-- <= 0) return withCookies(request);
        const cookie = cookieOf(request.query).slice(0, 16) + SERVER;
        return [replyWith(request.query, cookie, '', BADCOOKIE)];
      },
    ]);
    expect((await ask(group, 'a')).result).toBe('A 10.0.0.1');
    refusals = 2;
    expect((await ask(group, 'b')).result).toBe('A 10.0.0.2');
    const protocols = own[0]!.requests.map(({ protocol }) => protocol);
    expect(protocols).toEqual(['udp', 'udp', 'udp', 'udp', 'tcp']);
  });
});
