import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { encodeQuery, type Script, type ScriptedNameServer, until } from '@kube-dns/testkit';
import { RCODE, readQuery, readUint16 } from '@kube-dns/wire';
import { answered, ForwarderFixture, questionsAt } from '../../test/forwarder-fixture.js';
import { cookieOf, replyTo } from '../../test/messages.js';
import { fails, hangingUp, says, silent, truncated } from '../../test/scripts.js';
import type { ServerGroup } from './servers.js';

describe('EDNS', () => {
  const FORGOTTEN_MS = 900_000;
  const FORGOTTEN_SILENCE_MS = 300_000;

  let fixture: ForwarderFixture;
  beforeEach(() => {
    fixture = new ForwarderFixture();
  });
  afterEach(() => fixture.close());

  const hasOpt = (query: Uint8Array) => readUint16(query, 10) > 0;

  /** A server from before EDNS. */
  const old =
    (rcode: number): Script =>
    (request) =>
      hasOpt(request.query) ? fails(rcode)(request) : says('10.0.0.1')(request);

  describe.each(['udp', 'tcp'] as const)(
    'a server that does not know EDNS, over %s',
    (protocol) => {
      const queryOf = (name: string) => readQuery(encodeQuery({ name }), protocol === 'tcp');

      it.each([
        ['FORMERR', RCODE.FORMERR],
        ['NOTIMP', RCODE.NOTIMP],
      ])('is asked without after %s, and from then on', async (_name, rcode) => {
        const { group, own } = await fixture.groupOf([old(rcode)]);
        for (const name of ['a.example', 'b.example']) {
          const client = fixture.pass(queryOf(name), group);
          await answered(client);
          expect(client.result).toBe('A 10.0.0.1');
        }
        expect(own[0]!.requests.every((request) => request.protocol === protocol)).toBe(true);
        const sent = own[0]!.requests.map(({ query }) => hasOpt(query));
        expect(sent).toEqual([true, false, false]);
        fixture.wait(FORGOTTEN_MS);
        await answered(fixture.pass(queryOf('c.example'), group));
        expect(own[0]!.requests.map(({ query }) => hasOpt(query)).slice(3)).toEqual([true, false]);
      });

      it('says FORMERR for a question that it does not take without either', async () => {
        const { group, own } = await fixture.groupOf([fails(RCODE.FORMERR)]);
        const client = fixture.pass(queryOf('a.example'), group);
        await answered(client);
        expect(client.result).toBe('FORMERR');
        expect(own[0]!.requests).toHaveLength(2);
      });
    },
  );

  it.each(['udp', 'tcp'])(
    'a server that replies BADVERS is asked without EDNS, over %s',
    async (by) => {
      const badVersion: Script = (request) => {
        if (!hasOpt(request.query)) return says('10.0.0.1')(request);
        const reply = Buffer.from((fails(RCODE.NOERROR)(request) as Buffer[])[0]!);
        reply.writeUInt16BE(1, 10);
        return [Buffer.concat([reply, Buffer.from('0000290200010000000000', 'hex')])];
      };
      const { group, own } = await fixture.groupOf([badVersion]);
      for (const name of ['a.example', 'b.example']) {
        const client = fixture.pass(readQuery(encodeQuery({ name }), by === 'tcp'), group);
        await answered(client);
        expect(client.result).toBe('A 10.0.0.1');
      }
      expect(own[0]!.requests.map(({ query }) => hasOpt(query))).toEqual([true, false, false]);
    },
  );

  describe('a server that is silent to EDNS', () => {
    const SECOND = 1_000;
    const HALF_A_SECOND = 500;
    const silentToEdns: Script = (request) =>
      hasOpt(request.query) ? null : says('10.0.0.1')(request);
    /** What has arrived for a name, which probes of the server may repeat later. */
    const sent = (server: ScriptedNameServer, name: string) =>
      questionsAt(server, name).map(({ query }) => (hasOpt(query) ? 'EDNS' : 'plain'));

    /** Asks a question, which is sent again after a second when it has no reply, from another port, and then without EDNS; gives what was sent. */
    async function sentFor(group: ServerGroup, server: ScriptedNameServer, name: string) {
      const client = fixture.ask(group, name);
      await until(() => sent(server, name).length > 0);
      if (sent(server, name)[0] === 'EDNS') {
        fixture.wait(SECOND);
        fixture.wait(HALF_A_SECOND);
      }
      await answered(client);
      expect(client.result).toBe('A 10.0.0.1');
      fixture.now += 1;
      return sent(server, name);
    }

    it('is asked without half a second after another port was tried, with the same ID and port, and soon always', async () => {
      const { group, own } = await fixture.groupOf([silentToEdns]);
      const server = own[0]!;
      for (const name of ['a', 'b', 'c']) {
        expect(await sentFor(group, server, name)).toEqual(['EDNS', 'EDNS', 'plain']);
        const pairs = questionsAt(server, name).map(({ query, peer }) => [
          readUint16(query, 0),
          peer.port,
        ]);
        expect(pairs[1]).not.toEqual(pairs[0]);
        expect(pairs[2]).toEqual(pairs[0]);
      }
      expect(await sentFor(group, server, 'd')).toEqual(['plain']);
      fixture.wait(FORGOTTEN_SILENCE_MS);
      expect(await sentFor(group, server, 'e')).toEqual(['EDNS', 'EDNS', 'plain']);
      expect(await sentFor(group, server, 'f')).toEqual(['plain']);
    });

    it('is always asked with it for DNSSEC, and then known to reply', async () => {
      const { group, own } = await fixture.groupOf([silentToEdns]);
      const server = own[0]!;
      for (const name of ['a', 'b', 'c']) await sentFor(group, server, name);
      const forDnssec = (name: string) =>
        fixture.ask(group, { name, ednsBytes: 1232, isDnssecOk: true });
      forDnssec('d');
      await until(() => sent(server, 'd').length === 1);
      fixture.wait(SECOND);
      await until(() => sent(server, 'd').length === 2);
      expect(sent(server, 'd')).toEqual(['EDNS', 'EDNS']);
      server.script = says('10.0.0.1');
      await answered(forDnssec('e'));
      await answered(fixture.ask(group, 'f'));
      expect(sent(server, 'f')).toEqual(['EDNS']);
    });

    it('is none that was away for a moment, whatever was asked then', async () => {
      const { group, own } = await fixture.groupOf([silent]);
      const clients = ['a', 'b', 'c', 'd'].map((name) => fixture.ask(group, name));
      await fixture.asked(4);
      own[0]!.script = says('10.0.0.1');
      fixture.wait(SECOND);
      await answered(...clients);
      await answered(fixture.ask(group, 'e'));
      // Another port may be tried with it, too.
      expect(sent(own[0]!, 'e')).not.toContain('plain');
    });
  });

  it('a server that has OPT in its FORMERR is not asked again', async () => {
    const withOpt: Script = (request) => {
      const reply = Buffer.from((fails(RCODE.FORMERR)(request) as Buffer[])[0]!);
      const opt = Buffer.from('0000290200000000000000', 'hex');
      reply.writeUInt16BE(1, 10);
      return [Buffer.concat([reply, opt])];
    };
    const { group, own } = await fixture.groupOf([withOpt]);
    const client = fixture.ask(group, 'a.example');
    await answered(client);
    expect(client.result).toBe('FORMERR');
    expect(own[0]!.requests).toHaveLength(1);
  });
});

describe('cookies', () => {
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
      for (const name of ['b', 'c', 'd'])
        expect((await ask(group, name)).result).toBe('A 10.0.0.3');
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
});

describe('the case of names', () => {
  const NAME = 'a-name-with-many-letters.and-more.example';
  let fixture: ForwarderFixture;
  beforeEach(() => {
    fixture = new ForwarderFixture({ mixesCase: true });
  });
  afterEach(() => fixture.close());

  /** Replies with the name in lower case. */
  const lowering =
    (address: string): Script =>
    ({ query }) => {
      const reply = replyTo(query, { addresses: [address] });
      for (let i = 12; i < query.length; i++) {
        if (reply[i]! >= 0x41 && reply[i]! <= 0x5a) reply[i]! |= 0x20;
      }
      return [reply];
    };

  describe('queries with letters of random case', () => {
    it('have another case each time, and are answered in the case of the client', async () => {
      const { group, own } = await fixture.groupOf([says('10.0.0.1')]);
      for (let i = 0; i < 5; i++) {
        const client = fixture.ask(group, `n${i}.${NAME}`);
        await answered(client);
        expect(client.result).toBe('A 10.0.0.1');
        expect(client.answer!.questions[0]!.name).toBe(`n${i}.${NAME}`);
      }
      const names = own[0]!.names.map((name) => name.slice(3));
      expect(new Set(names).size).toBe(5);
      expect(new Set(names.map((name) => name.toLowerCase()))).toEqual(new Set([NAME]));
      expect(own[0]!.requests.every(({ protocol }) => protocol === 'udp')).toBe(true);
    });

    it('are asked over TCP when a reply has another case, which may be forged', async () => {
      const forged = lowering('6.6.6.6');
      const { group, own } = await fixture.groupOf([
        (request) => (request.protocol === 'udp' ? forged : says('10.0.0.1'))(request),
      ]);
      for (let i = 0; i < 8; i++) {
        const client = fixture.ask(group, `n${i}.${NAME}`);
        await answered(client);
        expect(client.result).toBe('A 10.0.0.1');
      }
      expect(own[0]!.requests.filter(({ protocol }) => protocol === 'tcp')).toHaveLength(8);
    });

    it('need not come back to a server that shows over TCP that it does not keep the case', async () => {
      const { group, own } = await fixture.groupOf([lowering('10.0.0.1')]);
      for (let i = 0; i < 5; i++) {
        const client = fixture.ask(group, `n${i}.${NAME}`);
        await answered(client);
        expect(client.result).toBe('A 10.0.0.1');
      }
      expect(own[0]!.requests.filter(({ protocol }) => protocol === 'tcp')).toHaveLength(1);
    });

    it('need not come back from a server without TCP after a few replies', async () => {
      const { group } = await fixture.groupOf([
        (request) => (request.protocol === 'udp' ? lowering('10.0.0.1') : hangingUp)(request),
      ]);
      const results = [];
      for (let i = 0; i < 5; i++) {
        const client = fixture.ask(group, `n${i}.${NAME}`);
        await answered(client);
        results.push(client.result);
      }
      expect(results).toEqual([...Array<string>(3).fill('SERVFAIL'), 'A 10.0.0.1', 'A 10.0.0.1']);
    });

    it('are fetched over TCP when the reply is truncated', async () => {
      const { group } = await fixture.groupOf([
        (request) => (request.protocol === 'udp' ? truncated : says('10.0.0.1'))(request),
      ]);
      const client = fixture.ask(group, NAME);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.1');
    });
  });
});
