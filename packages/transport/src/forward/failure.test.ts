import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  encodeQuery,
  encodeReply,
  type ReplyRecord,
  type Response,
  soaRecord,
} from '@kube-dns/testkit';
import type { Script } from '@kube-dns/testkit';
import {
  decodeMessage,
  EXTENDED_ERROR,
  extendedErrorOption,
  FLAG,
  RCODE,
  readQuery,
  readUint16,
  ReplyOutline,
} from '@kube-dns/wire';
import {
  answered,
  ForwarderFixture,
  TIMEOUT_MS,
  WaitingClient,
} from '../../test/forwarder-fixture.js';
import { replyTo, withOpt } from '../../test/messages.js';
import { cutting, fails, hangingUp, referring, silent } from '../../test/scripts.js';
import { bareRefusal, badReplyReason } from './failure.js';
import type { ServerGroup } from './servers.js';

const NS: ReplyRecord = { name: 'example', type: 'NS', ttl: 60, data: 'ns.example' };
const SOA = soaRecord(1);

interface Says extends Response {
  readonly addresses?: readonly string[];
}

/** A reply of a server that asks others, or of one that does not. */
function reply({ addresses = [], ...response }: Says, asksOthers = true): Buffer {
  const answers = addressRecords(60, ...addresses);
  const all = { answers, isRecursionAvailable: asksOthers, ...response };
  return encodeReply(encodeQuery({ name: 'a.example' }), all);
}

const badReply = (message: Buffer) => badReplyReason(message, new ReplyOutline().read(message));

describe('what is wrong with a reply', () => {
  it.each<[string, Buffer]>([
    ['an address', reply({ addresses: ['10.0.0.1'] })],
    ['an address from a server without recursion', reply({ addresses: ['10.0.0.1'] }, false)],
    ['nothing at all', reply({})],
    ['nothing at all from a server without recursion', reply({}, false)],
    ['a denial', reply({ rcode: RCODE.NXDOMAIN, authorities: [SOA] })],
    ['a denial with the servers of the zone', reply({ authorities: [NS, SOA] }, false)],
    ['servers without records, from a server that asks others', reply({ authorities: [NS] })],
    [
      'servers without records, from one of them',
      reply({ authorities: [NS], isAuthoritative: true }, false),
    ],
  ])('is nothing where it has %s', (_what, message) => {
    expect(badReply(message)).toBeUndefined();
  });

  it.each(['SERVFAIL', 'REFUSED'] as const)('is that it says %s', (name) => {
    expect(badReply(reply({ rcode: RCODE[name] }))).toBe('refusal');
  });

  it('is that it refers to others, from a server without recursion', () => {
    expect(badReply(reply({ authorities: [NS] }, false))).toBe('lame');
  });

  it('is that it ends too early, wherever that is', () => {
    const whole = reply({ addresses: ['10.0.0.1'], authorities: [NS] });
    const questionEnd = 12 + 'a.example'.length + 2 + 4;
    for (let length = questionEnd; length < whole.length; length++) {
      expect(badReply(whole.subarray(0, length))).toBe('malformed');
    }
  });
});

const MARKED_ERROR = extendedErrorOption(22, 'upstream');

describe('a refusal that is passed on', () => {
  it.each([
    ['its records', ['192.0.2.1', '192.0.2.2']],
    ['no record, when it has none', []],
  ])('loses AA and %s, and keeps its rcode and the reason', (_what, addresses) => {
    const answers = addressRecords(60, ...addresses);
    const refusal = {
      rcode: 'SERVFAIL',
      isAuthoritative: true,
      answers,
      options: ['15 0016'],
    } as const;
    const reply = encodeReply(encodeQuery({ name: 'a.example', options: [] }), refusal);
    const bare = bareRefusal(reply, new ReplyOutline().read(reply));
    expect(readUint16(bare, 2) & (FLAG.AA | FLAG.TC)).toBe(0);
    expect(decodeMessage(bare)).toMatchObject({ rcode: 'SERVFAIL', answers: [] });
    expect(Uint8Array.from(bare.subarray(-MARKED_ERROR.length))).toEqual(MARKED_ERROR);
  });
});

describe('clients learn', () => {
  const EDNS = { name: 'a', ednsBytes: 1232 };

  let fixture: ForwarderFixture;

  beforeEach(() => {
    fixture = new ForwarderFixture();
  });

  afterEach(() => fixture.close());

  /** SERVFAIL with these options. */
  const failsWith =
    (options: readonly number[]): Script =>
    ({ query }) => {
      const refusal = withOpt(replyTo(query, { rcode: RCODE.SERVFAIL }), 1232);
      const reply = Buffer.concat([refusal, Buffer.from(options)]);
      reply.writeUInt16BE(options.length, refusal.length - 2);
      return [reply];
    };

  /** The rcode and the only Extended DNS Error of an answer. */
  function reasonOf({ result, extendedError, extendedErrorText }: WaitingClient): string {
    return `${result} ${extendedError} ${extendedErrorText}`;
  }

  /** As `reasonOf`; of the servers one has the word SERVER. */
  function reasonFrom(client: WaitingClient, { servers }: ServerGroup): string {
    const texts = servers.map(({ text }) => text);
    return texts.reduce((text, server) => text.replace(server, 'SERVER'), reasonOf(client));
  }

  /** All ways in which servers leave a question without an answer. */
  const WAYS: readonly {
    readonly what: string;
    readonly script: Script;
    readonly isOverTcp?: boolean;
    readonly reason: string;
    readonly badReplies?: readonly string[];
    readonly errors?: readonly string[];
  }[] = [
    {
      what: 'say SERVFAIL',
      script: fails(RCODE.SERVFAIL),
      reason: 'SERVFAIL 22 SERVFAIL SERVER',
      badReplies: ['refusal'],
    },
    {
      what: 'say REFUSED',
      script: fails(RCODE.REFUSED),
      reason: 'REFUSED 22 REFUSED SERVER',
      badReplies: ['refusal'],
    },
    {
      what: 'refer to others',
      script: referring,
      reason: 'SERVFAIL 22 referral SERVER',
      badReplies: ['lame'],
    },
    {
      what: 'end in the middle of a record',
      script: cutting,
      reason: 'SERVFAIL 24 malformed SERVER',
      badReplies: ['malformed'],
    },
    {
      what: 'close the connection',
      script: hangingUp,
      isOverTcp: true,
      reason: 'SERVFAIL 23 connection closed SERVER',
      errors: ['closed'],
    },
    {
      what: 'say SERVFAIL over TCP',
      script: fails(RCODE.SERVFAIL),
      isOverTcp: true,
      reason: 'SERVFAIL 22 SERVFAIL SERVER',
    },
    {
      what: 'refer to others over TCP',
      script: referring,
      isOverTcp: true,
      reason: 'SERVFAIL 22 referral SERVER',
    },
  ];

  describe('a question without an answer', () => {
    it.each(WAYS)(
      'says the cause and the server when all servers $what, and is counted',
      async ({ script, isOverTcp = false, reason, badReplies = [], errors = [] }) => {
        const { group, counts } = await fixture.groupOf([script, script]);
        const client = fixture.pass(readQuery(encodeQuery(EDNS), isOverTcp), group);
        await answered(client);
        expect(reasonFrom(client, group)).toBe(reason);
        expect(counts).toMatchObject(Array(2).fill({ badReplies, errors }));
        expect(fixture.forwarder).toMatchObject({
          inFlight: 0,
          // What a server says is passed on.
          counters: { failures: /(SERVFAIL|REFUSED) SERVER$/.test(reason) ? 0 : 1 },
        });
        expect(group.load.questions).toBe(0);
      },
    );

    it('says that the server cannot be reached when its port is closed', async () => {
      const { group, own, counts } = await fixture.groupOf([silent]);
      await own[0]!.close();
      fixture.fakes.shift();
      const client = fixture.ask(group, EDNS);
      await answered(client);
      expect(reasonFrom(client, group)).toBe('SERVFAIL 23 unreachable SERVER');
      expect(counts[0]!.errors).toEqual(['unreachable']);
    });

    it('says of a silent server that it timed out, before the client gives up', async () => {
      const { group } = await fixture.groupOf([silent]);
      const client = fixture.ask(group, EDNS);
      fixture.wait(TIMEOUT_MS - 1);
      expect(client.result).toBe('');
      fixture.wait(1);
      expect(reasonFrom(client, group)).toBe('SERVFAIL 22 timeout SERVER');
      expect(fixture.forwarder).toMatchObject({ inFlight: 0, counters: { failures: 1 } });
      expect(group.load.questions).toBe(0);
    });

    it.each([
      ['REFUSED', {}, { failures: 0, forwarded: 0, sentForUdp: 0 }],
      ['SERVFAIL', { unsentRcode: RCODE.SERVFAIL }, { failures: 1, forwarded: 0, sentForUdp: 0 }],
    ])('says that it cannot be sent, as %s', async (rcode, options, counters) => {
      await fixture.close();
      fixture = new ForwarderFixture(options);
      const { group } = await fixture.groupOf([silent]);
      group.servers[0]!.sockets.send = () => undefined;
      const client = fixture.ask(group, EDNS);
      expect(reasonFrom(client, group)).toBe(`${rcode} 23 cannot send SERVER`);
      expect(fixture.forwarder).toMatchObject({ inFlight: 0, remembered: 0, counters });
    });

    it('says what the server says about it instead', async () => {
      const { group } = await fixture.groupOf([failsWith([0, 15, 0, 4, 0, 6, 0x6e, 0x6f])]);
      for (const port of [1, 2]) {
        const client = fixture.ask(group, EDNS, new WaitingClient(port));
        await answered(client);
        expect(reasonOf(client)).toBe('SERVFAIL 6 upstream: no');
      }
      const count = fixture.fakes[0]!.requests.length;
      expect(count).toBe(1);
    });

    it.each([
      ['is not ready', EXTENDED_ERROR.NOT_READY, 250],
      ['reaches none itself', EXTENDED_ERROR.NETWORK_ERROR, 1_000],
    ])('of a server that %s is remembered for 250 ms at the start', async (_, code, laterMs) => {
      const starting = failsWith([0, 15, 0, 2, 0, code]);
      let isReady = false;
      const { group } = await fixture.groupOf([
        (request) => (isReady ? [replyTo(request.query, {})] : starting(request)),
      ]);
      let port = 1;
      const requestsAfter = async (ms: number, name = 'a') => {
        fixture.now += ms;
        const client = fixture.ask(group, { name, ednsBytes: 1232 }, new WaitingClient(port++));
        await answered(client);
        return fixture.fakes[0]!.requests.length;
      };
      expect(await requestsAfter(0)).toBe(1);
      expect(await requestsAfter(249)).toBe(1);
      expect(await requestsAfter(1)).toBe(2);
      isReady = true;
      expect(await requestsAfter(0, 'b')).toBe(3);
      isReady = false;
      expect(await requestsAfter(250)).toBe(4);
      expect(await requestsAfter(laterMs - 1)).toBe(4);
      expect(await requestsAfter(1)).toBe(5);
    });

    it('does not read a reason beyond the end of its option', async () => {
      const { group } = await fixture.groupOf([failsWith([0, 15, 0, 100, 0, 6, 0x6e, 0x6f])]);
      for (const [port, code] of [
        [1, EXTENDED_ERROR.NO_REACHABLE_AUTHORITY],
        [2, EXTENDED_ERROR.CACHED_ERROR],
      ] as const) {
        const client = fixture.ask(group, EDNS, new WaitingClient(port));
        await answered(client);
        expect(client.extendedError).toBe(code);
      }
    });

    it('has no reason for a client without EDNS', async () => {
      const { group } = await fixture.groupOf([fails(RCODE.SERVFAIL)]);
      const client = fixture.ask(group, 'a');
      await answered(client);
      expect(reasonOf(client)).toBe('SERVFAIL -1 ');
    });
  });
});
