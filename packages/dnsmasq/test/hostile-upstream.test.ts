import { afterEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  cnameRecord,
  decodeMessage,
  Dnsmasq,
  ednsOf,
  encodeQuery,
  encodeReply,
  endPrograms,
  exchange,
  ownedBy,
  type OptionText,
  type Script,
  ScriptedNameServer,
  UdpClient,
  untilEqual,
} from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import { serve } from './processes.js';
import { ZonePublisher } from './zone-publisher.js';

const opened = ownedBy(afterEach);
afterEach(() => endPrograms());

const GOOD = '10.0.0.1';
const FORGED = '6.6.6.6';
const good: Script = () => ({ answers: addressRecords(60, GOOD) });

async function serverWith(script: Script): Promise<ScriptedNameServer> {
  return opened(await ScriptedNameServer.start(script));
}

const subnetOf = (query: Buffer) =>
  (ednsOf(query)?.options ?? []).find((option) => option.startsWith('8 '));

describe('attack 2: an error says nothing of what was sent to servers', () => {
  const ASKED = 50;
  const nameOf = (i: number) =>
    'leak.example'.replace(/[a-z]/g, (letter, at: number) =>
      (i >> (at % 6)) & 1 ? letter.toUpperCase() : letter,
    );

  it.each<[string, Script, readonly string[]]>([
    ['are silent', () => null, ['--query-timeout=100']],
    ['say SERVFAIL', () => ({ rcode: RCODE.SERVFAIL }), []],
    ['say REFUSED', () => ({ rcode: RCODE.REFUSED }), []],
    ['say FORMERR', () => ({ rcode: RCODE.FORMERR }), []],
    ['have too many questions', () => null, ['--dns-forward-max=4', '--query-timeout=100']],
  ])(
    'attack 2: when they %s each answer has the ID and the case of its own query',
    async (_, script, options) => {
      const upstream = await serverWith(script);
      const { port } = await serve(['-R', `--server=${upstream.text}`, ...options]);
      const got = await Promise.all(
        Array.from({ length: ASKED }, async (_none, i) => {
          const client = opened(await UdpClient.connect(port));
          const query = encodeQuery({ name: nameOf(i), id: 1_000 + i, ednsBytes: 1_232 });
          const answer = decodeMessage(await client.ask(query));
          expect(answer.rcode).not.toBe('NOERROR');
          return [answer.id, answer.questions[0]!.name];
        }),
      );
      expect(got).toEqual(got.map((_none, i) => [1_000 + i, nameOf(i)]));
    },
  );
});

describe('attack 3: one name with many subnets', () => {
  it.each([[['--add-subnet=32,128']], [['--add-subnet=32,128', '--add-mac']], [[]]])(
    'attack 3: has at most four pairs of ID and port in flight, with %j',
    async (options) => {
      const upstream = await serverWith((request) =>
        request.name === 'last.example' ? good(request) : null,
      );
      const { port } = await serve(['-R', `--server=${upstream.text}`, ...options]);
      const client = opened(await UdpClient.connect(port));
      for (let i = 0; i < 200; i++) {
        const subnet: OptionText = `8 00012000${(0x0a000000 + i).toString(16).padStart(8, '0')}`;
        const question = { name: 'victim.example', id: i + 1, ednsBytes: 1_232, options: [subnet] };
        client.send(encodeQuery(question));
      }
      await exchange(port, encodeQuery({ name: 'last.example' }));
      const pairs = upstream.requests
        .filter(({ name }) => name === 'victim.example')
        .map(({ id, peer }) => `${id} ${peer.port}`);
      expect(new Set(pairs).size).toBeLessThanOrEqual(4);
    },
  );
});

describe('attack 4: subnets of clients and the cache', () => {
  const ofSubnet: Script = ({ query }) => {
    const subnet = subnetOf(query);
    const answers = addressRecords(60, subnet?.endsWith('0a0101') === true ? FORGED : GOOD);
    return { answers, options: subnet === undefined ? [] : [subnet] };
  };
  const SUBNET: OptionText = '8 000118000a0101';
  const withSubnet = { name: 'a.example', ednsBytes: 1_232, options: [SUBNET] };

  it('attack 4: no server sees the subnet of a client, nor another client its answer', async () => {
    const upstream = await serverWith(ofSubnet);
    const { port } = await serve(['-R', `--server=${upstream.text}`]);
    for (const question of [withSubnet, { name: 'a.example' }]) {
      const answer = await exchange(port, encodeQuery(question));
      expect(decodeMessage(answer).texts).toEqual([`A ${GOOD}`]);
      expect(subnetOf(answer)).toBeUndefined();
    }
    expect(upstream.requests.map(({ query }) => subnetOf(query))).toEqual([undefined]);
  });

  it('attack 4: with --add-subnet the answer for the subnet of one is not that of another', async () => {
    const upstream = await serverWith(ofSubnet);
    const { port } = await serve(['-R', `--server=${upstream.text}`, '--add-subnet=24']);
    const texts = async (question: typeof withSubnet | { name: string }) =>
      decodeMessage(await exchange(port, encodeQuery(question))).texts;
    expect(await texts(withSubnet)).toEqual([`A ${FORGED}`]);
    expect(await texts({ name: 'a.example' })).toEqual([`A ${GOOD}`]);
    expect(await texts(withSubnet)).toEqual([`A ${FORGED}`]);
  });
});

describe('attack 5: a reply for another subnet', () => {
  it.each<[string, readonly string[], (own: string) => readonly string[]]>([
    ['another one', ['--add-subnet=24'], (own) => [own.replace(/..$/, '09')]],
    ['a longer one', ['--add-subnet=24'], (own) => [`${own}00`]],
    ['a shorter one', ['--add-subnet=24'], (own) => [own.slice(0, -2)]],
    ['no data', ['--add-subnet=24'], () => ['8 ']],
    ['another family', ['--add-subnet=24'], (own) => [own.replace('8 0001', '8 0002')]],
    ['another, first', ['--add-subnet=24'], (own) => [own.replace(/..$/, '09'), own]],
    ['another of a fixed one', ['--add-subnet=192.0.2.0/24'], (own) => [own.replace(/..$/, '09')]],
  ])('attack 5: with %s is not believed, and not cached', async (_, options, change) => {
    const upstream = await serverWith(({ query, name }) => {
      const own = subnetOf(query)!;
      if (name !== 'victim.example') return { answers: addressRecords(60, GOOD), options: [own] };
      const forged = { answers: addressRecords(60, FORGED), options: change(own) as OptionText[] };
      return [
        encodeReply(query, forged),
        encodeReply(query, { answers: addressRecords(60, GOOD), options: [own] }),
      ];
    });
    const { port } = await serve(['-R', `--server=${upstream.text}`, ...options]);
    for (let i = 0; i < 2; i++) {
      const answer = await exchange(port, encodeQuery({ name: 'victim.example' }));
      expect(decodeMessage(answer).texts).toEqual([`A ${GOOD}`]);
    }
  });
});

describe('attack 6: replies that broke others', () => {
  const ZEROS = Buffer.concat(
    [63, 63, 63, 61, 0].map((length) => Buffer.concat([Buffer.of(length), Buffer.alloc(length)])),
  );
  const NSEC = 47;

  /** A reply with one record of these bytes, whose length may be another than theirs. */
  function replyWith(
    query: Buffer,
    owner: Buffer,
    type: number,
    rdata: Buffer,
    length = rdata.length,
  ) {
    const reply = encodeReply(query, {});
    reply.writeUInt16BE(1, 6);
    const head = Buffer.from([0, type, 0, 1, 0, 0, 0, 60, length >> 8, length & 0xff]);
    return Buffer.concat([reply, owner, head, rdata]);
  }
  const ROOT = Buffer.of(0);

  it.each<[string, (query: Buffer) => Buffer]>([
    [
      'an owner of 255 bytes \\000',
      (query) => replyWith(query, ZEROS, 1, Buffer.from([10, 0, 0, 1])),
    ],
    ['a CNAME to 255 bytes \\000', (query) => replyWith(query, Buffer.of(0xc0, 12), 5, ZEROS)],
    [
      'a name of 256 bytes',
      (query) => replyWith(query, Buffer.of(0xc0, 12), 5, Buffer.concat([Buffer.of(1, 0), ZEROS])),
    ],
    [
      '65,535 bytes of data that are not there',
      (query) => replyWith(query, ROOT, 1, Buffer.of(1), 65_535),
    ],
    [
      'a bitmap of no bytes',
      (query) => replyWith(query, Buffer.of(0xc0, 12), NSEC, Buffer.of(0, 0, 0)),
    ],
    [
      'a bitmap that is longer than its record',
      (query) => replyWith(query, Buffer.of(0xc0, 12), NSEC, Buffer.of(0, 0, 255, 1)),
    ],
  ])(
    'attack 6: one with %s is passed on or SERVFAIL, and the next question is answered',
    async (_, hostile) => {
      const upstream = await serverWith((request) =>
        request.name === 'victim.example' ? [hostile(request.query)] : good(request),
      );
      const server = [`--server=${upstream.text}`, '--log-queries', '--stop-dns-rebind'];
      const { port, process } = await serve(['-R', ...server, '--rebind-domain-ok=/example/']);
      for (const type of ['A', 'ANY', 'CNAME']) {
        const answer = await exchange(port, encodeQuery({ name: 'victim.example', type }));
        expect(['NOERROR', 'SERVFAIL']).toContain(decodeRcode(answer));
      }
      expect((await ask(port, 'next.example')).texts).toEqual([`A ${GOOD}`]);
      expect(process.stderr).not.toMatch(/unexpected/);
    },
  );

  const decodeRcode = (answer: Buffer) =>
    ({ [RCODE.NOERROR]: 'NOERROR', [RCODE.SERVFAIL]: 'SERVFAIL' })[answer[3]! & 0xf];
});

describe('attack 10: the server of one zone speaks for another', () => {
  const B = 'w.b.test';
  const forged = { name: B, type: 'A', ttl: 600, data: FORGED } as const;
  const NS = { name: 'b.test', type: 'NS', ttl: 600, data: 'ns.a.test' } as const;

  it.each<[string, Script]>([
    ['its answer', () => ({ answers: [...addressRecords(60, GOOD), forged] })],
    ['its authority section', () => ({ answers: addressRecords(60, GOOD), authorities: [NS] })],
    [
      'its additional section',
      () => ({ answers: addressRecords(60, GOOD), authorities: [NS], additionals: [forged] }),
    ],
    ['the target of a CNAME', ({ name }) => ({ answers: [cnameRecord(name, B, 600), forged] })],
    [
      'a denial of the target',
      ({ name }) => ({ rcode: RCODE.NXDOMAIN, answers: [cnameRecord(name, B, 600)] }),
    ],
  ])('attack 10: in %s, and its names are asked of their own server', async (_, script) => {
    const [a, b] = [await serverWith(script), await serverWith(good)];
    const servers = [`--server=/a.test/${a.text}`, `--server=/b.test/${b.text}`];
    const { port } = await serve(['-R', ...servers]);
    await ask(port, 'x.a.test');
    expect((await ask(port, B)).texts).toEqual([`A ${GOOD}`]);
    expect(b.differentNames).toEqual([B]);
    expect(a.differentNames).toEqual(['x.a.test']);
  });
});

describe('attack 11: promiscuous name servers and DNAME', () => {
  it('attack 11: what a reply says of other names of its zone is asked anew', async () => {
    const upstream = await serverWith(({ name }) =>
      name === 'x.t.test'
        ? {
            answers: [
              cnameRecord(name, 'x.evil.test', 600),
              { name: 't.test', type: 'DNAME', ttl: 600, data: 'evil.test' },
              { name: 'x.evil.test', type: 'A', ttl: 600, data: FORGED },
              { name: 'y.t.test', type: 'A', ttl: 600, data: FORGED },
            ],
            authorities: [{ name: 't.test', type: 'NS', ttl: 600, data: 'ns.evil.test' }],
            additionals: [{ name: 'ns.evil.test', type: 'A', ttl: 600, data: FORGED }],
          }
        : { answers: addressRecords(60, GOOD) },
    );
    const { port } = await serve(['-R', `--server=${upstream.text}`]);
    await ask(port, 'x.t.test');
    for (const name of ['y.t.test', 't.test', 'ns.evil.test', 'z.evil.test']) {
      expect((await ask(port, name)).texts).toEqual([`A ${GOOD}`]);
    }
  });
});

describe('attack 25: the version of a publisher, forged by another server', () => {
  const ZONE_VERSION = '19 ';

  it('attack 25: keeps no answer longer than its TTL, and changes none of the zone', async () => {
    const publisher = opened(await ZonePublisher.start());
    publisher.set('web.zone.test', '10.0.0.9');
    const request: OptionText = ZONE_VERSION;
    const asked = { name: 'web.zone.test', ednsBytes: 1_232, options: [request] };
    const shown = await exchange(publisher.port, encodeQuery(asked));
    const version = ednsOf(shown)!.options.find((option) => option.startsWith(ZONE_VERSION))!;
    // The instance is right, and its serial is far ahead.
    const huge = `${version.slice(0, -16)}001fffffffffffff`;
    const evil = await serverWith(({ name }) => ({
      isAuthoritative: true,
      answers: [
        cnameRecord(name, 'web.zone.test', 60),
        { name: 'web.zone.test', type: 'A', ttl: 60, data: FORGED },
      ],
      options: [huge],
    }));
    const args = [publisher.option, `--server=/other.test/${evil.text}`];
    const dnsmasq = opened(await Dnsmasq.start({ args }));
    await dnsmasq.ready();
    await dnsmasq.server.waitForLine(/announces the changes of zone\.test/);
    const textsOf = async (name: string) => (await ask(dnsmasq.ports.dns, name)).texts;
    const pinned = async () => (await dnsmasq.metrics()).sum('dnsmasq_subscription_kept_answers');
    expect(await textsOf('x.other.test')).toContain(`A ${FORGED}`);
    expect(await pinned()).toBe(0);
    expect(await textsOf('web.zone.test')).toEqual(['A 10.0.0.9']);
    expect(await pinned()).toBe(1);
    publisher.set('web.zone.test', '10.0.0.10');
    await untilEqual('A 10.0.0.10', async () => String(await textsOf('web.zone.test')));
  });
});
