import { describe, expect, it, jest } from '@jest/globals';
import { addressRecords, until } from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import { storeReply } from '@kube-dns/resolver/testing';
import { recordedLog } from '../../test/recorded-log.js';
import { AnswerCache, AnswerCounters, ServerStatistics } from '@kube-dns/resolver';
import { HostsTable } from '../local/hosts-files.js';
import { parseOptions } from '../options/parse-options.js';
import type { LocalRecord } from '../options/record-values.js';
import { StatisticsDump } from './statistics-dump.js';

const SERVER = '10.0.0.1#53';

function createDump({
  showsCache = false,
  usesStale = false,
  records = [] as readonly LocalRecord[],
  hosts = new HostsTable(),
} = {}) {
  const log = recordedLog();
  const cache = new AnswerCache({ maxRecords: 10_000, nowSeconds: () => 0 });
  const statistics = new ServerStatistics();
  statistics.retain([SERVER]);
  const dump = new StatisticsDump({
    resolver: {
      describe: () => ({
        cache: cache.describe(),
        answers: Object.assign(new AnswerCounters(), {
          unforwarded: 5,
          forwarded: 3,
          staleAnswers: 2,
        }),
      }),
      cachedAnswers: () => cache.answers(),
    },
    statistics,
    showsCache,
    records,
    hosts: () => hosts.entries(),
    usesStale,
    log,
    now: () => new Date(2026, 10, 21, 7, 0, 0).getTime(),
  });
  return { cache, statistics, dump, log };
}

describe('the statistics in the log', () => {
  it('are worded as dnsmasq does', () => {
    const { cache, statistics, dump, log } = createDump({ usesStale: true });
    const counts = statistics.of(SERVER);
    counts.queries = 2;
    counts.countReply(RCODE.NXDOMAIN, 4);
    counts.countReply(RCODE.SERVFAIL, 2);
    storeReply(cache, { name: 'a' }, { answers: addressRecords(30, '10.0.0.1') });
    dump.write();
    expect(log.messages).toEqual([
      expect.stringMatching(/^time \d{10}$/),
      'cache size 10000, 0/1 cache insertions re-used unexpired cache entries.',
      'queries forwarded 3, queries answered locally 5',
      'queries answered from stale cache 2',
      'queries for authoritative zones 0',
      expect.stringMatching(/^pool memory in use 64, max 64, allocated \d+$/),
      'server 10.0.0.1#53: queries sent 2, retried 0, failed 1, nxdomain replies 1, avg. latency 3ms',
    ]);
  });

  it('have the addresses and CNAMEs of the command line before the cache', () => {
    const { records } = parseOptions([
      ...['--host-record=rec.x,Two.x,10.2.2.2,fd00::9', '--cname=al.x,rec.x'],
      '--txt-record=txt.x,hello',
    ]);
    const { dump, log } = createDump({ showsCache: true, records });
    dump.write();
    const lines = log.messages.slice(-5).map((line) => line.replace(/ +/g, ' '));
    expect(lines).toEqual([
      'rec.x 10.2.2.2 4FRI HC config',
      'two.x 10.2.2.2 4F I HC config',
      'rec.x fd00::9 6FRI HC config',
      'two.x fd00::9 6F I HC config',
      'al.x rec.x CF I C',
    ]);
  });

  it('have the cache in columns', () => {
    const { cache, dump, log } = createDump({ showsCache: true });
    const owner = 'b.example';
    storeReply(
      cache,
      { name: 'a.example' },
      {
        answers: [
          { type: 'CNAME', ttl: 300, data: owner },
          { ...addressRecords(60, '10.0.0.1')[0]!, name: owner },
        ],
      },
    );
    const pointer = { type: 'PTR', ttl: 60, data: 'a.example' } as const;
    storeReply(cache, { name: '1.0.0.10.in-addr.arpa', type: 'PTR' }, { answers: [pointer] });
    storeReply(cache, { name: 'gone.example' }, { rcode: 3 }, { negativeTtlSeconds: 60 });
    storeReply(cache, { name: 'void.example', type: 'AAAA' }, {}, { negativeTtlSeconds: 60 });
    dump.write();
    const lines = log.messages.slice(log.messages.findIndex((line) => line.startsWith('Host')));
    const space = ' '.repeat(40);
    const at = 'Sat Nov 21 07:01:00 2026';
    expect(lines[0]).toBe(
      `${'Host'.padEnd(30)} ${'Address'.padEnd(40)} Flags      ${'Expires'.padEnd(24)} Source`,
    );
    expect(lines[1]).toBe([30, 40, 10, 24, 12].map((width) => '-'.repeat(width)).join(' '));
    expect(lines).toEqual(
      expect.arrayContaining([
        `${'a.example'.padEnd(30)} ${owner.padEnd(40)} CF         ${at}`,
        `${owner.padEnd(30)} ${'10.0.0.1'.padEnd(40)} 4F         ${at}`,
        `${'a.example'.padEnd(30)} ${'10.0.0.1'.padEnd(40)} 4 R        ${at}`,
        `${'gone.example'.padEnd(30)} ${space}  F   NX    ${at}`,
        `${'void.example'.padEnd(30)} ${space} 6F   N     ${at}`,
      ]),
    );
  });

  it('of a large cache are written bit by bit, until the end or until it is closed', async () => {
    const { cache, dump, log } = createDump({ showsCache: true });
    for (let i = 0; i < 5_000; i++) {
      storeReply(cache, { name: `n${i}` }, { answers: addressRecords(30, '10.0.0.1') });
    }
    const count = () => log.messages.filter((line) => /^n\d+ /.test(line)).length;
    dump.write();
    expect(count()).toBeLessThan(5_000);
    await until(() => count() === 5_000);
    dump.write();
    dump.close();
    dump.close();
    const written = count();
    await new Promise((resolve) => setImmediate(resolve));
    expect(count()).toBe(written);
  });

  it('are written by themselves, but at most once a second', () => {
    jest.useFakeTimers();
    const { dump, log } = createDump();
    const count = () => log.messages.filter((line) => line.startsWith('queries forwarded')).length;
    try {
      dump.writeEvery(0.000_001);
      jest.advanceTimersByTime(999);
      expect(count()).toBe(0);
      jest.advanceTimersByTime(2_001);
      expect(count()).toBe(3);
      dump.close();
      jest.advanceTimersByTime(5_000);
      expect(count()).toBe(3);
    } finally {
      jest.useRealTimers();
    }
  });
});
