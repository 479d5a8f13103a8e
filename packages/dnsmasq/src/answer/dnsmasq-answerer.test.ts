import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FLAG, RCODE } from '@kube-dns/wire';
import { AnswererBed } from '../../test/answerer-bed.js';
import { ask, askTcp, exchangeUdp, flagsOf } from '../../test/client.js';
import { addressRecords, type Question, queryMessage } from '../../test/messages.js';

let bed: AnswererBed;

beforeEach(async () => {
  bed = await AnswererBed.create();
});

afterEach(() => bed.close());

describe('a forwarded answer', () => {
  it('is upstream’s, with AA as it came, RA set, and the client’s ID, case and RD', async () => {
    await bed.start();
    const answer = await ask(bed.port, { name: 'A.eXample', id: 0xabcd });
    expect(answer.texts).toEqual(['A 10.0.0.1']);
    expect(answer.id).toBe(0xabcd);
    expect(answer.questions[0]?.name).toBe('A.eXample');
    expect(flagsOf(answer)).toBe(FLAG.QR | FLAG.AA | FLAG.RD | FLAG.RA);
  });

  it('is asked for over TCP by a client over TCP', async () => {
    await bed.start();
    expect((await askTcp(bed.port, { name: 'a.example' })).texts).toEqual(['A 10.0.0.1']);
    expect(bed.upstream.asked).toMatchObject([{ protocol: 'tcp' }]);
  });

  it.each<[string, Partial<Question>]>([
    ['of another type', { type: 'TXT' }],
    ['of class CH that is not about the server', { class: 'CH', type: 'TXT' }],
  ])('to a question %s is not kept', async (_what, fields) => {
    bed.upstream.script = () => ({ answers: [{ type: 'TXT', ttl: 100, data: 'x' }] });
    await bed.start();
    await ask(bed.port, { name: 'a.example', ...fields });
    await ask(bed.port, { name: 'a.example', ...fields });
    expect(bed.upstream.asked).toHaveLength(2);
    expect(bed.cache.insertions).toBe(0);
  });

  it.each<[string, Partial<Question>]>([
    ['without RD', { isRecursionDesired: false }],
    ['with DO', { ednsBytes: 1232, isDnssecOk: true }],
  ])('to a question %s serves those that come with RD and without DO', async (_what, fields) => {
    await bed.start();
    await ask(bed.port, { name: 'a.example', ...fields });
    await ask(bed.port, 'a.example');
    expect(bed.upstream.asked).toHaveLength(1);
  });

  it('is not kept when it denies without SOA or fails', async () => {
    await bed.start();
    for (const rcode of [RCODE.NXDOMAIN, RCODE.NOERROR, RCODE.REFUSED]) {
      bed.upstream.script = () => ({ rcode });
      await ask(bed.port, 'a.example');
    }
    expect(bed.cache.insertions).toBe(0);
  });
});

describe('a cached answer', () => {
  it('comes without AA and without asking upstream, TTLs counted down', async () => {
    await bed.start();
    await ask(bed.port, 'a.example');
    bed.now += 40;
    const answer = await ask(bed.port, { name: 'A.EXAMPLE', id: 7 });
    expect(answer.ttls).toEqual([60]);
    expect(answer.questions[0]?.name).toBe('A.EXAMPLE');
    expect(answer.id).toBe(7);
    expect(flagsOf(answer)).toBe(FLAG.QR | FLAG.RD | FLAG.RA);
    expect(bed.upstream.asked).toHaveLength(1);
  });

  it('serves TCP and EDNS, which gets OPT', async () => {
    await bed.start();
    await ask(bed.port, 'a.example');
    expect((await askTcp(bed.port, { name: 'a.example' })).texts).toEqual(['A 10.0.0.1']);
    const answer = await ask(bed.port, { name: 'a.example', ednsBytes: 4096 });
    expect(answer.additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 1232 }]);
    expect(bed.upstream.asked).toHaveLength(1);
  });

  it('serves a question with CD, which it echoes', async () => {
    await bed.start();
    await ask(bed.port, 'a.example');
    const answer = await ask(bed.port, { name: 'a.example', isCheckingDisabled: true });
    expect(flagsOf(answer) & FLAG.CD).toBe(FLAG.CD);
    expect(bed.upstream.asked).toHaveLength(1);
  });

  it('never serves a question without RD or with DO', async () => {
    await bed.start();
    await ask(bed.port, 'a.example');
    await ask(bed.port, { name: 'a.example', isRecursionDesired: false });
    await ask(bed.port, { name: 'a.example', ednsBytes: 1232, isDnssecOk: true });
    expect(bed.upstream.asked).toHaveLength(3);
  });

  it('is never that of an unchecked question', async () => {
    await bed.start();
    await ask(bed.port, { name: 'a.example', isCheckingDisabled: true });
    await ask(bed.port, 'a.example');
    expect(bed.upstream.asked).toHaveLength(2);
  });

  it('is asked for again once it has expired', async () => {
    await bed.start();
    await ask(bed.port, 'a.example');
    bed.now += 100;
    expect((await ask(bed.port, 'a.example')).ttls).toEqual([100]);
    expect(bed.upstream.asked).toHaveLength(2);
  });
});

describe('the bounds of TTLs', () => {
  it('of what is sent: a ceiling for forwarded and cached answers, the cache keeps the TTL', async () => {
    await bed.start({ maxTtlSeconds: 30 });
    expect((await ask(bed.port, 'a.example')).ttls).toEqual([30]);
    bed.now += 60;
    expect((await ask(bed.port, 'a.example')).ttls).toEqual([30]);
    bed.now += 20;
    expect((await ask(bed.port, 'a.example')).ttls).toEqual([20]);
    expect(bed.upstream.asked).toHaveLength(1);
  });

  it('of what is kept: a ceiling, which the first answer does not show', async () => {
    await bed.start({ keeping: { maxTtlSeconds: 30 } });
    expect((await ask(bed.port, 'a.example')).ttls).toEqual([100]);
    bed.now += 10;
    expect((await ask(bed.port, 'a.example')).ttls).toEqual([20]);
    bed.now += 20;
    expect((await ask(bed.port, 'a.example')).ttls).toEqual([100]);
  });

  it('of what is kept: a floor, which keeps even a TTL of 0', async () => {
    bed.upstream.script = () => ({ answers: addressRecords(0, '10.0.0.1') });
    await bed.start({ keeping: { minTtlSeconds: 50 } });
    expect((await ask(bed.port, 'a.example')).ttls).toEqual([0]);
    bed.now += 10;
    expect((await ask(bed.port, 'a.example')).ttls).toEqual([40]);
    expect(bed.upstream.asked).toHaveLength(1);
  });
});

describe('a question that is not forwarded', () => {
  it('is NXDOMAIN in a local domain, without AA and SOA', async () => {
    await bed.start({ rules: ['/corp/', bed.upstream.text] });
    const answer = await ask(bed.port, 'x.corp');
    expect(answer.rcode).toBe('NXDOMAIN');
    expect(flagsOf(answer) & FLAG.AA).toBe(0);
    expect(answer.authorities).toEqual([]);
    expect(bed.upstream.asked).toEqual([]);
  });

  it('is REFUSED without servers, with an extended error for EDNS', async () => {
    await bed.start({ rules: [] });
    expect((await ask(bed.port, 'x.corp')).rcode).toBe('REFUSED');
    const { bytes } = await ask(bed.port, { name: 'x.corp', ednsBytes: 1232 });
    expect(bytes.subarray(-6)).toEqual(Buffer.from([0, 15, 0, 2, 0, 14]));
  });
});

describe('the counters', () => {
  it('hits are UDP answers from here, misses are UDP questions sent on', async () => {
    await bed.start({ rules: ['/corp/', bed.upstream.text] });
    await ask(bed.port, 'a.example');
    await ask(bed.port, 'a.example');
    await ask(bed.port, 'x.corp');
    await ask(bed.port, { name: 'foo.bind', type: 'TXT', class: 'CH' });
    expect([bed.counters.hits, bed.counters.misses]).toEqual([3, 1]);
  });

  it('do not count TCP', async () => {
    await bed.start();
    await askTcp(bed.port, { name: 'a.example' });
    await askTcp(bed.port, { name: 'a.example' });
    expect([bed.counters.hits, bed.counters.misses]).toEqual([0, 0]);
    expect(bed.cache.insertions).toBe(1);
  });

  it('show hits without the question that reads them', async () => {
    await bed.start();
    const hits = { name: 'hits.bind', type: 'TXT', class: 'CH' } as const;
    expect((await ask(bed.port, hits)).texts).toEqual(['TXT 0']);
    expect((await ask(bed.port, hits)).texts).toEqual(['TXT 1']);
  });

  it('count as a hit what is refused because too much is under way', async () => {
    await bed.start({ maxInFlight: 0 });
    expect((await ask(bed.port, 'a.example')).rcode).toBe('REFUSED');
    expect([bed.counters.hits, bed.counters.misses]).toEqual([1, 0]);
  });
});

describe('a malformed reply', () => {
  it('becomes SERVFAIL and is not kept', async () => {
    await bed.start();
    bed.upstream.script = (query) => {
      const reply = Buffer.from(query.bytes.subarray(0, query.length));
      reply[2]! |= 0x80;
      reply[7] = 1; // one record, which is not there
      return [reply];
    };
    const answer = await exchangeUdp(bed.port, queryMessage({ name: 'a.example' }));
    expect(answer[3]! & 0xf).toBe(RCODE.SERVFAIL);
    expect(bed.cache.insertions).toBe(0);
  });
});

describe('the log of queries', () => {
  it('has a line per query, server and record, with a number and who asked', async () => {
    await bed.start({ logsQueries: true });
    await ask(bed.port, 'A.example');
    await ask(bed.port, 'a.example');
    await ask(bed.port, { name: 'version.bind', type: 'TXT', class: 'CH' });
    const lines = bed.log.messages.map((line) => line.replace(/^(\d+) 127\.0\.0\.1\/\d+ /, '$1 '));
    expect(lines).toEqual([
      '1 query[A] A.example from 127.0.0.1',
      `1 forwarded A.example to ${bed.upstream.text}`,
      '1 reply A.example is 10.0.0.1',
      '2 query[A] a.example from 127.0.0.1',
      '2 cached a.example is 10.0.0.1',
      '3 query[TXT] version.bind from 127.0.0.1',
      '3 config error is not implemented',
    ]);
  });
});
