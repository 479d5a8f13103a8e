import { describe, expect, it } from '@jest/globals';
import { decodeMessage, encodeQuery, type Question } from '@kube-dns/testkit';
import { subscriptionRow } from '@kube-dns/push/testing';
import { CLASS, FLAG, RCODE, readQuery, readUint16, writeUint16 } from '@kube-dns/wire';
import { ServerStatistics } from '@kube-dns/resolver';
import { ChaosAnswerer, chaosTexts } from './chaos.js';

const statistics = new ServerStatistics();
const chaos = new ChaosAnswerer(
  chaosTexts({
    resolver: {
      describe: () => ({
        answers: { unforwarded: 11, forwarded: 22 },
        cache: { maxRecords: 1000, insertions: 33, evictions: 44 },
      }),
    },
    statistics,
    subscriptions: {
      rows: () => [
        subscriptionRow({ zones: ['cluster.local', 'in-addr.arpa'] }),
        subscriptionRow({ state: 'down' }),
        subscriptionRow({ state: 'unsupported' }),
      ],
    },
  }),
);

const out = new Uint8Array(65_535);

function answer(question: Question) {
  const query = readQuery(encodeQuery({ type: 'TXT', class: 'CH', ...question }));
  return decodeMessage(Buffer.from(out.subarray(0, chaos.answer(query, out))));
}

describe('the names of class CHAOS', () => {
  it.each([
    ['version.bind', 'dnsmasq-2.90'],
    ['authors.bind', 'Simon Kelley'],
    ['copyright.bind', 'Copyright (c) 2000-2024 Simon Kelley'],
    ['cachesize.bind', '1000'],
    ['insertions.bind', '33'],
    ['evictions.bind', '44'],
    ['misses.bind', '22'],
    ['hits.bind', '11'],
    ['auth.bind', '0'],
    ['subscriptions.bind', 'live 2|down 1'],
  ])('%s says %s', (name, text) => {
    expect(answer({ name }).texts).toEqual([`TXT ${text}`]);
  });

  it('servers.bind has a text per server', () => {
    statistics.retain(['127.0.0.1#10053', '::1#53']);
    statistics.of('::1#53').countReply(RCODE.SERVFAIL, 1);
    statistics.of('::1#53').queries = 1;
    expect(answer({ name: 'servers.bind' }).texts).toEqual(['TXT 127.0.0.1#10053 0 0|::1#53 1 1']);
  });

  it('servers.bind is one empty text without servers', () => {
    statistics.retain([]);
    const { answers, bytes } = answer({ name: 'servers.bind' });
    expect(answers).toHaveLength(1);
    // The length of the data, and in it the length of the one string.
    expect([...bytes.subarray(-3)]).toEqual([0, 1, 0]);
  });

  it('servers.bind has as many as fit a message', () => {
    statistics.retain(Array.from({ length: 5_000 }, (_, i) => `2001:db8::${i.toString(16)}#53`));
    const { answers } = answer({ name: 'servers.bind', ednsBytes: 1232 });
    expect(answers).toMatchObject([{ data: { length: 250 } }]);
    statistics.retain([]);
  });

  it('are the same in any case, which the answer echoes', () => {
    const { questions, answers, texts } = answer({ name: 'HITS.bInd' });
    expect(questions[0]?.name).toBe('HITS.bInd');
    expect(answers[0]?.name).toBe('HITS.bInd');
    expect(texts).toEqual(['TXT 11']);
  });

  it('are authoritative, of class CH, with a TTL of 0, and with RD as asked', () => {
    const { isAuthoritative, answers, ttls, bytes } = answer({ name: 'hits.bind' });
    expect(isAuthoritative).toBe(true);
    expect(answers).toMatchObject([{ class: 'CH' }]);
    expect(ttls).toEqual([0]);
    expect(readUint16(bytes, 2)).toBe(FLAG.QR | FLAG.AA | FLAG.RD | FLAG.RA);
    const noRecursion = answer({ name: 'hits.bind', isRecursionDesired: false });
    expect(readUint16(noRecursion.bytes, 2)).toBe(FLAG.QR | FLAG.AA | FLAG.RA);
  });

  it('answer ANY, too', () => {
    expect(answer({ name: 'hits.bind', type: 'ANY' }).texts).toEqual(['TXT 11']);
  });

  it('bring OPT for a client with EDNS only', () => {
    expect(answer({ name: 'hits.bind', ednsBytes: 1232 }).additionals).toMatchObject([
      { type: 'OPT' },
    ]);
    expect(answer({ name: 'hits.bind' }).additionals).toEqual([]);
  });
});

describe('what is not implemented', () => {
  it.each([
    { name: 'foo.bind' },
    { name: 'hostname.bind' },
    { name: 'id.server' },
    { name: 'bind' },
    { name: 'server' },
    { name: 'x.hits.bind' },
    { name: 'constructor.bind' },
    { name: 'hits.bind', type: 'A' },
  ])('is NOTIMP without records: $name $type', (question) => {
    const { rcode, isAuthoritative, answers } = answer(question);
    expect(rcode).toBe('NOTIMP');
    expect(isAuthoritative).toBe(false);
    expect(answers).toEqual([]);
  });

  it('has OPT for a client with EDNS', () => {
    const { additionals } = answer({ name: 'foo.bind', ednsBytes: 1232 });
    expect(additionals).toMatchObject([{ type: 'OPT' }]);
  });

  it('has nothing left of the query’s own records', () => {
    const message = encodeQuery({ name: 'foo.bind', type: 'TXT', class: 'CH', ednsBytes: 512 });
    const length = chaos.answer(readQuery(message), out);
    const decoded = decodeMessage(out.subarray(0, length));
    expect([decoded.answers, decoded.authorities, decoded.additionals.length]).toEqual([[], [], 1]);
  });
});

describe('which questions are about the server itself', () => {
  it.each([
    ['hits.bind', 'CH', true],
    ['anything.BIND', 'CH', true],
    ['bind', 'CH', true],
    ['id.server', 'CH', true],
    ['hits.bind', 'IN', false],
    ['rebind', 'CH', false],
    ['example.com', 'CH', false],
    ['bind.example', 'CH', false],
  ] as const)('%s in class %s: %s', (name, recordClass, owns) => {
    expect(chaos.owns(readQuery(encodeQuery({ name, type: 'TXT', class: recordClass })))).toBe(
      owns,
    );
  });

  it('none of another class', () => {
    const message = encodeQuery({ name: 'hits.bind', type: 'TXT', class: 'CH' });
    writeUint16(message, message.length - 2, CLASS.ANY);
    expect(chaos.owns(readQuery(message))).toBe(false);
  });
});
