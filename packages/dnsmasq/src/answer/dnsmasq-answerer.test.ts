import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  encodeQuery,
  exchange,
  type Question,
  soaRecord,
} from '@kube-dns/testkit';
import { FLAG, RCODE } from '@kube-dns/wire';
import { AnswererTestbed } from '../../test/answerer-testbed.js';
import { NO_SERVERS } from '../explanations.js';

let testbed: AnswererTestbed;

beforeEach(async () => {
  testbed = await AnswererTestbed.create();
});

afterEach(() => testbed.close());

describe('a forwarded answer', () => {
  it('is upstream’s, with AA as it came, RA set, and the client’s ID, case and RD', async () => {
    await testbed.start();
    const answer = await ask(testbed.port, { name: 'A.eXample', id: 0xabcd });
    expect(answer.texts).toEqual(['A 10.0.0.1']);
    expect(answer.id).toBe(0xabcd);
    expect(answer.questions[0]?.name).toBe('A.eXample');
    expect(answer.flags).toBe(FLAG.QR | FLAG.AA | FLAG.RD | FLAG.RA);
  });

  it('is asked for over TCP by a client over TCP', async () => {
    await testbed.start();
    expect((await ask(testbed.port, { name: 'a.example' }, { isOverTcp: true })).texts).toEqual([
      'A 10.0.0.1',
    ]);
    expect(testbed.upstream.requests).toMatchObject([{ protocol: 'tcp' }]);
  });

  it.each<[string, Partial<Question>]>([
    ['of another type', { type: 'TXT' }],
    ['of class CH that is not about the server', { class: 'CH', type: 'TXT' }],
  ])('to a question %s is not cached', async (_what, fields) => {
    testbed.upstream.script = () => ({ answers: [{ type: 'TXT', ttl: 100, data: 'x' }] });
    await testbed.start();
    await ask(testbed.port, { name: 'a.example', ...fields });
    await ask(testbed.port, { name: 'a.example', ...fields });
    expect(testbed.upstream.requests).toHaveLength(2);
    expect(testbed.cache.insertions).toBe(0);
  });

  it.each<[string, Partial<Question>]>([
    ['without RD', { isRecursionDesired: false }],
    ['with DO', { ednsBytes: 1232, isDnssecOk: true }],
  ])('to a question %s serves those that come with RD and without DO', async (_what, fields) => {
    await testbed.start();
    await ask(testbed.port, { name: 'a.example', ...fields });
    await ask(testbed.port, 'a.example');
    expect(testbed.upstream.requests).toHaveLength(1);
  });

  it.each<[string, Partial<Question>]>([
    ['without RD', { isRecursionDesired: false }],
    ['with DO', { ednsBytes: 1232, isDnssecOk: true }],
    ['with CD', { isCheckingDisabled: true, isRecursionDesired: false }],
  ])('to a question %s replaces none that is cached, nor hides it', async (_what, fields) => {
    await testbed.start();
    await ask(testbed.port, 'a.example');
    testbed.upstream.script = () => ({ answers: [{ type: 'A', ttl: 100, data: '10.6.6.6' }] });
    await ask(testbed.port, { name: 'a.example', ...fields });
    const authorities = [soaRecord(60, '.')];
    testbed.upstream.script = () => ({ rcode: RCODE.NXDOMAIN, authorities });
    await ask(testbed.port, { name: 'a.example', ...fields });
    await ask(testbed.port, { name: 'a.example', type: 'AAAA', ...fields });
    expect((await ask(testbed.port, 'a.example')).texts).toEqual(['A 10.0.0.1']);
    expect(testbed.upstream.requests).toHaveLength(4);
  });

  it('is not cached when it is negative without SOA or an error', async () => {
    await testbed.start();
    for (const rcode of [RCODE.NXDOMAIN, RCODE.NOERROR, RCODE.REFUSED]) {
      testbed.upstream.script = () => ({ rcode });
      await ask(testbed.port, 'a.example');
    }
    expect(testbed.cache.insertions).toBe(0);
  });
});

describe('a cached answer', () => {
  it('comes without AA and without asking upstream, TTLs counted down', async () => {
    await testbed.start();
    await ask(testbed.port, 'a.example');
    testbed.now += 40;
    const answer = await ask(testbed.port, { name: 'A.EXAMPLE', id: 7 });
    expect(answer.ttls).toEqual([60]);
    expect(answer.questions[0]?.name).toBe('A.EXAMPLE');
    expect(answer.id).toBe(7);
    expect(answer.flags).toBe(FLAG.QR | FLAG.RD | FLAG.RA);
    expect(testbed.upstream.requests).toHaveLength(1);
  });

  it('serves TCP and EDNS, which gets OPT', async () => {
    await testbed.start();
    await ask(testbed.port, 'a.example');
    expect((await ask(testbed.port, { name: 'a.example' }, { isOverTcp: true })).texts).toEqual([
      'A 10.0.0.1',
    ]);
    const answer = await ask(testbed.port, { name: 'a.example', ednsBytes: 4096 });
    expect(answer.additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 1232 }]);
    expect(testbed.upstream.requests).toHaveLength(1);
  });

  it('serves a question with CD, which it echoes', async () => {
    await testbed.start();
    await ask(testbed.port, 'a.example');
    const answer = await ask(testbed.port, { name: 'a.example', isCheckingDisabled: true });
    expect(answer.flags & FLAG.CD).toBe(FLAG.CD);
    expect(testbed.upstream.requests).toHaveLength(1);
  });

  it('never serves a question without RD or with DO', async () => {
    await testbed.start();
    await ask(testbed.port, 'a.example');
    await ask(testbed.port, { name: 'a.example', isRecursionDesired: false });
    await ask(testbed.port, { name: 'a.example', ednsBytes: 1232, isDnssecOk: true });
    expect(testbed.upstream.requests).toHaveLength(3);
  });

  it('is never the reply to a question with CD', async () => {
    await testbed.start();
    await ask(testbed.port, { name: 'a.example', isCheckingDisabled: true });
    await ask(testbed.port, 'a.example');
    expect(testbed.upstream.requests).toHaveLength(2);
  });

  it('is asked for again once it has expired', async () => {
    await testbed.start();
    await ask(testbed.port, 'a.example');
    testbed.now += 100;
    expect((await ask(testbed.port, 'a.example')).ttls).toEqual([100]);
    expect(testbed.upstream.requests).toHaveLength(2);
  });
});

describe('the bounds of TTLs', () => {
  it('of sent TTLs: a ceiling for forwarded and cached answers; the cached TTL stays', async () => {
    await testbed.start({ maxTtlSeconds: 30 });
    expect((await ask(testbed.port, 'a.example')).ttls).toEqual([30]);
    testbed.now += 60;
    expect((await ask(testbed.port, 'a.example')).ttls).toEqual([30]);
    testbed.now += 20;
    expect((await ask(testbed.port, 'a.example')).ttls).toEqual([20]);
    expect(testbed.upstream.requests).toHaveLength(1);
  });

  it('of cached TTLs: a ceiling, which does not apply to the first answer', async () => {
    await testbed.start({ caching: { maxTtlSeconds: 30 } });
    expect((await ask(testbed.port, 'a.example')).ttls).toEqual([100]);
    testbed.now += 10;
    expect((await ask(testbed.port, 'a.example')).ttls).toEqual([20]);
    testbed.now += 20;
    expect((await ask(testbed.port, 'a.example')).ttls).toEqual([100]);
  });

  it('of cached TTLs: a floor, which applies even to a TTL of 0', async () => {
    testbed.upstream.script = () => ({ answers: addressRecords(0, '10.0.0.1') });
    await testbed.start({ caching: { minTtlSeconds: 50 } });
    expect((await ask(testbed.port, 'a.example')).ttls).toEqual([0]);
    testbed.now += 10;
    expect((await ask(testbed.port, 'a.example')).ttls).toEqual([40]);
    expect(testbed.upstream.requests).toHaveLength(1);
  });
});

describe('a question that is not forwarded', () => {
  it('is NXDOMAIN in a local domain, without AA and SOA', async () => {
    await testbed.start({ rules: ['/corp/', testbed.upstream.text] });
    const answer = await ask(testbed.port, 'x.corp');
    expect(answer.rcode).toBe('NXDOMAIN');
    expect(answer.flags & FLAG.AA).toBe(0);
    expect(answer.authorities).toEqual([]);
    expect(testbed.upstream.requests).toEqual([]);
  });

  it('is REFUSED without servers, with an extended error for EDNS', async () => {
    await testbed.start({ rules: [] });
    expect((await ask(testbed.port, 'x.corp')).rcode).toBe('REFUSED');
    const { bytes } = await ask(testbed.port, { name: 'x.corp', ednsBytes: 1232 });
    expect(bytes.subarray(-NO_SERVERS.length)).toEqual(Buffer.from(NO_SERVERS));
  });
});

describe('the counters', () => {
  it('hits are UDP answers from here, misses are UDP questions sent on', async () => {
    await testbed.start({ rules: ['/corp/', testbed.upstream.text] });
    await ask(testbed.port, 'a.example');
    await ask(testbed.port, 'a.example');
    await ask(testbed.port, 'x.corp');
    await ask(testbed.port, { name: 'foo.bind', type: 'TXT', class: 'CH' });
    expect([testbed.counters.unforwarded, testbed.counters.forwarded]).toEqual([3, 1]);
  });

  it('do not count TCP', async () => {
    await testbed.start();
    await ask(testbed.port, { name: 'a.example' }, { isOverTcp: true });
    await ask(testbed.port, { name: 'a.example' }, { isOverTcp: true });
    expect([testbed.counters.unforwarded, testbed.counters.forwarded]).toEqual([0, 0]);
    expect(testbed.cache.insertions).toBe(1);
  });

  it('show hits without the question that reads them', async () => {
    await testbed.start();
    const hits = { name: 'hits.bind', type: 'TXT', class: 'CH' } as const;
    expect((await ask(testbed.port, hits)).texts).toEqual(['TXT 0']);
    expect((await ask(testbed.port, hits)).texts).toEqual(['TXT 1']);
  });

  it('count as a hit a query that is refused because too many are in flight', async () => {
    await testbed.start({ maxInFlight: 0 });
    expect((await ask(testbed.port, 'a.example')).rcode).toBe('REFUSED');
    expect([testbed.counters.unforwarded, testbed.counters.forwarded]).toEqual([1, 0]);
  });
});

describe('a malformed reply', () => {
  it('becomes SERVFAIL and is not cached', async () => {
    await testbed.start();
    testbed.upstream.script = ({ query }) => {
      const reply = Buffer.from(query);
      reply[2]! |= 0x80;
      reply[7] = 1; // one record, which is not there
      return [reply];
    };
    const answer = await exchange(testbed.port, encodeQuery({ name: 'a.example' }));
    expect(answer[3]! & 0xf).toBe(RCODE.SERVFAIL);
    expect(testbed.cache.insertions).toBe(0);
  });
});

describe('the log of queries', () => {
  it('has a line per query, server and record, with a number and who asked', async () => {
    await testbed.start({ logsQueries: true });
    await ask(testbed.port, 'A.example');
    await ask(testbed.port, 'a.example');
    await ask(testbed.port, { name: 'version.bind', type: 'TXT', class: 'CH' });
    const lines = testbed.log.messages.map((line) =>
      line.replace(/^(\d+) 127\.0\.0\.1\/\d+ /, '$1 '),
    );
    expect(lines).toEqual([
      '1 query[A] A.example from 127.0.0.1',
      `1 forwarded A.example to ${testbed.upstream.text}`,
      '1 reply A.example is 10.0.0.1',
      '2 query[A] a.example from 127.0.0.1',
      '2 cached a.example is 10.0.0.1',
      '3 query[TXT] version.bind from 127.0.0.1',
      '3 config error is not implemented',
    ]);
  });
});
