import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  encodeQuery,
  heldReply,
  type Script,
  type ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { EXTENDED_ERROR, FLAG, RCODE, readQuery, readUint16, writeUint16 } from '@kube-dns/wire';
import { DirectServers } from '../../test/direct-servers.js';
import {
  answered,
  ForwarderFixture,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import { replyTo } from '../../test/messages.js';
import {
  cutting,
  fails,
  hangingUp,
  referring,
  says,
  silent,
  truncated,
  truncating,
} from '../../test/scripts.js';
import type { ReplyInspector } from './contract.js';
import type { ServerGroup, ServerOrder } from './servers.js';

describe('replies', () => {
  let fixture: ForwarderFixture;

  /** What an inspector makes of a reply that it cannot read. */
  function servfail(reply: Buffer): Buffer {
    const failure = Buffer.from(reply);
    failure[3] = RCODE.SERVFAIL;
    return failure;
  }

  beforeEach(() => {
    fixture = new ForwarderFixture();
  });

  afterEach(() => fixture.close());

  describe('a server that says SERVFAIL or REFUSED', () => {
    it.each(['SERVFAIL', 'REFUSED'] as const)(
      'with %s hands the question on, and is not preferred',
      async (name) => {
        const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent, says('10.0.0.3')]);
        own[2]!.script = silent;
        await answered(fixture.ask(group, 'first'));
        own[0]!.script = fails(RCODE[name]);
        own[2]!.script = says('10.0.0.3');
        const client = fixture.ask(group, 'second');
        await answered(client);
        expect(client.result).toBe('A 10.0.0.3');
        await answered(fixture.ask(group, 'third'));
        expect(own[0]!.names).not.toContain('third');
      },
    );

    it('is not believed while another that was asked may know better', async () => {
      const { script, release } = heldReply('10.0.0.2');
      const { group, own, counts } = await fixture.groupOf([fails(RCODE.SERVFAIL), script]);
      const client = fixture.ask(group, 'a');
      await until(() => own.every((fake) => fake.requests.length === 1));
      await until(() => counts[0]!.rcodes.length === 1);
      expect(client.result).toBe('');
      release();
      await answered(client);
      expect(client.result).toBe('A 10.0.0.2');
    });

    it('is believed after a second when the others stay silent', async () => {
      const { group, counts } = await fixture.groupOf([fails(RCODE.REFUSED), silent]);
      const client = fixture.ask(group, 'a');
      await until(() => counts[0]!.rcodes.length === 1);
      fixture.wait(999);
      expect(client.result).toBe('');
      fixture.wait(1);
      expect(client.result).toBe('REFUSED');
    });

    it('is believed while a slow one takes its time, whose reply is taken all the same', async () => {
      const { script, release } = heldReply('10.0.0.2');
      const { group, counts } = await fixture.groupOf([fails(RCODE.SERVFAIL), script], 'all');
      const seen: boolean[] = [];
      const inspector: ReplyInspector = (reply, isCacheable) => {
        seen.push(isCacheable);
        return reply;
      };
      const first = fixture.ask(group, 'a', undefined, inspector);
      await until(() => counts[0]!.rcodes.length === 1);
      fixture.wait(1_000);
      expect(first.result).toBe('SERVFAIL');
      fixture.wait(1_500);
      release();
      await until(() => seen.length > 0);
      expect(seen).toEqual([true]);
      expect(fixture.forwarder.remembered).toBe(0);
      // It is known now how long that one takes.
      const second = fixture.ask(group, 'b');
      await until(() => counts[0]!.rcodes.length === 2);
      fixture.wait(1_000);
      fixture.wait(1_500);
      expect(second.result).toBe('');
      release();
      await answered(second);
      expect(second.result).toBe('A 10.0.0.2');
    });

    it.each<ServerOrder>(['preferred', 'strict', 'all'])(
      'is believed when all do, in order %s',
      async (order) => {
        const { group } = await fixture.groupOf(
          [fails(RCODE.SERVFAIL), fails(RCODE.SERVFAIL)],
          order,
        );
        const client = fixture.ask(group, 'a');
        await answered(client);
        expect(client.result).toBe('SERVFAIL');
        expect(await fixture.asked(2)).toEqual([1, 1]);
      },
    );

    it('in strict order makes room for the next one', async () => {
      const order = [fails(RCODE.REFUSED), fails(RCODE.SERVFAIL), says('10.0.0.3')];
      const { group } = await fixture.groupOf(order, 'strict');
      const client = fixture.ask(group, 'a');
      await answered(client);
      expect(client.result).toBe('A 10.0.0.3');
    });

    it('is not asked twice when it is the only one', async () => {
      const { group } = await fixture.groupOf([fails(RCODE.SERVFAIL)]);
      await answered(fixture.ask(group, 'a'));
      expect(await fixture.asked(1)).toEqual([1]);
    });
  });

  describe('a server whose replies are none', () => {
    const badOnes: readonly [string, Script][] = [
      ['refers to others', referring],
      ['ends in the middle of a record', cutting],
    ];

    it.each(badOnes)(
      'as it %s hands the question on, and is not preferred',
      async (_what, script) => {
        const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent, silent]);
        await answered(fixture.ask(group, 'first'));
        own[0]!.script = script;
        own[2]!.script = says('10.0.0.3');
        const client = fixture.ask(group, 'second');
        await answered(client);
        expect(client.result).toBe('A 10.0.0.3');
        await answered(fixture.ask(group, 'third'));
        expect(own[0]!.names).not.toContain('third');
      },
    );

    it.each(badOnes)('as it %s hands the question on over TCP, too', async (_what, script) => {
      const { group } = await fixture.groupOf([script, says('10.0.0.2')]);
      const client = new WaitingClient();
      const query = readQuery(encodeQuery({ name: 'a' }), true);
      fixture.forwarder.forward(query, new Uint8Array(512), client, group);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.2');
    });

    it('is one whose reply cannot be read by who sees it', async () => {
      const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent]);
      await answered(fixture.ask(group, 'first'));
      own[1]!.script = says('10.0.0.2');
      const inspector: ReplyInspector = (reply) => (reply.at(-1) === 1 ? servfail(reply) : reply);
      const client = fixture.ask(group, 'second', undefined, inspector);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.2');
    });
  });

  describe('what sees a reply', () => {
    it('may put another in its place', async () => {
      const { group } = await fixture.groupOf([says('10.0.0.1')]);
      const client = fixture.ask(group, 'a', new WaitingClient(), (reply) => {
        reply[reply.length - 1] = 9;
        return reply;
      });
      await answered(client);
      expect(client.result).toBe('A 10.0.0.9');
    });

    it('may take it for none: then others are waited for', async () => {
      const { group } = await fixture.groupOf([says('10.0.0.1'), silent]);
      let count = 0;
      const client = fixture.ask(group, 'a', new WaitingClient(), () => {
        count++;
        return null;
      });
      await until(() => count === 1);
      fixture.wait(TIMEOUT_MS);
      expect(client.result).toBe('SERVFAIL');
    });

    it('is notified when the servers have changed meanwhile', async () => {
      const { script, release } = heldReply('10.0.0.1');
      const { group } = await fixture.groupOf([script]);
      const seen: boolean[] = [];
      const client = fixture.ask(group, 'a', new WaitingClient(), (reply, isCacheable) => {
        seen.push(isCacheable);
        return reply;
      });
      await fixture.asked(1);
      fixture.forwarder.forgetQuestions();
      release();
      await answered(client);
      expect(client.result).toBe('A 10.0.0.1');
      expect(seen).toEqual([false]);
    });
  });
});

describe('retransmission', () => {
  const STEP_MS = 50;
  /** The name that is asked for, in wire form. */
  const NAME = '\x01a\0';

  let servers: DirectServers;
  let fixture: ForwarderFixture;
  let port = 1;

  beforeEach(() => {
    servers = new DirectServers();
    fixture = new ForwarderFixture({ maxInFlight: 3_000 }, false, servers.engine);
  });

  afterEach(() => fixture.close());

  const another = () => new WaitingClient(++port, `192.0.2.${1 + (port % 200)}`);
  const says = (query: Uint8Array) => replyTo(query, { addresses: ['10.0.0.1'] });

  function groupOf(count = 1, order: ServerOrder = 'preferred'): ServerGroup {
    const addresses = Array.from({ length: count }, (_, i) => `192.0.2.${1 + i}`);
    return fixture.groupAt(
      addresses.map((address) => ({ address, port: 53 })),
      order,
    ).group;
  }

  /** Another client asks each time. */
  const askEvery = (group: ServerGroup, pauseMs: number, ms: number) =>
    ms % pauseMs === 0 ? [fixture.ask(group, 'a', another())] : [];

  /** Passes time in small steps until `isOver`; when each sending of `a` arrived, and with what ID and port. */
  function pass(durationMs: number, step: (ms: number) => void, isOver = () => false) {
    const sent: { atMs: number; pair: string }[] = [];
    const sinceMs = fixture.now;
    let noted = 0;
    for (let ms = 0; ms <= durationMs; ms += STEP_MS) {
      step(ms);
      servers.deliver();
      for (; noted < servers.sent.length; noted++) {
        const { name, id, port: from } = servers.sent[noted]!;
        if (name === NAME) sent.push({ atMs: ms, pair: `${id} ${from}` });
      }
      if (isOver()) break;
      fixture.wait(STEP_MS);
    }
    return { tookMs: fixture.now - sinceMs, sent };
  }

  /** The replies that are waited for at the ports that a name was asked from. */
  const waitingAt = (sent: DirectServers['sent']) => {
    const owners = new Set(sent.filter(({ name }) => name === NAME).map(({ owner }) => owner));
    let count = 0;
    for (const owner of owners)
      if (owner instanceof Object && 'inFlight' in owner) count += Number(owner.inFlight);
    return count;
  };

  const mostIn = (times: readonly number[], windowMs: number) =>
    Math.max(
      ...times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length),
    );

  describe('a name whose server was silent for six seconds', () => {
    const SILENT_MS = 6_000;
    const haveAnswer = (clients: readonly WaitingClient[]) =>
      clients.some(({ result }) => result === 'A 10.0.0.1');

    it.each([
      { pauseMs: 300, others: 'are answered' },
      { pauseMs: 1_000, others: 'are answered' },
      { pauseMs: 1_200, others: 'are answered' },
      { pauseMs: 300, others: 'are not, too' },
      { pauseMs: 1_000, others: 'are not, too' },
      { pauseMs: 1_200, others: 'are not, too' },
    ])(
      'is back within a second, a client asking each $pauseMs ms, while other names $others',
      ({ pauseMs, others }) => {
        const backAtMs = fixture.now + SILENT_MS;
        servers.script = ({ name, query }) => {
          const isAnswered = name !== NAME && others === 'are answered';
          return fixture.now < backAtMs && !isAnswered ? null : says(query);
        };
        const group = groupOf();
        const isDown: boolean[] = [];
        const clients: WaitingClient[] = [];
        const { tookMs } = pass(
          20_000,
          (ms) => {
            clients.push(...askEvery(group, pauseMs, ms));
            // Other questions make the server be down.
            if (ms % 500 === 0) fixture.ask(group, `n${ms}`, another());
            isDown.push(group.servers[0]!.health.isDown);
          },
          () => haveAnswer(clients),
        );
        expect(tookMs - SILENT_MS).toBeLessThanOrEqual(1_000);
        expect(isDown.includes(true)).toBe(others === 'are not, too');
      },
    );

    it.each(['preferred', 'strict', 'all'] as const)(
      'is back when one of two servers is, in the order %s',
      (order) => {
        const backAtMs = fixture.now + SILENT_MS;
        const group = groupOf(2, order);
        servers.script = ({ server, query }) =>
          server.address === '192.0.2.1' && fixture.now >= backAtMs ? says(query) : null;
        const clients: WaitingClient[] = [];
        const { tookMs } = pass(
          20_000,
          (ms) => clients.push(...askEvery(group, 1_000, ms)),
          () => haveAnswer(clients),
        );
        expect(tookMs - SILENT_MS).toBeLessThanOrEqual(1_000);
      },
    );

    it('is asked at most five times again in each time-out, whatever clients do', () => {
      const group = groupOf();
      const eager = fixture.ask(group, { name: 'a', id: 5 });
      const { sent } = pass(30_000, (ms) => {
        askEvery(group, 100, ms);
        fixture.ask(group, { name: 'a', id: 5 }, eager);
      });
      const times = sent.map(({ atMs }) => atMs);
      const pauses = times.slice(1).map((at, i) => at - times[i]!);
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(500);
      const isFirst = (atMs: number) => atMs < TIMEOUT_MS;
      expect(times.filter(isFirst)).toHaveLength(1 + 5);
      const later = times.filter((atMs) => !isFirst(atMs));
      expect(mostIn(later, TIMEOUT_MS)).toBeLessThanOrEqual(5);
      // Nor is it forgotten.
      expect(Math.max(...later.slice(1).map((at, i) => at - later[i]!))).toBeLessThanOrEqual(1_000);
    });

    it('uses no ID and port for longer than ten seconds, and eight at a time', () => {
      const group = groupOf();
      const out = new Uint8Array(512);
      let most = 0;
      const { sent } = pass(30_000, (ms) => {
        most = Math.max(most, waitingAt(servers.sent));
        for (let i = 0; i < 6 && ms % 300 === 0; i++) {
          const options = { bytes: Buffer.from([0xfd, 0xe9, 0, 1, i]), hasClientSubnet: false };
          const query = readQuery(encodeQuery({ name: 'a', ednsBytes: 1232 }));
          fixture.forwarder.forward(query, out, another(), group, undefined, options);
        }
      });
      const lives = new Map<string, { from: number; to: number }>();
      for (const { atMs, pair } of sent) {
        lives.set(pair, { from: lives.get(pair)?.from ?? atMs, to: atMs });
      }
      const all = [...lives.values()];
      expect(all.length).toBeGreaterThan(4);
      for (const { from, to } of all) expect(to - from).toBeLessThanOrEqual(10_000);
      expect(most).toBe(8);
    });

    it('gives each client SERVFAIL at its own time', () => {
      const group = groupOf();
      const clients = new Map<WaitingClient, number>();
      pass(20_000, (ms) => {
        for (const client of askEvery(group, 300, ms)) clients.set(client, ms);
        for (const [client, sinceMs] of clients) {
          expect(client.result).toBe(ms - sinceMs < TIMEOUT_MS ? '' : 'SERVFAIL');
        }
      });
      expect(fixture.forwarder.inFlight).toBeGreaterThan(0);
      fixture.wait(TIMEOUT_MS);
      expect(fixture.forwarder.inFlight).toBe(0);
    });
  });

  describe('an ID and a port', () => {
    const replyAfter = (ms: number) => {
      const seen: string[] = [];
      fixture.ask(groupOf(), 'a', another(), () => void seen.push('inspected'));
      fixture.wait(TIMEOUT_MS);
      fixture.wait(ms - TIMEOUT_MS);
      const [first] = servers.sent;
      servers.reply(first!, says(first!.query));
      return seen;
    };

    it('are accepted for ten seconds', () => {
      expect(replyAfter(9_900)).toEqual(['inspected']);
    });

    it('are not accepted after that', () => {
      expect(replyAfter(10_000)).toEqual([]);
      expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0 });
    });
  });
});

describe('silence', () => {
  /** What a client waits for its first SERVFAIL at most. */
  const DEAD_MS = 1_800;
  const STEP_MS = 50;

  let fixture: ForwarderFixture;

  beforeEach(() => {
    fixture = new ForwarderFixture();
  });

  afterEach(() => fixture.close());

  const edns = (name: string) => ({ name, ednsBytes: 1232 });

  /** Lets a client wait, and returns for how long it did. */
  function wait(client: WaitingClient, limitMs: number): number {
    let ms = 0;
    for (; ms < limitMs && client.result === ''; ms += STEP_MS) fixture.wait(STEP_MS);
    return ms;
  }

  /** Servers that have answered, and do so no more. */
  async function silentGroup(count = 1) {
    const { group, own } = await fixture.groupOf(Array(count).fill(says('10.0.0.1')));
    await answered(fixture.ask(group, 'known'));
    for (const server of own) server.script = silent;
    fixture.now += 1;
    return { group, own };
  }

  describe('a question that no server answers', () => {
    it('fails in 1.8 s when all of them have replied sooner before, and reply to nothing now', async () => {
      const { group } = await silentGroup(3);
      const first = fixture.ask(group, edns('first'));
      expect(wait(first, TIMEOUT_MS)).toBeLessThanOrEqual(DEAD_MS);
      expect([first.result, first.extendedError]).toEqual([
        'SERVFAIL',
        EXTENDED_ERROR.NO_REACHABLE_AUTHORITY,
      ]);
      expect(fixture.forwarder.counters.failures).toBe(1);
    });

    it('fails at once after that, but for one that is sent with a probe', async () => {
      const { group } = await silentGroup();
      wait(fixture.ask(group, 'first'), DEAD_MS);
      let waiting = 0;
      for (let i = 0; i < 100; i++) {
        const client = fixture.ask(group, edns(`n${i}`));
        if (client.result === '') waiting++;
        else expect(client.extendedError).toBe(EXTENDED_ERROR.NO_REACHABLE_AUTHORITY);
        fixture.wait(20);
      }
      expect(waiting).toBeLessThanOrEqual(2);
    });

    it('is not given up while a server answers something else', async () => {
      const { group, own } = await silentGroup(2);
      own[1]!.script = (request) =>
        request.question.name === 'known' || request.question.type === 'SOA'
          ? says('10.0.0.1')(request)
          : null;
      const onReply = jest.spyOn(group.servers[1]!.health, 'onReply');
      const client = fixture.ask(group, 'slow');
      for (let ms = 0; ms < TIMEOUT_MS - 500; ms += 500) {
        const calls = onReply.mock.calls.length;
        fixture.wait(500);
        if (ms === 0) await until(() => onReply.mock.calls.length > calls);
        expect(client.result).toBe('');
      }
      expect(group.failure).toBeUndefined();
    });

    it('is not given up after a standstill: replies may wait to be read', async () => {
      const { group } = await silentGroup();
      const client = fixture.ask(group, 'a');
      fixture.wait(300);
      fixture.wait(TIMEOUT_MS - 500);
      expect(client.result).toBe('');
      fixture.wait(100);
      expect(client.result).toBe('');
    });

    it('has the whole time-out where a server has never replied', async () => {
      const { group } = await fixture.groupOf([silent]);
      const client = fixture.ask(group, 'first');
      expect(wait(client, 2 * TIMEOUT_MS)).toBe(TIMEOUT_MS);
    });

    it('has the whole time-out where replies take two seconds', async () => {
      const { script, release } = heldReply('10.0.0.1');
      const { group, own } = await fixture.groupOf([script]);
      const slow = fixture.ask(group, 'slow');
      await fixture.asked(1);
      fixture.now += 2_000;
      release();
      await answered(slow);
      own[0]!.script = silent;
      fixture.now += 1;
      const client = fixture.ask(group, 'slower');
      expect(wait(client, 2 * TIMEOUT_MS)).toBe(TIMEOUT_MS);
    });

    it('is answered again once they reply', async () => {
      const { group, own } = await silentGroup();
      wait(fixture.ask(group, 'first'), DEAD_MS);
      own[0]!.script = says('10.0.0.2');
      fixture.wait(1_000);
      fixture.ask(group, 'probing');
      await until(() => group.failure === undefined);
      const again = fixture.ask(group, 'again');
      await answered(again);
      expect(again.result).toBe('A 10.0.0.2');
    });
  });
});

describe('over TCP', () => {
  let fixture: ForwarderFixture;

  beforeEach(() => {
    fixture = new ForwarderFixture();
  });

  afterEach(() => fixture.close());

  const protocolsOf = ({ requests }: ScriptedNameServer) =>
    requests.map(({ protocol }) => protocol);

  /** A query that came over TCP. */
  const overTcp = (name: string) => readQuery(encodeQuery({ name }), true);

  describe('a truncated reply', () => {
    it('is fetched again from the same server over TCP', async () => {
      const scripts = [truncating(says('10.0.0.1')), says('10.0.0.2')];
      const { group, own, counts } = await fixture.groupOf(scripts, 'strict');
      const client = fixture.ask(group, 'a');
      await answered(client);
      expect(client.result).toBe('A 10.0.0.1');
      expect(own.map(protocolsOf)).toEqual([['udp', 'tcp'], []]);
      expect(counts[0]).toMatchObject({ queries: 2, rcodes: [0, 0], errors: [] });
    });

    it.each(['strict', 'preferred'] as const)(
      'is asked of the next server when TCP fails, in order %s',
      async (order) => {
        const { group, own } = await fixture.groupOf([says('10.0.0.1'), silent], order);
        await answered(fixture.ask(group, 'first'));
        own[0]!.script = truncating(hangingUp);
        own[1]!.script = says('10.0.0.2');
        const client = fixture.ask(group, 'a');
        await answered(client);
        expect(client.result).toBe('A 10.0.0.2');
        expect(protocolsOf(own[0]!)).toEqual(['udp', 'udp', 'tcp']);
      },
    );

    it('is passed on when TCP fails everywhere, without its records', async () => {
      const { group } = await fixture.groupOf([truncating(hangingUp)]);
      const client = fixture.ask(group, 'a');
      await answered(client);
      expect(client.answer).toMatchObject({ isTruncated: true, rcode: 'NOERROR', answers: [] });
    });

    it('is passed on without AA: nothing is left of what the server said', async () => {
      const { group } = await fixture.groupOf([
        ({ query, protocol }) =>
          protocol === 'tcp' ? null : [replyTo(query, { flags: FLAG.TC | FLAG.AA })],
      ]);
      const client = fixture.ask(group, 'a');
      await fixture.asked(2);
      fixture.wait(TIMEOUT_MS);
      await answered(client);
      expect(client.answer).toMatchObject({ isTruncated: true, isAuthoritative: false });
    });

    it('is preferred to refusals that come later', async () => {
      const { group } = await fixture.groupOf(
        [truncating(fails(RCODE.SERVFAIL)), fails(RCODE.SERVFAIL)],
        'strict',
      );
      const client = fixture.ask(group, 'a');
      await answered(client);
      expect(client.answer).toMatchObject({ isTruncated: true, rcode: 'NOERROR' });
    });

    it('lets nothing be sent over UDP while it is fetched', async () => {
      const { group, own, counts } = await fixture.groupOf([truncating(silent), silent], 'strict');
      const client = fixture.ask(group, 'a');
      await until(() => own[0]!.requests.length === 2);
      fixture.wait(TIMEOUT_MS - 1);
      expect(client.result).toBe('');
      expect(counts.map(({ queries, errors }) => [queries, errors])).toEqual([
        [1, []],
        [0, []],
      ]);
      fixture.wait(1);
      expect(client.answer?.isTruncated).toBe(true);
      expect(own[1]!.requests).toEqual([]);
    });

    it('that comes twice is fetched once', async () => {
      const { group, own } = await fixture.groupOf(
        [
          (request) => {
            if (request.protocol === 'tcp') return hangingUp(request);
            const reply = Buffer.from(request.query);
            writeUint16(reply, 2, readUint16(reply, 2) | FLAG.QR | FLAG.TC);
            return [reply, reply];
          },
          silent,
        ],
        'strict',
      );
      fixture.ask(group, 'a');
      await until(() => own[1]!.requests.length === 1);
      expect(protocolsOf(own[0]!)).toEqual(['udp', 'tcp']);
    });
  });

  describe('a truncated reply, while other servers were asked, too', () => {
    it.each<[string, Script, (failed: { rcodes: number[]; errors: string[] }) => boolean]>([
      ['over TCP nothing comes', silent, () => true],
      ['the connection is closed', hangingUp, ({ errors }) => errors.length === 1],
      ['over TCP it is an error', fails(RCODE.SERVFAIL), ({ rcodes }) => rcodes.length === 2],
    ])(
      'is no reason not to take the answer of another one: %s',
      async (_what, script, hasFailed) => {
        const { script: later, release } = heldReply('10.0.0.2');
        const { group, own, counts } = await fixture.groupOf([truncating(script), later], 'all');
        const client = fixture.ask(group, 'a');
        await until(() => own[0]!.requests.length === 2 && own[1]!.requests.length === 1);
        await until('the failure', () => hasFailed(counts[0]!));
        expect(client.result).toBe('');
        release();
        await answered(client);
        expect(client.result).toBe('A 10.0.0.2');
        expect(own.map(protocolsOf)).toEqual([['udp', 'tcp'], ['udp']]);
      },
    );

    it('is fetched from the next one that truncates when TCP fails', async () => {
      const scripts = [truncating(silent), truncating(says('10.0.0.2'))];
      const { group, own } = await fixture.groupOf(scripts, 'all');
      const client = fixture.ask(group, 'a');
      await until(() => own[0]!.requests.length === 2);
      await until(() => group.servers[1]!.health.repliedAtMs > 0);
      expect(client.result).toBe('');
      jest.advanceTimersByTime(TIMEOUT_MS / 2);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.2');
    });

    it('is what the client gets when none has an answer', async () => {
      const { group, counts } = await fixture.groupOf([truncating(hangingUp), silent], 'all');
      const client = fixture.ask(group, 'a');
      await fixture.asked(2);
      await until(() => counts[0]!.errors.length === 1);
      expect(client.result).toBe('');
      fixture.wait(2_000);
      await answered(client);
      expect(client.answer).toMatchObject({ isTruncated: true, rcode: 'NOERROR' });
    });
  });

  describe('a question over TCP', () => {
    const ask = async (scripts: Parameters<ForwarderFixture['groupOf']>[0]) => {
      const found = await fixture.groupOf(scripts, 'strict');
      const client = fixture.pass(overTcp('a'), found.group, new WaitingClient());
      return { ...found, client };
    };

    it('is asked over TCP', async () => {
      const { client, own } = await ask([says('10.0.0.1')]);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.1');
      expect(own.map(protocolsOf)).toEqual([['tcp']]);
    });

    it('is asked of the next server when one closes the connection, and counted', async () => {
      const { client, counts } = await ask([hangingUp, says('10.0.0.2')]);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.2');
      expect(counts).toMatchObject([
        { queries: 1, errors: ['closed'] },
        { queries: 1, rcodes: [0] },
      ]);
    });

    it('is asked of the next server when one says no, and gets the last no without a better one', async () => {
      const { client } = await ask([fails(RCODE.SERVFAIL), fails(RCODE.REFUSED)]);
      await answered(client);
      expect(client.result).toBe('REFUSED');
      const other = await ask([fails(RCODE.SERVFAIL), says('10.0.0.2')]);
      await answered(other.client);
      expect(other.client.result).toBe('A 10.0.0.2');
    });

    it('leaves from the source address of a server, and not at all from none', async () => {
      const askFrom = async (address: string) => {
        const found = await fixture.groupOf([says('10.0.0.1')], { source: { address } });
        const client = fixture.pass(overTcp('a'), found.group);
        await answered(client);
        return [client.result, ...found.own[0]!.requests.map(({ peer }) => peer.address)];
      };
      expect(await askFrom('127.0.0.7')).toEqual(['A 10.0.0.1', '127.0.0.7']);
      expect(await askFrom('192.0.2.1')).toEqual(['SERVFAIL']);
      expect(await askFrom('no-device')).toEqual(['SERVFAIL']);
    });

    it('takes TC as it is', async () => {
      const { client, own } = await ask([truncated]);
      await answered(client);
      expect(client.answer!.isTruncated).toBe(true);
      expect(own[0]!.requests).toHaveLength(1);
    });

    it('gives each server its part of the time', async () => {
      const { client, own, counts } = await ask([silent, says('10.0.0.2')]);
      await until(() => own[0]!.requests.length === 1);
      jest.advanceTimersByTime(TIMEOUT_MS / 2 - 1);
      await new Promise(setImmediate);
      expect(counts[0]!.errors).toEqual([]);
      jest.advanceTimersByTime(1);
      await answered(client);
      expect(client.result).toBe('A 10.0.0.2');
      expect(counts[0]!.errors).toEqual(['timeout']);
    });
  });
});
