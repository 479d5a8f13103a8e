import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  encodeReply,
  type NameServerRequest,
  type Script,
  type ScriptedNameServer,
} from '@kube-dns/testkit';
import { FLAG, RCODE, readQuery, readUint16, writeUint16 } from '@kube-dns/wire';
import { Slot } from '../src/forward/quota.js';
import { type DirectQuery, DirectServers } from './direct-servers.js';
import { answered, ForwarderFixture, questionsAt, WaitingClient } from './forwarder-fixture.js';
import { cookieOf, replyTo } from './messages.js';
import { fails, hangingUp, says } from './scripts.js';

const FORGED = '6.6.6.6';
const GOOD = '10.0.0.1';
const GOOD_RESULT = `A ${GOOD}`;

let fixture: ForwarderFixture;
beforeEach(() => {
  fixture = new ForwarderFixture();
});
afterEach(() => fixture.close());

const protocolsAt = (server: ScriptedNameServer) =>
  questionsAt(server).map(({ protocol }) => protocol);

function withOtherId(reply: Buffer): Buffer {
  const other = Buffer.from(reply);
  writeUint16(other, 0, readUint16(other, 0) + 1);
  return other;
}

/** Over UDP the attacker has found the port: a reply with another ID comes first, and then one with the right ID. */
const guessing =
  (overTcp: Script): Script =>
  (request) => {
    if (request.isOverTcp) return overTcp(request);
    const forged = replyTo(request.query, { addresses: [FORGED] });
    return request.count === 0 ? [withOtherId(forged), forged] : says(GOOD)(request);
  };

describe('attack 1: after the first reply with another ID on the port of a question', () => {
  it('attack 1: the question goes over TCP, and what has the right ID later is not taken', async () => {
    const { group, own } = await fixture.groupOf([guessing(says(GOOD))]);
    const client = fixture.ask(group, 'a.example');
    await answered(client);
    expect(client.result).toBe(GOOD_RESULT);
    expect(protocolsAt(own[0]!)).toEqual(['udp', 'tcp']);
    expect(fixture.servers.guessedPorts).toBe(1);
    expect(fixture.healthChanges).toEqual([]);
  });

  it.each([
    ['its server has no TCP', hangingUp, ['udp', 'tcp', 'udp'], 0],
    ['no connection is free', says(FORGED), ['udp', 'udp'], 64],
  ] as const)('it is sent from another port where %s', async (_, overTcp, protocols, busy) => {
    const { group, own } = await fixture.groupOf([guessing(overTcp)]);
    for (let i = 0; i < busy; i++) {
      const nothing = { evict: () => undefined, onSlot: () => undefined };
      const waiter = { ...nothing, client: '', domain: 0, slot: new Slot(nothing) };
      group.servers[0]!.tcpSlots.acquire(waiter);
    }
    const client = fixture.ask(group, 'a.example');
    await answered(client);
    expect(client.result).toBe(GOOD_RESULT);
    expect(protocolsAt(own[0]!)).toEqual(protocols);
    const ports = questionsAt(own[0]!).map(({ peer }) => peer.port);
    expect(new Set(ports).size).toBe(protocols.length);
  });

  it('the late reply of another question on the port is none of these', () => {
    const servers = new DirectServers();
    const direct = new ForwarderFixture({}, false, servers.engine);
    const at = { address: '192.0.2.53', port: 53 };
    const { group } = direct.groupAt([at], { source: { port: 5_353 } });
    const clients = ['a.example', 'b.example'].map((name) => direct.ask(group, name));
    const [first, second] = servers.sent as [DirectQuery, DirectQuery];
    expect(first.port).toBe(second.port);
    for (const sent of [first, first, second]) {
      servers.reply(sent, replyTo(sent.query, { addresses: [GOOD] }));
    }
    expect(clients.map(({ result }) => result)).toEqual([GOOD_RESULT, GOOD_RESULT]);
    expect(direct.servers.guessedPorts).toBe(0);
    return direct.close();
  });
});

/** What an attacker with the right port and ID sends before the server's reply. */
const BAD_PACKETS: readonly (readonly [string, (request: NameServerRequest) => Buffer])[] = [
  ['a query in place of a response', ({ query }) => query],
  ['opcode 5', ({ query }) => replyTo(query, { flags: 5 << 11, addresses: [FORGED] })],
  ['NOTIFY', ({ query }) => replyTo(query, { flags: 4 << 11 })],
  ['no question', ({ query }) => head(query, 0, RCODE.NOERROR)],
  ['two questions', ({ query }) => head(query, 2, RCODE.NOERROR)],
  ['another question', ({ query }) => changed(query, 13)],
  ['another type', (request) => changed(request.query, request.questionEnd - 3)],
  ['another class', (request) => changed(request.query, request.questionEnd - 1)],
  ['FORMERR of 12 bytes', ({ query }) => head(query, 0, RCODE.FORMERR)],
  ['NOTIMP of 12 bytes', ({ query }) => head(query, 0, RCODE.NOTIMP)],
  ['FORMERR', ({ query }) => replyTo(query, { rcode: RCODE.FORMERR })],
  ['REFUSED without a question', ({ query }) => head(query, 0, RCODE.REFUSED)],
  ['SERVFAIL without a question', ({ query }) => head(query, 0, RCODE.SERVFAIL)],
  ['TC with garbage', ({ query }) => garbage(replyTo(query, { flags: FLAG.TC }))],
  ['11 bytes', ({ query }) => replyTo(query).subarray(0, 11)],
];

function head(query: Buffer, questions: number, rcode: number): Buffer {
  const bare = replyTo(query, { rcode });
  bare.writeUInt16BE(questions, 4);
  return questions === 0 ? bare.subarray(0, 12) : bare;
}

function changed(query: Buffer, at: number): Buffer {
  const reply = replyTo(query, { addresses: [FORGED] });
  reply[at]! ^= 1;
  return reply;
}

function garbage(reply: Buffer): Buffer {
  reply.writeUInt16BE(7, 6);
  return Buffer.concat([reply, Buffer.alloc(40, 0xfe)]);
}

describe('attack 7: a bad packet before the good one', () => {
  it.each(BAD_PACKETS)('attack 7: %s does not end the wait', async (_, bad) => {
    let isAttacked = true;
    const { group, own } = await fixture.groupOf([
      (request) => {
        if (isAttacked && !request.isOverTcp) request.send(bad(request));
        return says(GOOD)(request);
      },
    ]);
    const client = fixture.ask(group, { name: 'a.example', ednsBytes: 1_232 });
    await answered(client);
    expect(client.result).toBe(GOOD_RESULT);
    expect(fixture.healthChanges).toEqual([]);
    isAttacked = false;
    fixture.wait(1_000);
    await answered(fixture.ask(group, 'b.example'));
    expect(questionsAt(own[0]!, 'a.example').length).toBeLessThanOrEqual(2);
    const later = questionsAt(own[0]!, 'b.example');
    expect(later.map(({ hasEdns, protocol }) => [hasEdns, protocol])).toEqual([[true, 'udp']]);
  });

  it('attack 7: FORMERR of 12 bytes to a question without EDNS is passed on when nothing better comes', async () => {
    const bare: Script = ({ query }) => [head(query, 0, RCODE.FORMERR)];
    const { group, own } = await fixture.groupOf([bare]);
    const client = fixture.ask(group, 'a.example');
    await fixture.asked(2);
    expect(own[0]!.requests.map(({ hasEdns }) => hasEdns)).toEqual([true, false]);
    // Its reply is here before that of the next question.
    own[0]!.script = says(GOOD);
    await answered(fixture.ask(group, 'b.example'));
    expect(client.result).toBe('');
    fixture.wait(1_000);
    expect(client.result).toBe('FORMERR');
  });
});

describe('finding 4: a server that has cookies', () => {
  const SERVER = 'c0'.repeat(16);
  beforeEach(async () => {
    await fixture.close();
    fixture = new ForwarderFixture({}, true);
  });

  function replyWithCookie({ query }: NameServerRequest, address: string): Buffer {
    const option = `10 ${cookieOf(query).slice(0, 16)}${SERVER}`;
    return encodeReply(query, { answers: addressRecords(60, address), options: [option] });
  }

  const BADVERS = Buffer.from('0000290200010000000000', 'hex');
  const forgeries: readonly (readonly [string, Script])[] = [
    ['an answer', says(FORGED)],
    ['FORMERR', fails(RCODE.FORMERR)],
    ['FORMERR of 12 bytes', ({ query }) => [head(query, 0, RCODE.FORMERR)]],
    ['NOTIMP', fails(RCODE.NOTIMP)],
    [
      'BADVERS',
      ({ query }) => {
        const reply = replyTo(query);
        reply.writeUInt16BE(1, 10);
        return [Buffer.concat([reply, BADVERS])];
      },
    ],
  ];

  it.each(forgeries)(
    'finding 4: is not believed without one, and asked with one afterwards: %s',
    async (_, forge) => {
      let isForged = false;
      const { group, own } = await fixture.groupOf([
        (request) => {
          if (isForged && !request.isOverTcp) return forge(request);
          return [replyWithCookie(request, GOOD)];
        },
      ]);
      await answered(fixture.ask(group, 'a'));
      isForged = true;
      for (const name of ['b', 'c', 'd']) {
        const client = fixture.ask(group, name);
        await answered(client);
        expect(client.result).toBe(GOOD_RESULT);
      }
      expect(protocolsAt(own[0]!)).toEqual(['udp', 'udp', 'tcp', 'udp', 'tcp', 'udp', 'tcp']);
      const [first, ...others] = own[0]!.requests.map(({ query }) => cookieOf(query));
      expect(others).toEqual(others.map(() => `${first}${SERVER}`));
    },
  );

  it('finding 4: is sent no question without one when it is silent', async () => {
    const { group, own } = await fixture.groupOf([
      (request) => (request.count === 0 ? [replyWithCookie(request, GOOD)] : null),
    ]);
    await answered(fixture.ask(group, 'a'));
    fixture.ask(group, 'b');
    await fixture.asked(2);
    fixture.wait(1_000);
    await fixture.asked(3);
    const cookies = questionsAt(own[0]!, 'b').map(({ query }) => cookieOf(query));
    expect(cookies.map((cookie) => cookie.endsWith(SERVER))).toEqual([true, true]);
  });
});

describe('finding 3: forged errors', () => {
  const RTT_MS = 20;
  /** 60,000 packets a second through 64,512 ports hit each port so often in a millisecond. */
  const HITS_PER_MS = 60 / 64.512;
  let servers: DirectServers;
  let isClosed: boolean;
  let hits: number;
  let seed: number;

  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
    return seed / 0x80000000;
  };

  /** One millisecond: what was sent 20 ms ago has its reply, or its error after one. */
  function step(sentAt: Map<DirectQuery, number>, isAttacked: boolean): void {
    fixture.now++;
    if (fixture.now % 50 === 0) fixture.forwarder.tick();
    for (const sent of servers.sent) if (!sentAt.has(sent)) sentAt.set(sent, fixture.now);
    for (const [sent, at] of sentAt) {
      const isHit = isAttacked && random() < HITS_PER_MS / 1_000;
      if (isHit && fixture.now - at < RTT_MS) {
        hits++;
        sent.owner.onUnreachable();
      }
      if (isClosed && fixture.now - at === 1) sent.owner.onUnreachable();
      if (!isClosed && fixture.now - at === RTT_MS) {
        servers.reply(sent, replyTo(sent.query, { addresses: [GOOD] }));
      }
    }
  }

  /** Ten seconds of a hundred questions each, before and while errors are forged; the results of those. */
  function run(isAttacked: boolean): Map<string, number> {
    const { group } = fixture.groupAt([{ address: '192.0.2.53', port: 53 }]);
    const sentAt = new Map<DirectQuery, number>();
    const clients: WaitingClient[] = [];
    for (let ms = 0; ms < 10_000; ms++) {
      if (ms % 10 === 0) clients.push(fixture.ask(group, `n${ms}.x`, new WaitingClient(ms + 1)));
      step(sentAt, isAttacked);
    }
    for (let ms = 0; ms < 500; ms++) step(sentAt, isAttacked);
    const results = new Map<string, number>();
    for (const { result } of clients) results.set(result, (results.get(result) ?? 0) + 1);
    return results;
  }

  beforeEach(async () => {
    await fixture.close();
    servers = new DirectServers();
    fixture = new ForwarderFixture({}, false, servers.engine);
    isClosed = false;
    hits = 0;
    seed = 1;
  });

  it('finding 3, attack 8: end no question and take no server down, whatever port they hit', () => {
    const results = run(true);
    expect(hits).toBeGreaterThan(10);
    expect(Object.fromEntries(results)).toEqual({ [GOOD_RESULT]: 1_000 });
    expect(fixture.healthChanges).toEqual([]);
    const queries = servers.sent.length;
    expect(queries).toBeLessThan(1_000 + 10 * hits);
  });

  it('finding 3: a port that is really closed is known within 100 ms, for the first question, too', () => {
    isClosed = true;
    const { group } = fixture.groupAt([{ address: '192.0.2.53', port: 53 }]);
    const sentAt = new Map<DirectQuery, number>();
    const first = fixture.ask(group, 'a.x');
    for (let ms = 0; ms < 100; ms++) step(sentAt, false);
    expect(group.isDown(false)).toBe(true);
    expect(first.result).toBe('SERVFAIL');
    isClosed = false;
    for (let ms = 0; ms < 1_100; ms++) {
      if (ms % 250 === 0) fixture.servers.probeDown();
      step(sentAt, false);
    }
    expect(fixture.healthChanges).toEqual([true, false]);
  });

  it('finding 3: a question that comes back is answered by another server', () => {
    const at = (host: number) => ({ address: `192.0.2.${host}`, port: 53 });
    const { group } = fixture.groupAt([at(1), at(2)], 'strict');
    const client = fixture.ask(group, 'a.x');
    servers.sent[0]!.owner.onUnreachable();
    const asked = servers.sent.filter(({ query }) => readQuery(query).type === 1);
    expect(asked.map(({ server }) => server.address)).toEqual(['192.0.2.1', '192.0.2.2']);
    servers.reply(asked[1]!, replyTo(asked[1]!.query, { addresses: [GOOD] }));
    expect(client.result).toBe(GOOD_RESULT);
    expect(group.servers[0]!.health.isDown).toBe(false);
  });
});
