import { describe, expect, it } from '@jest/globals';
import { ExchangeError } from '@kube-dns/transport';
import { RCODE } from '@kube-dns/wire';
import { ServerStatistics } from './server-statistics.js';

const A = { address: '127.0.0.1', port: 10053 };
const B = { address: '::1', port: 53 };

describe('the statistics of servers', () => {
  it('count every attempt, and as failed silence, SERVFAIL and REFUSED', () => {
    const statistics = new ServerStatistics();
    statistics.keep([A, B]);
    for (const rcode of Object.values(RCODE)) statistics.count(A, rcode);
    statistics.count(B, new ExchangeError('timeout', 'no reply'));
    expect([...statistics.entries()]).toEqual([
      ['127.0.0.1#10053', { queries: Object.keys(RCODE).length, failed: 2 }],
      ['::1#53', { queries: 1, failed: 1 }],
    ]);
  });

  it('stay for a server that stays, and go with one that goes', () => {
    const statistics = new ServerStatistics();
    statistics.keep([A, B]);
    statistics.count(A, RCODE.NOERROR);
    statistics.count(B, RCODE.NOERROR);
    statistics.keep([{ ...A }]);
    statistics.count(B, RCODE.NOERROR);
    expect([...statistics.entries()]).toEqual([['127.0.0.1#10053', { queries: 1, failed: 0 }]]);
    statistics.keep([B, A]);
    expect([...statistics.entries()]).toEqual([
      ['::1#53', { queries: 0, failed: 0 }],
      ['127.0.0.1#10053', { queries: 1, failed: 0 }],
    ]);
  });

  it('have a server once, however often it is configured', () => {
    const statistics = new ServerStatistics();
    statistics.keep([A, { ...A }]);
    statistics.count(A, RCODE.NOERROR);
    expect([...statistics.entries()]).toEqual([['127.0.0.1#10053', { queries: 1, failed: 0 }]]);
  });
});
