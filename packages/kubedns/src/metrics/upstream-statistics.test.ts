import { describe, expect, it } from '@jest/globals';
import { RCODE } from '@kube-dns/wire';
import { UpstreamStatistics } from './upstream-statistics.js';

describe('the statistics of upstream servers', () => {
  it('count questions, replies and failures of each server', () => {
    const statistics = new UpstreamStatistics();
    const server = statistics.of('10.0.0.1#53');
    for (let i = 0; i < 3; i++) server.countQuery();
    server.countReply(RCODE.NXDOMAIN, 20);
    statistics.of('10.0.0.1#53').countReply(RCODE.SERVFAIL, 20);
    server.countBadReply('refusal');
    server.countError('timeout');
    const other = statistics.of('::1#5353');
    other.countQuery();
    other.countError('refused');
    other.countBadReply('malformed');
    other.countBadReply('lame');
    const entries = [...statistics.entries()];
    expect(entries.map(([text, { queries }]) => [text, queries])).toEqual([
      ['10.0.0.1#53', 3],
      ['::1#5353', 1],
    ]);
    const [one, two] = entries.map(([, { health }]) => health);
    expect(one?.latencySeconds.count).toBe(2);
    expect(one?.failures).toMatchObject({ servfail: 1, timeout: 1, unreachable: 0 });
    expect(two?.failures).toMatchObject({ unreachable: 1, malformed: 1, refused: 1 });
  });

  it('have a bound, beyond which newcomers share one entry', () => {
    const statistics = new UpstreamStatistics();
    const ask = (last: number) => statistics.of(`10.0.${last >> 8}.${last & 255}#53`).countQuery();
    for (let last = 0; last < 1_000; last++) ask(last);
    ask(0);
    const entries = new Map(statistics.entries());
    expect(entries.size).toBe(101);
    expect(entries.get('10.0.0.0#53')?.queries).toBe(2);
    expect(entries.get('other')?.queries).toBe(900);
  });

  it('show no server that was not asked, and forget it when it is not configured any more', () => {
    const statistics = new UpstreamStatistics();
    for (let last = 0; last < 100; last++) statistics.of(`10.0.0.${last}#53`);
    statistics.of('10.0.0.1#53').countQuery();
    expect([...statistics.entries()].map(([text]) => text)).toEqual(['10.0.0.1#53']);
    statistics.retain(new Set());
    statistics.of('10.0.1.1#53').countQuery();
    expect([...statistics.entries()].map(([text]) => text)).toEqual(['10.0.0.1#53', '10.0.1.1#53']);
  });
});
