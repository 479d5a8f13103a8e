import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  encodeQuery,
  encodeReply,
  heldReply,
  type Question,
  until,
} from '@kube-dns/testkit';
import {
  decodeMessage,
  encodeKey,
  FLAG,
  RCODE,
  readQuery,
  readUint16,
  writeUint16,
} from '@kube-dns/wire';
import { DirectServers } from '../../test/direct-servers.js';
import {
  answered,
  ForwarderFixture,
  queryWithOption,
  questionsAt,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import { replyTo } from '../../test/messages.js';
import { fails, says, silent } from '../../test/scripts.js';
import type { ReplyInspector } from './contract.js';
import type { ServerGroup } from './servers.js';

describe('questions of clients', () => {
  let fixture: ForwarderFixture;

  beforeEach(() => {
    fixture = new ForwarderFixture();
  });

  afterEach(() => fixture.close());

  describe('a question to a group', () => {
    it('goes to all servers first, then to the one whose answer came first', async () => {
      const { group, own } = await fixture.groupOf([silent, says('10.0.0.2')]);
      const client = fixture.ask(group, 'a.example');
      await answered(client);
      expect(client.result).toBe('A 10.0.0.2');
      expect(await fixture.asked(2)).toEqual([1, 1]);
      await answered(fixture.ask(group, 'b.example'));
      expect(own.map(({ names }) => names)).toEqual([['a.example'], ['a.example', 'b.example']]);
    });

    it.each([
      ['after more than 50 questions', 52, 0],
      ['after more than 20 s', 1, 20_001],
    ])('goes to all again %s', async (_when, questions, ms) => {
      const { group, own } = await fixture.groupOf([silent, says('10.0.0.2')]);
      await answered(fixture.ask(group, 'first'));
      const more = Array.from({ length: questions - 1 }, (_, i) => fixture.ask(group, `n${i}`));
      await answered(...more);
      expect(own[0]!.names).toEqual(['first']);
      fixture.now += ms;
      await answered(fixture.ask(group, 'again'));
      await until(() => own[0]!.names.includes('again'));
    });

    it('reads the clock once when it is sent', async () => {
      let readings = 0;
      const counted = new ForwarderFixture({ now: () => ++readings });
      const { group } = await counted.groupOf([silent]);
      counted.ask(group, 'a');
      expect(readings).toBe(1);
      await counted.close();
    });

    it('in strict order goes to the first, always', async () => {
      const { group } = await fixture.groupOf([says('10.0.0.1'), says('10.0.0.2')], 'strict');
      for (const name of ['a', 'b', 'c']) await answered(fixture.ask(group, name));
      expect(await fixture.asked(3)).toEqual([3, 0]);
    });

    it('goes to all servers, always, when they are all to be asked', async () => {
      const { group } = await fixture.groupOf([says('10.0.0.1'), says('10.0.0.2')], 'all');
      for (const name of ['a', 'b', 'c']) await answered(fixture.ask(group, name));
      expect(await fixture.asked(6)).toEqual([3, 3]);
    });

    it('asks for answers as large as we can pass on, whatever the client takes', async () => {
      const sizes: number[] = [];
      const { group } = await fixture.groupOf([
        ({ query }) => {
          sizes.push(readQuery(query).maxAnswerBytes);
          return [replyTo(query)];
        },
      ]);
      for (const ednsBytes of [4096, 1000, undefined]) {
        const size = ednsBytes === undefined ? {} : { ednsBytes };
        const client = fixture.ask(group, { name: `n${ednsBytes}`, ...size });
        await until(() => client.answer !== undefined);
      }
      expect(sizes).toEqual([1232, 1232, 1232]);
    });
  });

  describe('silence', () => {
    it('passes the question on to the next server after a second, to all after three', async () => {
      const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent, silent]);
      await answered(fixture.ask(group, 'first'));
      own[0]!.script = silent;
      await fixture.asked(3);
      const client = fixture.ask(group, 'a');
      await fixture.asked(1, 'a');
      fixture.wait(999);
      fixture.wait(1);
      expect(await fixture.asked(2, 'a')).toEqual([1, 1, 0]);
      own[2]!.script = says('10.0.0.3');
      fixture.wait(2_000);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.3');
      expect(await fixture.asked(5, 'a')).toEqual([2, 2, 1]);
    });

    it('makes the next question go to all', async () => {
      const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent]);
      await answered(fixture.ask(group, 'first'));
      own[0]!.script = silent;
      fixture.ask(group, 'a');
      await fixture.asked(3);
      fixture.wait(1_000);
      fixture.ask(group, 'b');
      await until(() => own.every(({ names }) => names.includes('b')));
    });

    it('in strict order gives each server its turn within the time', async () => {
      const scripts = [silent, silent, silent, silent, says('10.0.0.5')];
      const { group } = await fixture.groupOf(scripts, 'strict');
      const client = fixture.ask(group, 'a');
      for (let total = 1; total <= 4; total++) {
        await fixture.asked(total);
        fixture.wait(TIMEOUT_MS / 6);
      }
      await answered(client);
      expect(client.result).toBe('A 10.0.0.5');
    });

    it('of a lone server makes us ask it again, with another ID from another port', async () => {
      const { group, own, counts } = await fixture.groupOf([silent]);
      fixture.ask(group, 'a');
      await fixture.asked(1);
      fixture.wait(1_000);
      await fixture.asked(2);
      const pairs = questionsAt(own[0]!).map(
        ({ query, peer }) => `${readUint16(query, 0)} ${peer.port}`,
      );
      expect(new Set(pairs.map((pair) => pair.split(' ')[1])).size).toBe(2);
      expect(counts[0]).toMatchObject({ queries: 2, retried: 1 });
    });

    it('is counted once for each sending', async () => {
      const { group, counts } = await fixture.groupOf([silent, silent], 'strict');
      fixture.ask(group, 'a');
      for (let second = 1; second <= 3; second++) fixture.wait(1_000);
      expect(counts.map(({ queries, errors }) => [queries, errors])).toEqual([
        [1, ['timeout']],
        [3, ['timeout', 'timeout']],
      ]);
    });

    it('of a lone server makes us ask it from so many ports in turn as are allowed', async () => {
      const three = new ForwarderFixture({ portLimit: 3 });
      try {
        const { group, own } = await three.groupOf([silent]);
        three.ask(group, 'a.example');
        await three.asked(1);
        for (let times = 2; times <= 5; times++) {
          three.wait(500);
          three.ask(group, 'a.example');
          await three.asked(times);
        }
        expect(new Set(questionsAt(own[0]!).map(({ peer }) => peer.port)).size).toBe(3);
      } finally {
        await three.close();
      }
    });
  });

  describe('a port where no server listens', () => {
    it('is as good as a refusal: the next server is asked at once', async () => {
      const { group, own } = await fixture.groupOf([says('10.0.0.1'), says('10.0.0.2')], 'strict');
      await own[0]!.close();
      fixture.fakes.shift();
      const client = fixture.ask(group, 'a');
      await answered(client);
      expect(client.result).toBe('A 10.0.0.2');
    });
  });

  describe('a late reply', () => {
    it('is for the cache, and for who asks again', async () => {
      const { script, release } = heldReply('10.0.0.1');
      const { group } = await fixture.groupOf([script]);
      const seen: boolean[] = [];
      const inspector: ReplyInspector = (reply, isCacheable) => {
        seen.push(isCacheable);
        return reply;
      };
      const client = fixture.ask(group, 'a', new WaitingClient(), inspector);
      await fixture.asked(1);
      fixture.wait(TIMEOUT_MS);
      expect(client.result).toBe('SERVFAIL');
      // For a second the failure is remembered.
      fixture.now += 1_000;
      const again = fixture.ask(group, 'a', new WaitingClient(), inspector);
      await fixture.asked(2);
      release();
      await answered(again);
      expect(again.result).toBe('A 10.0.0.1');
      expect(seen).toEqual([true]);
      expect(fixture.forwarder.remembered).toBe(0);
    });

    it('is not waited for much longer than ten seconds', async () => {
      const { group } = await fixture.groupOf([silent]);
      fixture.ask(group, 'a');
      fixture.wait(TIMEOUT_MS);
      expect(fixture.forwarder.remembered).toBe(1);
      fixture.wait(10_000);
      expect(fixture.forwarder.remembered).toBe(0);
    });
  });
});

describe('shared questions', () => {
  let fixture: ForwarderFixture;

  beforeEach(() => {
    fixture = new ForwarderFixture();
  });

  afterEach(() => fixture.close());

  const from = (port: number) => new WaitingClient(port);

  describe('the same question of several clients', () => {
    it('is sent once, and each gets the answer with its own ID and spelling', async () => {
      const { script, release } = heldReply('10.0.0.1');
      const { group } = await fixture.groupOf([script]);
      const spellings = ['a.example', 'A.EXAMPLE', 'a.eXample'];
      const clients = spellings.map((name, i) =>
        fixture.ask(group, { name, id: 100 + i }, from(i + 1)),
      );
      expect(fixture.forwarder).toMatchObject({
        inFlight: 1,
        counters: { sentForUdp: 1, joined: 2 },
      });
      await fixture.asked(1);
      release();
      await answered(...clients);
      expect(clients.map(({ answer }) => answer!.id)).toEqual([100, 101, 102]);
      expect(clients.map(({ answer }) => answer!.questions[0]!.name)).toEqual(spellings);
      expect(clients.map(({ result }) => result)).toEqual(Array(3).fill('A 10.0.0.1'));
      expect(await fixture.asked(1)).toEqual([1]);
    });

    it('is sent apart when type, class, RD, CD or DO change the answer', async () => {
      const { group } = await fixture.groupOf([silent]);
      const others: Partial<Question>[] = [
        {},
        { type: 'AAAA' },
        { class: 'CH' },
        { isCheckingDisabled: true },
        { isRecursionDesired: false },
        { ednsBytes: 1232, isDnssecOk: true },
      ];
      others.forEach((other, i) => fixture.ask(group, { name: 'a', ...other }, from(i + 1)));
      expect(fixture.forwarder).toMatchObject({
        counters: { sentForUdp: others.length, joined: 0 },
      });
    });

    it('is one, whatever else they send: EDNS, its size, its options, AD', async () => {
      const { script, release } = heldReply('10.0.0.1');
      const { group, own } = await fixture.groupOf([script]);
      const plain = fixture.ask(group, { name: 'a' }, from(1));
      const small = fixture.ask(group, { name: 'a', ednsBytes: 512 }, from(2));
      const cookies = [3, 4].map((i) =>
        fixture.pass(queryWithOption({ name: 'a', ednsBytes: 4096 }, 10, i), group, from(i)),
      );
      const wide = queryWithOption({ name: 'a', ednsBytes: 4096 }, 12, 5, 2_000);
      const long = fixture.pass(wide, group, from(5));
      const asking = readQuery(encodeQuery({ name: 'a' }));
      asking.flags |= FLAG.AD;
      const validating = fixture.pass(asking, group, from(6));
      expect(fixture.forwarder).toMatchObject({
        inFlight: 1,
        counters: { sentForUdp: 1, joined: 5 },
      });
      await fixture.asked(1);
      release();
      const clients = [plain, small, ...cookies, long, validating];
      await answered(...clients);
      expect(own[0]!.requests).toHaveLength(1);
      expect(clients.map(({ result }) => result)).toEqual(Array(6).fill('A 10.0.0.1'));
      const opts = clients.map(({ answer }) =>
        answer!.additionals.some(({ type }) => type === 'OPT'),
      );
      expect(opts).toEqual([false, true, true, true, true, false]);
    });

    it('leaves with an OPT of ours and no option of the client', async () => {
      const { group, own } = await fixture.groupOf([silent]);
      fixture.pass(queryWithOption({ name: 'aB', ednsBytes: 4096 }, 10, 1), group);
      const options = { bytes: Buffer.from('fdea000101', 'hex'), hasClientSubnet: false };
      const query = readQuery(encodeQuery({ name: 'c', ednsBytes: 512, isDnssecOk: true }));
      fixture.forwarder.forward(query, new Uint8Array(512), from(2), group, undefined, options);
      await fixture.asked(2);
      const sent = own[0]!.requests.map((request) => Buffer.from(request.query).toString('hex', 2));
      // The header, the question with the client's letters, and OPT of 1,232 bytes.
      const head = '0100' + '0001' + '0000' + '0000' + '0001';
      expect(sent).toEqual([
        head + '02614200' + '00010001' + '000029' + '04d0' + '00000000' + '0000',
        head + '016300' + '00010001' + '000029' + '04d0' + '00008000' + '0005' + 'fdea000101',
      ]);
    });

    it('is sent unchanged, and for its client alone, when it has other records', async () => {
      const { group, own } = await fixture.groupOf([silent]);
      const signature = Buffer.from('0000fa00ff000000000000', 'hex');
      const message = Buffer.concat([encodeQuery({ name: 'a', ednsBytes: 1000 }), signature]);
      writeUint16(message, 10, 2);
      for (const port of [1, 2]) fixture.pass(readQuery(message), group, from(port));
      await fixture.asked(2);
      expect(own[0]!.requests.map(({ query }) => Buffer.from(query).subarray(2))).toEqual(
        Array(2).fill(message.subarray(2)),
      );
    });

    it('is asked again for a client that joins after two seconds', async () => {
      const { group } = await fixture.groupOf([silent]);
      fixture.ask(group, 'a', from(1));
      fixture.wait(900);
      fixture.ask(group, 'a', from(2));
      expect(await fixture.asked(1)).toEqual([1]);
      fixture.wait(600);
      await fixture.asked(2);
      fixture.wait(600);
      await fixture.asked(3);
      fixture.wait(500);
      fixture.ask(group, 'a', from(3));
      await fixture.asked(4);
      // dnsmasq counts each query that made it send (src/forward.c, forward_query).
      expect(fixture.forwarder.counters.sentForUdp).toBe(2);
    });
  });

  describe('a client that asks again', () => {
    it('makes us ask all servers, and gets one answer', async () => {
      const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent]);
      await answered(fixture.ask(group, 'first'));
      own[0]!.script = silent;
      own[1]!.script = says('10.0.0.2');
      const client = fixture.ask(group, { name: 'a', id: 5 });
      fixture.ask(group, { name: 'a', id: 5 }, client);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.2');
      expect(client.waiting).toBe(0);
      expect(fixture.forwarder).toMatchObject({ counters: { sentForUdp: 3, joined: 0 } });
    });

    it('in strict order makes us ask the next server', async () => {
      const { group } = await fixture.groupOf([silent, silent, silent], 'strict');
      const client = fixture.ask(group, { name: 'a', id: 5 });
      await fixture.asked(1);
      fixture.ask(group, { name: 'a', id: 5 }, client);
      expect(await fixture.asked(2)).toEqual([1, 1, 0]);
    });
  });

  describe('what outsiders can send', () => {
    let servers: DirectServers;
    let group: ServerGroup;

    beforeEach(async () => {
      await fixture.close();
      servers = new DirectServers();
      fixture = new ForwarderFixture({}, false, servers.engine);
      group = fixture.groupAt([{ address: '192.0.2.53', port: 53 }]).group;
    });

    it('leaves nothing behind: three thousand questions without an answer', () => {
      for (let i = 0; i < 3_000; i++) {
        fixture.ask(group, `n${i}`, from(1 + i));
        if (i % 50 === 0) fixture.wait(TIMEOUT_MS / 2);
        expect(fixture.forwarder.remembered).toBeLessThanOrEqual(200);
      }
      expect(fixture.sockets.size).toBeLessThanOrEqual(513);
      fixture.wait(TIMEOUT_MS);
      fixture.wait(10_000);
      expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
    });

    it('leaves nothing behind: ten thousand forged replies, none of which is believed', () => {
      const client = fixture.ask(group, 'name.example');
      const sent = servers.sent[0]!;
      const query = readQuery(sent.query);
      const forged = encodeReply(query, { answers: addressRecords(60, '6.6.6.6') });
      for (let i = 0; i < 10_000; i++) {
        const copy = Buffer.from(forged);
        copy[13 + (i % 4)]! ^= 1;
        servers.reply(sent, copy);
      }
      expect(client.result).toBe('');
      servers.reply(sent, encodeReply(query, { answers: addressRecords(60, '10.0.0.1') }));
      expect(client.result).toBe('A 10.0.0.1');
      expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
    });
  });

  describe('a forwarder that ends', () => {
    it('settles when the questions in flight are answered, regardless of later ones', async () => {
      const { script, release } = heldReply('10.0.0.1');
      const { group } = await fixture.groupOf([script]);
      const client = fixture.ask(group, 'a');
      let isSettled = false;
      const settled = fixture.forwarder.settle().then(() => (isSettled = true));
      fixture.now += 10;
      fixture.ask(group, 'b');
      await fixture.asked(2);
      fixture.forwarder.tick();
      await Promise.resolve();
      expect(isSettled).toBe(false);
      release();
      await answered(client);
      await settled;
      expect(isSettled).toBe(true);
    });

    it('gives back the handles of those who still wait', async () => {
      const { group } = await fixture.groupOf([silent]);
      const client = fixture.ask(group, 'a');
      fixture.forwarder.close();
      expect(client.waiting).toBe(0);
      expect(client.result).toBe('');
    });
  });

  describe('a question on its way', () => {
    it('is joined by no client that asks after its name has changed', async () => {
      const { script, release } = heldReply('10.0.0.1');
      const { group, own } = await fixture.groupOf([script]);
      const early = fixture.ask(group, 'a');
      await fixture.asked(1);
      fixture.forwarder.forgetQuestions(encodeKey('a'));
      own[0]!.script = says('10.0.0.2');
      const late = fixture.ask(group, 'a');
      await answered(late);
      expect(late.result).toBe('A 10.0.0.2');
      release();
      await answered(early);
      expect(early.result).toBe('A 10.0.0.1');
    });
  });
});

describe('questions of the program', () => {
  let fixture: ForwarderFixture;
  let replies: (Buffer | null)[];

  beforeEach(() => {
    fixture = new ForwarderFixture({ maxInFlight: 1 });
    replies = [];
  });

  afterEach(() => fixture.close());

  const ask = (group: ServerGroup, name: string) =>
    fixture.forwarder.ask(encodeQuery({ name }), group, (reply) => replies.push(reply));
  const replied = (count = 1) => until(() => replies.length === count);

  describe('a question of the program’s own', () => {
    it('calls back with the reply', async () => {
      const { group, own } = await fixture.groupOf([says('10.0.0.1')]);
      expect(ask(group, 'wEb.x')).toBe(true);
      await replied();
      expect(decodeMessage(replies[0]!)).toMatchObject({
        questions: [{ name: 'wEb.x' }],
        answers: [{ data: '10.0.0.1' }],
      });
      expect(own[0]!.names).toEqual(['wEb.x']);
      expect(fixture.forwarder).toMatchObject({
        inFlight: 0,
        counters: { forwarded: 1, failures: 0 },
      });
    });

    it('calls back with a refusal when there is no better reply', async () => {
      const { group } = await fixture.groupOf([fails(RCODE.REFUSED)]);
      ask(group, 'a');
      await replied();
      expect(decodeMessage(replies[0]!).rcode).toBe('REFUSED');
    });

    it('calls back with null when no server answers in time, once', async () => {
      const { group } = await fixture.groupOf([silent]);
      ask(group, 'a');
      fixture.wait(TIMEOUT_MS - 1);
      expect(replies).toEqual([]);
      fixture.wait(1);
      fixture.wait(TIMEOUT_MS);
      expect(replies).toEqual([null]);
      expect(fixture.forwarder.counters.failures).toBe(1);
    });

    it('joins a client’s, and a client joins it, each with a reply of its own', async () => {
      const { script, release } = heldReply('10.0.0.1');
      const { group, own } = await fixture.groupOf([script]);
      ask(group, 'a');
      const client = fixture.ask(group, 'a');
      await fixture.asked(1);
      release();
      await answered(client);
      await replied();
      expect(client.result).toBe('A 10.0.0.1');
      const again = fixture.ask(group, 'b');
      ask(group, 'B');
      await fixture.asked(2);
      release();
      await answered(again);
      await replied(2);
      expect(decodeMessage(replies[1]!).answers).toMatchObject([{ data: '10.0.0.1' }]);
      expect(own[0]!.requests).toHaveLength(2);
      expect(fixture.forwarder).toMatchObject({ counters: { forwarded: 4, joined: 2 } });
    });

    it('is not asked when there is no room for it, also among those that join', async () => {
      const { group } = await fixture.groupOf([silent]);
      expect([ask(group, 'a'), ask(group, 'b')]).toEqual([true, false]);
      expect([ask(group, 'a'), ask(group, 'a')]).toEqual([true, false]);
      fixture.wait(TIMEOUT_MS);
      expect(replies).toEqual([null, null]);
    });

    it('is not asked when there is no way to send', async () => {
      const { group } = await fixture.groupOf([silent]);
      group.servers[0]!.sockets.send = () => undefined;
      expect(ask(group, 'a')).toBe(false);
      expect(fixture.forwarder).toMatchObject({ inFlight: 0, counters: { forwarded: 0 } });
    });

    it('is asked again, for itself, while the reply to the one before is taken', async () => {
      const { group } = await fixture.groupOf([says('10.0.0.1')]);
      let count = 0;
      const again = () => {
        if (++count < 3) fixture.forwarder.ask(encodeQuery({ name: 'a' }), group, again);
      };
      again();
      await until(() => count === 3);
    });

    it('is not called back when the forwarder is closed', async () => {
      const { group } = await fixture.groupOf([silent]);
      ask(group, 'a');
      fixture.forwarder.close();
      fixture.wait(TIMEOUT_MS);
      expect(replies).toEqual([]);
    });
  });
});

describe('questions of no client', () => {
  let fixture: ForwarderFixture;

  beforeEach(() => {
    fixture = new ForwarderFixture();
  });

  afterEach(() => fixture.close());

  const CLIENT = new WaitingClient();
  const prefetch = (group: ServerGroup, name: string) =>
    fixture.forwarder.refresh(
      readQuery(encodeQuery({ name })),
      group,
      () => undefined,
      CLIENT,
      undefined,
      true,
    );
  const results = () => fixture.forwarder.prefetches;

  describe('prefetches', () => {
    it('are one at a time, and a tenth of the questions in flight', async () => {
      const { group } = await fixture.groupOf([silent]);
      expect([prefetch(group, 'a'), prefetch(group, 'b')]).toEqual([true, false]);
      for (let i = 0; i < 20; i++) fixture.ask(group, `n${i}`);
      expect([prefetch(group, 'b'), prefetch(group, 'c'), prefetch(group, 'd')]).toEqual([
        true,
        true,
        false,
      ]);
      expect(results()).toEqual({ fresh: 0, failed: 0, dropped: 2 });
    });

    it('are counted by their results, and their failures are not remembered', async () => {
      const { group, own } = await fixture.groupOf([says('10.0.0.1')]);
      prefetch(group, 'a');
      await until(() => results().fresh === 1);
      own[0]!.script = fails(RCODE.SERVFAIL);
      prefetch(group, 'b');
      await until(() => results().failed === 1);
      own[0]!.script = says('10.0.0.1');
      const client = fixture.ask(group, 'b');
      await answered(client);
      expect(client.result).toBe('A 10.0.0.1');
    });

    it('are not sent while no server is well, nor where they would take a place', async () => {
      const { group, own } = await fixture.groupOf([says('10.0.0.1')]);
      await answered(fixture.ask(group, 'a'));
      own[0]!.script = silent;
      fixture.now += 1;
      fixture.ask(group, 'b');
      fixture.wait(300);
      expect(prefetch(group, 'c')).toBe(false);
      const { group: full } = await fixture.groupOf([silent]);
      for (let i = 0; i < 100; i++) fixture.ask(full, `n${i}`);
      expect(prefetch(full, 'c')).toBe(false);
      expect(results()).toEqual({ fresh: 0, failed: 0, dropped: 2 });
    });

    it('give their reply to a client that asks meanwhile', async () => {
      const { group } = await fixture.groupOf([says('10.0.0.1')]);
      prefetch(group, 'a');
      const client = fixture.ask(group, 'a');
      await answered(client);
      expect(results()).toEqual({ fresh: 1, failed: 0, dropped: 0 });
      expect(fixture.forwarder.counters.joined).toBe(1);
    });
  });
});
