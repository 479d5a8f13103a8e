import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { encodeQuery, heldReply, until } from '@kube-dns/testkit';
import type { Script } from '@kube-dns/testkit';
import { Query, readQuery, readUint16 } from '@kube-dns/wire';
import { DirectServers } from '../../test/direct-servers.js';
import {
  answered,
  ForwarderFixture,
  queryWithOption,
  questionsAt,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import { says, silent } from '../../test/scripts.js';
import { GroupLoad } from './quota.js';
import type { ServerGroup } from './servers.js';

/** A query that cannot be joined: it has a record of its own. */
const unshareable = (name: string, number: number) => {
  const record = Buffer.from([0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 3, 2, number >> 8, number & 255]);
  const message = Buffer.concat([encodeQuery({ name }), record]);
  message.writeUInt16BE(1, 8);
  return readQuery(message);
};
/** Servers are silent to such queries, and answer others. */
const silentToUnshareable: Script = (request) =>
  request.query[9] === 1 ? null : says('10.0.0.1')(request);

describe('between clients', () => {
  let fixture: ForwarderFixture;
  beforeEach(() => {
    fixture = new ForwarderFixture({ maxInFlight: 1_500, maxUnproven: 1_500 });
  });
  afterEach(() => fixture.close());

  let port = 1_024;
  const from = (address: string) => new WaitingClient(port++, address);
  const slow: Parameters<ForwarderFixture['groupOf']>[0][number] = (request) =>
    request.question.name.startsWith('slow') ? silent(request) : says('10.0.0.1')(request);
  const resultsOf = (clients: readonly WaitingClient[]) => {
    const counts: Record<string, number> = {};
    for (const { result } of clients) counts[result] = (counts[result] ?? 0) + 1;
    return counts;
  };

  describe('1,500 slow questions of one client', () => {
    it('leave the places of 40 new names to another client', async () => {
      const { group } = await fixture.groupOf([slow]);
      const attacker = Array.from({ length: 1_600 }, (_none, i) =>
        fixture.ask(group, `slow${i}.d.x`, from('10.0.0.1')),
      );
      expect(resultsOf(attacker)).toEqual({ '': 1_500, REFUSED: 100 });
      const others = Array.from({ length: 40 }, (_none, i) =>
        fixture.ask(group, `new${i}`, from('10.0.0.2')),
      );
      await answered(...others);
      expect(resultsOf(others)).toEqual({ 'A 10.0.0.1': 40 });
      // The oldest were refused, and some places are free again.
      expect(resultsOf(attacker.slice(0, 40))).toEqual({ REFUSED: 40 });
      expect(resultsOf(attacker.slice(40, 1_500))).toEqual({ '': 1_460 });
      expect(group.load).toMatchObject({ questions: 1_460, joiners: 0 });
      expect(fixture.forwarder.counters.overflows).toBe(140);
      fixture.wait(TIMEOUT_MS);
      expect(group.load).toMatchObject({ questions: 0, joiners: 0 });
    });

    it('are all answered while nobody else asks', async () => {
      const { group } = await fixture.groupOf([says('10.0.0.1')]);
      const clients = Array.from({ length: 1_500 }, (_none, i) =>
        fixture.ask(group, `n${i}`, from('10.0.0.1')),
      );
      await answered(...clients);
      expect(resultsOf(clients)).toEqual({ 'A 10.0.0.1': 1_500 });
    });
  });

  describe('an address that may be forged', () => {
    const bomb = async (client: (i: number) => WaitingClient, options = {}) => {
      await fixture.close();
      fixture = new ForwarderFixture({ maxInFlight: 1_500, ...options });
      const { script, release } = heldReply('10.0.0.1');
      const { group } = await fixture.groupOf([script]);
      const clients = Array.from({ length: 400 }, (_none, i) => {
        return fixture.ask(group, { name: `n${i}.bomb.example`, ednsBytes: 1232 }, client(i));
      });
      return { clients, release, group };
    };

    it('attack 12: has 150 questions that wait for replies, and no more answers at a time', async () => {
      const { clients, release } = await bomb(() => from('10.0.0.1'));
      expect(resultsOf(clients)).toEqual({ '': 150, REFUSED: 250 });
      expect(clients.at(-1)!.extendedErrorText).toBe('too many queries of this client wait');
      await fixture.asked(150);
      release();
      await answered(...clients);
      expect(resultsOf(clients)).toEqual({ 'A 10.0.0.1': 150, REFUSED: 250 });
      const again = fixture.ask((await fixture.groupOf([slow])).group, 'new', from('10.0.0.1'));
      await answered(again);
    });

    it('finding 8: has 150 in all, where they join others and whatever their servers', async () => {
      await fixture.close();
      fixture = new ForwarderFixture({ maxInFlight: 1_500 });
      const { group } = await fixture.groupOf([silent]);
      const { group: corp } = await fixture.groupOf([silent], { domain: 'corp' });
      const joined = Array.from({ length: 100 }, () => fixture.ask(group, 'a.x', from('10.0.0.1')));
      const others = Array.from({ length: 100 }, (_none, i) =>
        fixture.ask(corp, `n${i}.corp`, from('10.0.0.1')),
      );
      const results = resultsOf([...joined, ...others]);
      expect(results).toEqual({ '': 150, REFUSED: 50 });
      expect(fixture.overflows).toHaveLength(50);
      fixture.wait(TIMEOUT_MS);
      expect(group.load).toMatchObject({ questions: 0, joiners: 0 });
      expect(fixture.ask(group, 'b.x', from('10.0.0.1')).result).toBe('');
    });

    it.each([
      ['another one has 150 of its own', (i: number) => from(`10.0.0.${i % 4}`), {}],
      ['one of the machine itself has what is free', () => from('127.0.0.1'), {}],
      ['so has one that is known', () => from('10.0.0.1'), { isKnownClient: () => true }],
    ])('is none of others: %s', async (_what, client, options) => {
      const { clients } = await bomb(client, options);
      expect(resultsOf(clients)).toEqual({ '': 400 });
    });

    it.each(['a server cookie', 'TCP'])('is none with %s', async (how) => {
      const { group } = await fixture.groupOf([silent]);
      const clients = Array.from({ length: 400 }, (_none, i) => {
        const message = encodeQuery({ name: `n${i}.example` });
        const query = new Query();
        query.read(message, message.length, how === 'TCP', 1_232);
        query.hasGoodCookie = how !== 'TCP';
        return fixture.pass(query, group, from('10.0.0.1'));
      });
      expect(resultsOf(clients)).toEqual({ '': 400 });
    });

    it('attack 16: shares its part among domains: a silent one leaves new names of others their answers', async () => {
      await fixture.close();
      fixture = new ForwarderFixture({ maxInFlight: 1_500 });
      const { group } = await fixture.groupOf([slow]);
      const results: string[] = [];
      for (let i = 0; i < 60; i++) {
        for (let j = 0; j < 40; j++) {
          fixture.ask(group, `slow${i}-${j}.silent.example`, from('10.0.0.1'));
        }
        const other = fixture.ask(group, `new${i}.example${i % 3}.org`, from('10.0.0.1'));
        await answered(other);
        results.push(other.result);
      }
      expect(results).toEqual(Array(60).fill('A 10.0.0.1'));
      expect(group.load.questions).toBeLessThanOrEqual(150);
    });
  });

  describe('slow questions of many clients', () => {
    const fill = (group: ServerGroup, count: number) => {
      for (let i = 0; i < 1_500; i++) fixture.ask(group, `slow${i}`, from(`10.0.1.${i % count}`));
    };

    it('leave a place to another client while they are nine', async () => {
      const { group } = await fixture.groupOf([slow]);
      fill(group, 9);
      const other = fixture.ask(group, 'new', from('10.0.0.2'));
      await answered(other);
      expect(other.result).toBe('A 10.0.0.1');
    });

    it('leave none when they are ten or more', async () => {
      const { group } = await fixture.groupOf([slow]);
      fill(group, 10);
      expect(fixture.ask(group, 'new', from('10.0.0.2')).result).toBe('REFUSED');
    });
  });

  describe('a question whose client gives its place away', () => {
    it('goes on for the others that joined it', async () => {
      const few = new ForwarderFixture({ maxInFlight: 20 });
      const { group } = await few.groupOf([silent]);
      const first = few.ask(group, 'shared.d.x', from('10.0.0.1'));
      const joined = few.ask(group, 'shared.d.x', from('10.0.0.2'));
      for (let i = 1; i < 20; i++) few.ask(group, `slow${i}.d.x`, from('10.0.0.1'));
      const added = [1, 2].map((i) => few.ask(group, `new${i}`, from('10.0.0.3')));
      expect([first, joined, ...added].map(({ result }) => result)).toEqual([
        'REFUSED',
        '',
        '',
        '',
      ]);
      expect(group.load).toMatchObject({ questions: 20, joiners: 0 });
      few.wait(TIMEOUT_MS);
      expect([joined, ...added].map(({ result }) => result)).toEqual(Array(3).fill('SERVFAIL'));
      expect(group.load).toMatchObject({ questions: 0, joiners: 0 });
      await few.close();
    });
  });

  describe('a prefetch whose client gives its place away', () => {
    it('has failed when no late reply comes, and others may follow', async () => {
      const { group } = await fixture.groupOf([slow]);
      const prefetch = (name: string) => {
        const client = from('10.0.0.1');
        const query = readQuery(encodeQuery({ name }));
        return fixture.forwarder.refresh(query, group, () => undefined, client, undefined, true);
      };
      expect(prefetch('slow.d.x')).toBe(true);
      for (let i = 0; i < 1_499; i++) fixture.ask(group, `slow${i}.d.x`, from('10.0.0.1'));
      await answered(fixture.ask(group, 'new', from('10.0.0.2')));
      fixture.wait(TIMEOUT_MS);
      fixture.wait(10_000);
      await answered(fixture.ask(group, 'other', from('10.0.0.2')));
      expect(fixture.forwarder.prefetches).toEqual({ fresh: 0, failed: 1, dropped: 0 });
      expect(prefetch('new')).toBe(true);
    });
  });

  describe('queries for one name that cannot be joined', () => {
    it('outsider 1: are 300 of one client: the plain question of others is answered, also with DO', async () => {
      const { group } = await fixture.groupOf([silentToUnshareable]);
      const flood = (first: number) =>
        Array.from({ length: 100 }, (_none, i) =>
          fixture.pass(unshareable('a', first + i), group, from('10.0.0.1')),
        );
      const floods: WaitingClient[] = [];
      for (let round = 0; round < 3; round++) {
        floods.push(...flood(100 * round));
        const others = [1, 2, 3].map((i) => fixture.ask(group, 'a', from(`10.0.1.${i}`)));
        others.push(
          fixture.ask(group, { name: 'a', ednsBytes: 1232, isDnssecOk: true }, from('10.0.1.4')),
        );
        await answered(...others);
        expect(resultsOf(others)).toEqual({ 'A 10.0.0.1': 4 });
      }
      expect(resultsOf(floods)).toEqual({ '': 2 + 64, REFUSED: 300 - 66 });
    });

    it.each([
      ['IPv4', (i: number) => `10.0.0.${i}`, (i: number) => `10.0.1.${i}`],
      ['one IPv6 network', (i: number) => `2001:db8::${i}`, (i: number) => `2001:db8:1::${i}`],
    ])('outsider 1: each of two clients has its part of them, %s', async (kind, first, second) => {
      const { group, own } = await fixture.groupOf([silent]);
      const many = (address: (i: number) => string, start: number) =>
        Array.from({ length: 300 }, (_none, i) => {
          const client = from(address(kind === 'IPv4' ? 1 : (i % 9) + 1));
          return fixture.pass(unshareable('a', start + i), group, client);
        });
      const clients = [many(first, 0), many(second, 300)];
      expect(clients.map(resultsOf)).toEqual([
        { '': 2 + 32, REFUSED: 300 - 34 },
        { '': 32, REFUSED: 300 - 32 },
      ]);
      await fixture.asked(2);
      expect(questionsAt(own[0]!)).toHaveLength(2);
      fixture.wait(TIMEOUT_MS);
      fixture.wait(10_000);
      expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
      expect(group.load).toMatchObject({ questions: 0, joiners: 0 });
    });

    it('outsider 1: the one of another client is the next to be sent', async () => {
      const held: (() => void)[] = [];
      const script: Script = async (request) => {
        await new Promise<void>((resolve) => held.push(resolve));
        return says('10.0.0.1')(request);
      };
      const { group } = await fixture.groupOf([script]);
      for (let i = 0; i < 100; i++) fixture.pass(unshareable('a', i), group, from('10.0.0.1'));
      const other = fixture.pass(unshareable('a', 100), group, from('10.0.1.1'));
      await until(() => held.length === 2);
      held[0]!();
      await until(() => held.length === 3);
      held[2]!();
      await answered(other);
      expect(other.result).toBe('A 10.0.0.1');
      for (const release of held) release();
    });

    it('outsider 1: those that joined one go on when its client has too many', async () => {
      const { group } = await fixture.groupOf([silent]);
      const variant = (i: number) => {
        const message = encodeQuery({ name: 'a' });
        message.writeUInt16BE(i + 2, message.length - 2);
        return readQuery(message);
      };
      const attacker = Array.from({ length: 66 }, (_none, i) =>
        fixture.pass(variant(i), group, from('10.0.0.1')),
      );
      const joined = fixture.pass(variant(2), group, from('10.0.1.1'));
      const other = fixture.pass(variant(66), group, from('10.0.1.2'));
      expect([joined, other].map(({ result }) => result)).toEqual(['', '']);
      expect(resultsOf(attacker)).toEqual({ '': 64, REFUSED: 2 });
      expect(attacker[2]!.result).toBe('REFUSED');
    });

    it('outsider 1: have four pairs of ID and port with the plain ones, eight after a silence, and none of both waits for the other', async () => {
      const { group, own } = await fixture.groupOf([silent]);
      const plain = [false, true].flatMap((isDnssecOk) =>
        [1, 2].map((i) =>
          fixture.ask(group, { name: 'a', ednsBytes: 1232, isDnssecOk }, from(`10.0.1.${i}`)),
        ),
      );
      for (let i = 0; i < 300; i++) fixture.pass(unshareable('a', i), group, from('10.0.0.1'));
      await fixture.asked(4);
      fixture.wait(1_000);
      await fixture.asked(8);
      const pairs = questionsAt(own[0]!).map(
        ({ query, peer }) => `${readUint16(query, 0)} ${peer.port}`,
      );
      expect(new Set(pairs.slice(0, 4)).size).toBe(4);
      expect(new Set(pairs).size).toBe(8);
      expect(resultsOf(plain)).toEqual({ '': 4 });
    });
  });

  describe('clients that join a question', () => {
    it('leave places to those of another address', async () => {
      const few = new ForwarderFixture({ maxInFlight: 20 });
      const { group } = await few.groupOf([silent]);
      const attacker = Array.from({ length: 25 }, () => few.ask(group, 'a', from('10.0.0.1')));
      expect(resultsOf(attacker)).toEqual({ '': 21, REFUSED: 4 });
      const other = few.ask(group, 'a', from('10.0.0.2'));
      expect(other.result).toBe('');
      expect(attacker[1]!.result).toBe('REFUSED');
      few.wait(TIMEOUT_MS);
      expect(other.result).toBe('SERVFAIL');
      expect(group.load).toMatchObject({ questions: 0, joiners: 0 });
      await few.close();
    });
  });
});

describe('in all', () => {
  let fixture: ForwarderFixture;

  beforeEach(() => {
    fixture = new ForwarderFixture({ maxInFlight: 3_000, maxUnproven: 3_000 });
  });

  afterEach(() => fixture.close());

  const from = (port: number) => new WaitingClient(port);

  describe('many variants of a question', () => {
    const variant = (i: number) => {
      const bytes = Buffer.from([0xfd, 0xe9, 0, 2, i >> 8, i & 255]);
      return { bytes, hasClientSubnet: false };
    };
    const forward = (group: ServerGroup, i: number, name = 'a') => {
      const client = from(i + 1);
      const out = new Uint8Array(512);
      const query = readQuery(encodeQuery({ name, ednsBytes: 1232 }));
      const options = variant(i);
      const length = fixture.forwarder.forward(query, out, client, group, undefined, options);
      if (length > 0) client.take(out.subarray(0, length));
      return client;
    };

    it('have four IDs at a time before a silent server, eight after a silence, whatever 1,500 queries say', async () => {
      const { group, own } = await fixture.groupOf([silent]);
      const clients = Array.from({ length: 1_500 }, (_none, i) => forward(group, i));
      for (let i = 0; i < 1_500; i++) {
        fixture.pass(
          queryWithOption({ name: 'a', ednsBytes: 1232 }, 10, i),
          group,
          from(5_000 + i),
        );
      }
      await fixture.asked(4);
      fixture.wait(1_000);
      await fixture.asked(8);
      const pairs = questionsAt(own[0]!).map(
        ({ query, peer }) => `${readUint16(query, 0)} ${peer.port}`,
      );
      expect(new Set(pairs.slice(0, 4)).size).toBe(4);
      expect(new Set(pairs).size).toBe(8);
      const refused = clients.filter(({ result }) => result === 'REFUSED');
      expect(refused).toHaveLength(1_500 - 4 - 64);
      fixture.wait(TIMEOUT_MS);
      expect(clients.filter(({ result }) => result === 'SERVFAIL')).toHaveLength(4 + 64);
      fixture.wait(10_000);
      expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
      expect(group.load).toMatchObject({ questions: 0, joiners: 0 });
    });

    it('have three IDs at a time, whatever their classes: that of the Internet has its own', async () => {
      const { group } = await fixture.groupOf([silent]);
      for (let i = 0; i < 40; i++) {
        const message = encodeQuery({ name: i % 2 === 0 ? 'a' : 'A' });
        message.writeUInt16BE(i + 1, message.length - 2);
        fixture.pass(readQuery(message), group, from(i + 1));
      }
      await fixture.asked(3);
      expect(group.servers[0]!.counts.queries).toBe(3);
      fixture.wait(TIMEOUT_MS);
      fixture.wait(10_000);
      expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
    });

    it('have two IDs at a time when each has a record of its own, as others end and begin', async () => {
      await fixture.close();
      const servers = new DirectServers();
      fixture = new ForwarderFixture({ maxInFlight: 3_000 }, false, servers.engine);
      const { group } = fixture.groupAt([{ address: '192.0.2.53', port: 53 }]);
      const clients: WaitingClient[] = [];
      const asked = new Set<number>();
      let most = 0;
      for (let i = 0; i < 60; i++) {
        const record = Buffer.from([0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 2, 1, i]);
        const message = Buffer.concat([encodeQuery({ name: 'a' }), record]);
        message.writeUInt16BE(1, 8);
        clients.push(from(i + 1));
        fixture.pass(readQuery(message), group, clients[i]);
        fixture.wait(TIMEOUT_MS / 20);
        for (const { name, query } of servers.sent.splice(0)) {
          // The last byte is that of the record's data; probes have none.
          if (name === '\x01a\0' && query[9] === 1) asked.add(query.at(-1)!);
        }
        const open = [...asked].filter((number) => clients[number]!.result === '').length;
        const { inFlight, remembered } = fixture.forwarder;
        // Those that only wait for a late reply, too.
        most = Math.max(most, open + remembered - inFlight);
      }
      expect(asked.size).toBeGreaterThan(2);
      expect(most).toBe(2);
    });

    it('are asked four at a time, all in turn, and other names at once', async () => {
      let open = 0;
      let most = 0;
      const { group } = await fixture.groupOf([
        async (request) => {
          most = Math.max(most, ++open);
          await new Promise((resolve) => setImmediate(resolve));
          open--;
          return says('10.0.0.1')(request);
        },
      ]);
      const clients = Array.from({ length: 40 }, (_none, i) => forward(group, i));
      const other = forward(group, 0, 'b');
      await answered(other, ...clients);
      expect(clients.map(({ result }) => result)).toEqual(Array(40).fill('A 10.0.0.1'));
      expect(most).toBeLessThanOrEqual(5);
      expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
    });

    it('wait for their turn when the questions before them were answered long ago', async () => {
      const script: Script = (request) =>
        request.question.name === 'b' ? says('10.0.0.1')(request) : null;
      const { group } = await fixture.groupOf([script]);
      await answered(...Array.from({ length: 10 }, (_none, i) => forward(group, i, 'b')));
      fixture.wait(2_000);
      for (let i = 0; i < 10; i++) forward(group, i);
      for (let ms = 0; ms < 800; ms += 50) fixture.wait(50);
      await fixture.asked(4, 'a');
      expect(group.servers[0]!.counts.queries).toBe(10 + 4);
    });

    it('take the place of one that only waits for a late reply', async () => {
      const { group } = await fixture.groupOf([silent]);
      for (let i = 0; i < 4; i++) forward(group, i);
      fixture.wait(TIMEOUT_MS);
      expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 4 });
      forward(group, 4);
      await fixture.asked(5);
      expect(fixture.forwarder).toMatchObject({ inFlight: 1, remembered: 4 });
    });
  });

  describe('the pace of sending', () => {
    it('is one sending for 2,000 copies of a datagram, and five more until the time-out', async () => {
      const { group, counts } = await fixture.groupOf([silent]);
      const client = fixture.ask(group, { name: 'a', id: 5 });
      for (let i = 0; i < 2_000; i++) fixture.ask(group, { name: 'a', id: 5 }, client);
      expect(counts[0]!.queries).toBe(1);
      expect(fixture.forwarder.counters.sentForUdp).toBe(1);
      for (let ms = 50; ms < TIMEOUT_MS; ms += 50) {
        fixture.wait(50);
        fixture.ask(group, { name: 'a', id: 5 }, client);
        fixture.ask(group, { name: 'a', id: ms }, from(ms));
        expect(counts[0]!.queries).toBeLessThanOrEqual(1 + Math.floor(ms / 500));
      }
      expect(counts[0]!.queries).toBe(6);
    });
  });

  describe('too many questions', () => {
    beforeEach(async () => {
      await fixture.close();
      fixture = new ForwarderFixture({ maxInFlight: 3 });
    });

    it('are refused at once, group by group, until there is room again', async () => {
      const { script, release } = heldReply('10.0.0.1');
      const { group } = await fixture.groupOf([script]);
      const { group: other } = await fixture.groupOf([says('10.0.0.2')], { domain: 'corp' });
      const waiting = ['a', 'b', 'c'].map((name, i) => fixture.ask(group, name, from(i + 1)));
      expect(fixture.ask(group, 'd').result).toBe('REFUSED');
      expect(fixture.forwarder).toMatchObject({ counters: { overflows: 1, sentForUdp: 3 } });
      await answered(fixture.ask(other, 'd'));
      await fixture.asked(4);
      release();
      await answered(...waiting);
      fixture.ask(group, 'e');
      expect(fixture.forwarder.counters.overflows).toBe(1);
    });

    it('are refused also when they join others', async () => {
      const { group } = await fixture.groupOf([silent]);
      const clients = [1, 2, 3, 4, 5].map((port) => fixture.ask(group, 'a', from(port)));
      expect(clients.map(({ result }) => result)).toEqual(['', '', '', '', 'REFUSED']);
    });

    it('are refused in the group that they joined, not in others', async () => {
      const { group } = await fixture.groupOf([silent]);
      const { script, release } = heldReply('10.0.0.2');
      const { group: other } = await fixture.groupOf([script], { domain: 'corp' });
      for (const port of [1, 2, 3, 4, 5]) fixture.ask(group, 'a', from(port));
      const clients = [6, 7].map((port) => fixture.ask(other, 'b', from(port)));
      await fixture.asked(2);
      release();
      await answered(...clients);
      expect(clients.map(({ result }) => result)).toEqual(['A 10.0.0.2', 'A 10.0.0.2']);
      fixture.wait(TIMEOUT_MS);
      expect([group.load.joiners, other.load.joiners]).toEqual([0, 0]);
    });

    it('are reported with the domain of their group', async () => {
      const { group } = await fixture.groupOf([silent]);
      const { group: corp } = await fixture.groupOf([silent], { domain: 'corp' });
      for (let i = 0; i < 4; i++) fixture.ask(group, `n${i}`);
      for (let i = 4; i < 9; i++) fixture.ask(corp, `n${i}`);
      expect(fixture.overflows).toEqual(['.', 'corp', 'corp']);
    });

    it('are bounded together where groups share a load', async () => {
      const load = new GroupLoad();
      const { group } = await fixture.groupOf([silent], { load });
      const { group: corp } = await fixture.groupOf([silent], { domain: 'corp', load });
      for (const name of ['a', 'b']) fixture.ask(group, name);
      fixture.ask(corp, 'c');
      expect([group, corp].map((each) => fixture.ask(each, 'd').result)).toEqual([
        'REFUSED',
        'REFUSED',
      ]);
      fixture.wait(TIMEOUT_MS);
      expect(load).toMatchObject({ questions: 0, joiners: 0 });
    });
  });
});
