import { describe, expect, it } from '@jest/globals';
import { ExchangeError } from '@kube-dns/transport';
import { RCODE } from '@kube-dns/wire';
import { UpstreamStatistics } from './upstream-statistics.js';

describe('the statistics of upstream servers', () => {
  it('count attempts, replies and failures of each server', () => {
    const statistics = new UpstreamStatistics();
    const server = { address: '10.0.0.1', port: 53 };
    statistics.count(server, RCODE.NXDOMAIN, 20);
    statistics.count({ ...server }, RCODE.SERVFAIL, 20);
    statistics.count(server, new ExchangeError('timeout', 'no reply'), 1_000);
    statistics.count({ address: '::1', port: 5_353 }, new ExchangeError('refused', 'no'), 1);
    const entries = [...statistics.entries()];
    expect(entries.map(([text, { queries }]) => [text, queries])).toEqual([
      ['10.0.0.1#53', 3],
      ['::1#5353', 1],
    ]);
    const [one, other] = entries.map(([, { health }]) => health);
    expect(one?.latencySeconds.count).toBe(2);
    expect(one?.failures).toMatchObject({ servfail: 1, timeout: 1, unreachable: 0 });
    expect(other?.failures).toMatchObject({ unreachable: 1 });
  });

  it('have a bound, beyond which newcomers share one entry', () => {
    const statistics = new UpstreamStatistics();
    const ask = (last: number) => {
      statistics.count({ address: `10.0.${last >> 8}.${last & 255}`, port: 53 }, RCODE.NOERROR, 1);
    };
    for (let last = 0; last < 1_000; last++) ask(last);
    ask(0);
    const entries = new Map(statistics.entries());
    expect(entries.size).toBe(101);
    expect(entries.get('10.0.0.0#53')?.queries).toBe(2);
    expect(entries.get('other')?.queries).toBe(900);
  });
});
