import { describe, expect, it } from '@jest/globals';
import { RCODE } from '@kube-dns/wire';
import { noteHealth, ServerStatistics } from './server-statistics.js';

const A = '127.0.0.1#10053';
const B = '::1#53';

describe('the statistics of servers', () => {
  it('count replies, and SERVFAIL and REFUSED as failed', () => {
    const counts = new ServerStatistics().of(A);
    for (const rcode of [0, 1, 2, 3, 3, 4, 5]) counts.countReply(rcode, 10);
    expect(counts).toMatchObject({ replies: 7, failed: 2, nxdomains: 2, meanLatencyMs: 10 });
  });

  it('have no latency without a reply', () => {
    expect(new ServerStatistics().of(A).meanLatencyMs).toBe(0);
  });

  it('stay for a server that stays, and are removed with a removed one', () => {
    const statistics = new ServerStatistics();
    statistics.retain([A, B]);
    const counts = statistics.of(A);
    counts.countReply(RCODE.SERVFAIL, 1);
    statistics.of(B).countReply(RCODE.SERVFAIL, 1);
    statistics.retain([A]);
    expect([...statistics.entries()].map(([server]) => server)).toEqual([A]);
    statistics.retain([B, A]);
    expect([...statistics.entries()].map(([server, { failed }]) => [server, failed])).toEqual([
      [B, 0],
      [A, 1],
    ]);
    expect(statistics.of(A)).toBe(counts);
  });

  it('list a server once, however often it is configured', () => {
    const statistics = new ServerStatistics();
    statistics.retain([A, A]);
    expect([...statistics.entries()]).toHaveLength(1);
  });
});

/** What is logged when this server goes down or comes back, and whether its metric says that it is up. */
function noted(isDown: boolean) {
  const statistics = new ServerStatistics();
  const lines: string[] = [];
  const log = {
    info: (line: string) => void lines.push(`info: ${line}`),
    warn: (line: string) => void lines.push(`warning: ${line}`),
  };
  noteHealth({ text: A, health: { isDown } }, statistics, log);
  return { lines, isUp: statistics.of(A).isUp };
}

describe('the log', () => {
  it('says that a server that is down is not used', () => {
    expect(noted(true)).toEqual({
      lines: [`warning: nameserver ${A} does not reply - not used until it does`],
      isUp: false,
    });
  });

  it('says that it is back', () => {
    expect(noted(false)).toEqual({ lines: [`info: nameserver ${A} replies again`], isUp: true });
  });
});
