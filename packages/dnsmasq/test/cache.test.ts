import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { endPrograms, until } from '@kube-dns/testkit';
import { RCODE } from '@kube-dns/wire';
import {
  addressRecords,
  ask,
  exchangeUdp,
  queryMessage,
  statistic,
} from '@kube-dns/resolver/testing';
import { FakeUpstream } from './fake-upstream.js';
import { messagesOf, serve, type Serving } from './processes.js';

let upstream: FakeUpstream;
let dnsmasq: Serving;

beforeEach(async () => {
  upstream = await FakeUpstream.start((query) =>
    query.name[1] === 'x'.charCodeAt(0)
      ? { rcode: RCODE.NXDOMAIN }
      : { answers: addressRecords(100, '10.0.0.1', '10.0.0.2') },
  );
  dnsmasq = await serve([`--server=${upstream.text}`, '--no-resolv', '--cache-size=100']);
});

afterEach(async () => {
  await endPrograms();
  await upstream.close();
});

const numbers = async (...names: string[]) => {
  const values: number[] = [];
  for (const name of names) values.push(await statistic(dnsmasq.port, `${name}.bind`));
  return values;
};

describe('the cache', () => {
  it('answers again with TTLs that go down, and asks upstream once', async () => {
    const { port } = dnsmasq;
    const startedAt = performance.now();
    expect((await ask(port, 'a.example')).ttls).toEqual([100, 100]);
    let ttls: readonly number[] = [];
    await until(async () => (ttls = (await ask(port, 'a.example')).ttls)[0]! < 100);
    // 99 on a machine that does not stall.
    const [ttl] = ttls;
    expect(ttl).toBeGreaterThanOrEqual(100 - Math.floor((performance.now() - startedAt) / 1_000));
    expect(ttls).toEqual([ttl, ttl]);
    expect(upstream.asked).toHaveLength(1);
  });

  it('counts, in the names of class CHAOS', async () => {
    const { port } = dnsmasq;
    expect(await numbers('cachesize', 'misses', 'insertions', 'evictions')).toEqual([100, 0, 0, 0]);
    for (const name of ['a', 'b', 'a', 'A', 'x', 'x']) await ask(port, name);
    expect(await numbers('misses', 'insertions')).toEqual([4, 4]);
    // Two hits, and the six statistics before this one.
    expect(await numbers('hits')).toEqual([2 + 6]);
  });

  it('drops what is longest unused when it is full', async () => {
    const { port } = dnsmasq;
    for (let i = 0; i < 51; i++) await ask(port, `n${i}`);
    expect(await numbers('insertions', 'evictions')).toEqual([102, 1]);
    await ask(port, 'n50');
    expect(upstream.asked).toHaveLength(51);
    await ask(port, 'n0');
    expect(upstream.asked).toHaveLength(52);
  });
});

describe('signals', () => {
  it('SIGHUP empties the cache and not the counts of hits and misses', async () => {
    const { port, process } = dnsmasq;
    await ask(port, 'a');
    await ask(port, 'a');
    process.signal('SIGHUP');
    await process.waitForLine('cleared cache');
    expect(await numbers('insertions', 'misses')).toEqual([0, 1]);
    await ask(port, 'a');
    expect(upstream.asked).toHaveLength(2);
  });

  it('SIGUSR1 writes the statistics to the log', async () => {
    const { port, process } = dnsmasq;
    for (const name of ['a', 'a', 'x']) await ask(port, name);
    process.signal('SIGUSR1');
    await process.waitForLine(`server ${upstream.text}: queries`);
    const dump = messagesOf(process)
      .slice(-6)
      .map((line) => line.replace(/\d+(?=ms$|$)/, 'N'));
    expect(dump).toEqual([
      'time N',
      'cache size 100, 0/2 cache insertions re-used unexpired cache entries.',
      'queries forwarded 2, queries answered locally N',
      'queries for authoritative zones N',
      expect.stringMatching(/^pool memory in use 64, max 64, allocated N$/),
      `server ${upstream.text}: queries sent 2, retried 0, failed 0, nxdomain replies 1, avg. latency Nms`,
    ]);
  });

  it('SIGTERM ends it with 0', async () => {
    dnsmasq.process.signal('SIGTERM');
    expect(await dnsmasq.process.ended).toBe(0);
  });

  it('SIGTERM ends it with 0 while questions are in flight', async () => {
    upstream.script = () => null;
    const query = queryMessage({ name: 'a' });
    const waiting = exchangeUdp(dnsmasq.port, query, { timeoutMs: 500 }).catch(String);
    await until(() => upstream.asked.length > 0);
    dnsmasq.process.signal('SIGTERM');
    expect(await dnsmasq.process.ended).toBe(0);
    expect(await waiting).toBe('Error: no answer');
  });
});

describe('-logInterval', () => {
  it('writes the statistics by itself, but at most once a second', async () => {
    const startedAt = performance.now();
    const { process } = await serve(['--no-resolv'], ['-logInterval=1ns']);
    await process.waitForLine('queries forwarded');
    const count = process.stderr.split('queries forwarded').length - 1;
    const seconds = Math.floor((performance.now() - startedAt) / 1_000);
    expect(seconds).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(seconds);
  });
});
