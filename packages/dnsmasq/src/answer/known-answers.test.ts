import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { addressRecords, ask, type Response, soaRecord, until } from '@kube-dns/testkit';
import { decodeName, FLAG, RCODE } from '@kube-dns/wire';
import { AnswererTestbed, NO_LOCAL_DATA } from '../../test/answerer-testbed.js';
import { storeReply } from '@kube-dns/resolver/testing';
import { recordedLog } from '../../test/recorded-log.js';
import { LocalData } from '../local/local-data.js';
import { parseOptions } from '../options/parse-options.js';

const NEGATIVE: Response = { rcode: RCODE.NXDOMAIN, authorities: [soaRecord(5)] };

let testbed: AnswererTestbed;

beforeEach(async () => {
  testbed = await AnswererTestbed.create();
});

afterEach(() => testbed.close());

describe('NXDOMAIN', () => {
  it('is cached, and serves every type', async () => {
    testbed.upstream.script = () => NEGATIVE;
    await testbed.start();
    await ask(testbed.port, { name: 'a.example', type: 'TXT' });
    const answer = await ask(testbed.port, { name: 'a.example', ednsBytes: 1232 });
    expect(answer.rcode).toBe('NXDOMAIN');
    expect(answer.authorities).toMatchObject([{ name: 'example', type: 'SOA', ttl: 60 }]);
    expect(testbed.upstream.requests).toHaveLength(1);
  });

  it('of a name with local data becomes NODATA with AA, and is cached as NODATA', async () => {
    testbed.upstream.script = () => NEGATIVE;
    const asked: string[] = [];
    const hasName = (name: Uint8Array) => asked.push(decodeName(name)) > 0;
    await testbed.start({ options: { local: { ...NO_LOCAL_DATA, hasName } } });
    const first = await ask(testbed.port, { name: 'A.example', type: 'AAAA' });
    expect([first.rcode, first.flags & FLAG.AA]).toEqual(['NOERROR', FLAG.AA]);
    const second = await ask(testbed.port, { name: 'a.example', type: 'AAAA' });
    expect([second.rcode, second.flags & FLAG.AA]).toEqual(['NOERROR', 0]);
    expect(testbed.upstream.requests).toHaveLength(1);
    expect(asked).toEqual(['a.example']);
    await ask(testbed.port, { name: 'a.example', type: 'A' });
    expect(testbed.upstream.requests).toHaveLength(2);
  });
});

describe('an answer without forwarding', () => {
  const localOf = (...argv: string[]) =>
    new LocalData({ options: parseOptions(['--no-hosts', ...argv]), log: recordedLog() });

  it('is searched in dnsmasq’s order: records, the cache, rules, servers', async () => {
    const local = localOf(
      ...['--host-record=record.x,10.1.1.1', '--address=/x/10.2.2.2', '--domain-needed'],
      '--bogus-priv',
    );
    await testbed.start({ options: { local } });
    for (const name of ['record.x', 'cached.x']) {
      storeReply(testbed.cache, { name }, { answers: addressRecords(100, '10.3.3.3') });
    }
    const texts: string[] = [];
    for (const name of ['record.x', 'cached.x', 'other.x', 'y.example', 'plain']) {
      const answer = await ask(testbed.port, name);
      texts.push(answer.texts.join() || answer.rcode);
    }
    expect(texts).toEqual([
      ...[1, 3, 2].map((i) => `A 10.${i}.${i}.${i}`),
      'A 10.0.0.1',
      'NXDOMAIN',
    ]);
    const reverse = { name: '1.0.0.10.in-addr.arpa', type: 'PTR' };
    expect((await ask(testbed.port, reverse)).rcode).toBe('NXDOMAIN');
    expect(testbed.upstream.names).toEqual(['y.example']);
    expect([testbed.counters.unforwarded, testbed.counters.forwarded]).toEqual([5, 1]);
  });

  it('is the CNAME alone when its target is not local, even if it is cached', async () => {
    await testbed.start({ options: { local: localOf('--cname=alias.x,cached.y') } });
    await ask(testbed.port, 'cached.y');
    expect((await ask(testbed.port, 'alias.x')).texts).toEqual(['CNAME cached.y']);
    expect(testbed.upstream.names).toEqual(['cached.y']);
  });

  it('does not replace the records of a forwarded CNAME chain that leads to it', async () => {
    testbed.upstream.script = () => ({
      answers: [
        { type: 'CNAME', ttl: 30, data: 'record.x' },
        { name: 'record.x', type: 'A', ttl: 30, data: '10.0.0.7' },
      ],
    });
    await testbed.start({ options: { local: localOf('--host-record=record.x,10.1.1.1') } });
    for (let i = 0; i < 2; i++) {
      expect((await ask(testbed.port, 'a.example')).texts).toEqual([
        'CNAME record.x',
        'A 10.0.0.7',
      ]);
    }
    expect((await ask(testbed.port, 'record.x')).texts).toEqual(['A 10.1.1.1']);
    expect(testbed.upstream.requests).toHaveLength(1);
  });

  it('is truncated with TC for a client that accepts less, and whole over TCP', async () => {
    const addresses = Array.from({ length: 60 }, (_, i) => `--host-record=many.x,10.1.1.${i}`);
    await testbed.start({ options: { local: localOf(...addresses) } });
    const plain = await ask(testbed.port, 'many.x');
    expect(plain.isTruncated).toBe(true);
    expect(plain.texts).toHaveLength(30);
    const edns = await ask(testbed.port, { name: 'many.x', ednsBytes: 512, isDnssecOk: true });
    expect([edns.isTruncated, edns.texts.length]).toEqual([true, 29]);
    expect(edns.additionals).toMatchObject([{ type: 'OPT', flag_do: true }]);
    expect((await ask(testbed.port, { name: 'many.x' }, { isOverTcp: true })).texts).toHaveLength(
      60,
    );
    expect(testbed.upstream.requests).toEqual([]);
  });
});

describe('an expired answer', () => {
  it('is sent immediately, with an extended error for EDNS, and is refreshed afterwards', async () => {
    await testbed.start({ cache: { maxStaleSeconds: 1_000 }, caching: { cachesZeroTtls: true } });
    await ask(testbed.port, 'a.example');
    testbed.now += 200;
    testbed.upstream.script = () => ({ answers: addressRecords(100, '10.0.0.2') });
    const stale = await ask(testbed.port, { name: 'a.example', ednsBytes: 1232 });
    expect([stale.texts, stale.ttls]).toEqual([['A 10.0.0.1'], [0]]);
    expect(stale.bytes.subarray(-6)).toEqual(Buffer.from([0, 15, 0, 2, 0, 3]));
    expect([
      testbed.counters.unforwarded,
      testbed.counters.forwarded,
      testbed.counters.staleAnswers,
    ]).toEqual([1, 2, 1]);
    await until(() => testbed.cache.insertions === 2);
    expect((await ask(testbed.port, 'a.example')).texts).toEqual(['A 10.0.0.2']);
    expect(testbed.upstream.requests).toHaveLength(2);
  });
});
