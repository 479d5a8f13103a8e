import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Forwarder, listen, type Listener } from '@kube-dns/transport';
import { FLAG, RCODE, readUint16 } from '@kube-dns/wire';
import { type Answer, ask, askTcp, exchangeUdp } from '../../test/client.js';
import { FakeUpstream } from '../../test/fake-upstream.js';
import { addressRecords, type Question, queryMessage } from '../../test/messages.js';
import { recordedLog } from '../../test/recorded-log.js';
import { AnswerCache } from '../cache/answer-cache.js';
import { parseServerRule } from '../options/server-value.js';
import { Router } from '../routing/router.js';
import { ServerStatistics } from '../upstream/server-statistics.js';
import { ChaosAnswerer } from './chaos.js';
import type { TtlBounds } from './clamp-ttls.js';
import { DnsmasqAnswerer } from './dnsmasq-answerer.js';

const NO_BOUNDS: TtlBounds = { minSeconds: 0, maxSeconds: 0 };

let upstream: FakeUpstream;
let cache: AnswerCache;
let now: number;
let answerer: DnsmasqAnswerer;
let closers: (() => unknown)[];
let port: number;

beforeEach(async () => {
  now = 1_000;
  closers = [];
  upstream = await FakeUpstream.start(() => ({
    isAuthoritative: true,
    answers: addressRecords(100, '10.0.0.1'),
  }));
  closers.push(() => upstream.close());
});

afterEach(async () => {
  for (const close of closers) await close();
});

interface Setup {
  readonly rules?: readonly string[];
  readonly sentTtls?: TtlBounds;
  readonly cachedTtls?: TtlBounds;
  readonly maxInFlight?: number;
}

async function start(setup: Setup = {}): Promise<void> {
  const { rules = [upstream.text], maxInFlight = 100 } = setup;
  cache = new AnswerCache({ maxRecords: 100, nowSeconds: () => now });
  const forwarder = new Forwarder({ maxInFlight, deadlineMs: 1_000 });
  const router = new Router({
    rules: rules.map(parseServerRule),
    resolvFile: undefined,
    statistics: new ServerStatistics(),
    log: recordedLog(),
  });
  router.load();
  answerer = new DnsmasqAnswerer({
    cache,
    chaos: new ChaosAnswerer(new Map([['hits.bind', () => [String(answerer.hits)]]])),
    forwarder,
    router,
    sentTtls: setup.sentTtls ?? NO_BOUNDS,
    cachedTtls: setup.cachedTtls ?? NO_BOUNDS,
  });
  const listener: Listener = await listen({
    answerer,
    address: '127.0.0.1',
    port: 0,
    onFailure: (error) => {
      throw error;
    },
  });
  ({ port } = listener);
  closers.unshift(
    () => listener.close(),
    () => forwarder.close(),
  );
}

const flagsOf = ({ bytes }: Answer) => readUint16(bytes, 2);

describe('a forwarded answer', () => {
  it('is upstream’s, with AA as it came, RA set, and the client’s ID, case and RD', async () => {
    await start();
    const answer = await ask(port, { name: 'A.eXample', id: 0xabcd });
    expect(answer.texts).toEqual(['A 10.0.0.1']);
    expect(answer.id).toBe(0xabcd);
    expect(answer.questions[0]?.name).toBe('A.eXample');
    expect(flagsOf(answer)).toBe(FLAG.QR | FLAG.AA | FLAG.RD | FLAG.RA);
  });

  it('is asked for over TCP by a client over TCP', async () => {
    await start();
    expect((await askTcp(port, { name: 'a.example' })).texts).toEqual(['A 10.0.0.1']);
    expect(upstream.asked).toMatchObject([{ protocol: 'tcp' }]);
  });

  it.each<[string, Partial<Question>]>([
    ['of another type', { type: 'TXT' }],
    ['without RD', { isRecursionDesired: false }],
    ['with DO', { ednsBytes: 1232, isDnssecOk: true }],
    ['of class CH that is not about the server', { class: 'CH', type: 'TXT' }],
  ])('to a question %s is not kept', async (_what, fields) => {
    upstream.script = () => ({ answers: [{ type: 'TXT', ttl: 100, data: 'x' }] });
    await start();
    await ask(port, { name: 'a.example', ...fields });
    await ask(port, { name: 'a.example', ...fields });
    expect(upstream.asked).toHaveLength(2);
    expect(cache.insertions).toBe(0);
  });

  it('is not kept when it denies or fails', async () => {
    await start();
    for (const rcode of [RCODE.NXDOMAIN, RCODE.NOERROR, RCODE.REFUSED]) {
      upstream.script = () => ({ rcode });
      await ask(port, 'a.example');
    }
    expect(cache.insertions).toBe(0);
  });
});

describe('a cached answer', () => {
  it('comes without AA and without asking upstream, TTLs counted down', async () => {
    await start();
    await ask(port, 'a.example');
    now += 40;
    const answer = await ask(port, { name: 'A.EXAMPLE', id: 7 });
    expect(answer.ttls).toEqual([60]);
    expect(answer.questions[0]?.name).toBe('A.EXAMPLE');
    expect(answer.id).toBe(7);
    expect(flagsOf(answer)).toBe(FLAG.QR | FLAG.RD | FLAG.RA);
    expect(upstream.asked).toHaveLength(1);
  });

  it('serves TCP and EDNS, which gets OPT', async () => {
    await start();
    await ask(port, 'a.example');
    expect((await askTcp(port, { name: 'a.example' })).texts).toEqual(['A 10.0.0.1']);
    const answer = await ask(port, { name: 'a.example', ednsBytes: 4096 });
    expect(answer.additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 1232 }]);
    expect(upstream.asked).toHaveLength(1);
  });

  it('serves a question with CD, which it echoes', async () => {
    await start();
    await ask(port, 'a.example');
    const answer = await ask(port, { name: 'a.example', isCheckingDisabled: true });
    expect(flagsOf(answer) & FLAG.CD).toBe(FLAG.CD);
    expect(upstream.asked).toHaveLength(1);
  });

  it('never serves a question without RD or with DO', async () => {
    await start();
    await ask(port, 'a.example');
    await ask(port, { name: 'a.example', isRecursionDesired: false });
    await ask(port, { name: 'a.example', ednsBytes: 1232, isDnssecOk: true });
    expect(upstream.asked).toHaveLength(3);
  });

  it('is never that of an unchecked question', async () => {
    await start();
    await ask(port, { name: 'a.example', isCheckingDisabled: true });
    await ask(port, 'a.example');
    expect(upstream.asked).toHaveLength(2);
  });

  it('is asked for again once it has expired', async () => {
    await start();
    await ask(port, 'a.example');
    now += 100;
    expect((await ask(port, 'a.example')).ttls).toEqual([100]);
    expect(upstream.asked).toHaveLength(2);
  });
});

describe('the bounds of TTLs', () => {
  it('of what is sent: a ceiling for forwarded and cached answers, the cache keeps the TTL', async () => {
    await start({ sentTtls: { minSeconds: 0, maxSeconds: 30 } });
    expect((await ask(port, 'a.example')).ttls).toEqual([30]);
    now += 60;
    expect((await ask(port, 'a.example')).ttls).toEqual([30]);
    now += 20;
    expect((await ask(port, 'a.example')).ttls).toEqual([20]);
    expect(upstream.asked).toHaveLength(1);
  });

  it('of what is kept: a ceiling, which the first answer does not show', async () => {
    await start({ cachedTtls: { minSeconds: 0, maxSeconds: 30 } });
    expect((await ask(port, 'a.example')).ttls).toEqual([100]);
    now += 10;
    expect((await ask(port, 'a.example')).ttls).toEqual([20]);
    now += 20;
    expect((await ask(port, 'a.example')).ttls).toEqual([100]);
  });

  it('of what is kept: a floor, which keeps even a TTL of 0', async () => {
    upstream.script = () => ({ answers: addressRecords(0, '10.0.0.1') });
    await start({ cachedTtls: { minSeconds: 50, maxSeconds: 0 } });
    expect((await ask(port, 'a.example')).ttls).toEqual([0]);
    now += 10;
    expect((await ask(port, 'a.example')).ttls).toEqual([40]);
    expect(upstream.asked).toHaveLength(1);
  });
});

describe('a question that is not forwarded', () => {
  it('is NXDOMAIN in a local domain, without AA and SOA', async () => {
    await start({ rules: ['/corp/', upstream.text] });
    const answer = await ask(port, 'x.corp');
    expect(answer.rcode).toBe('NXDOMAIN');
    expect(flagsOf(answer) & FLAG.AA).toBe(0);
    expect(answer.authorities).toEqual([]);
    expect(upstream.asked).toEqual([]);
  });

  it('is REFUSED without servers, with an extended error for EDNS', async () => {
    await start({ rules: [] });
    expect((await ask(port, 'x.corp')).rcode).toBe('REFUSED');
    const { bytes } = await ask(port, { name: 'x.corp', ednsBytes: 1232 });
    expect(bytes.subarray(-6)).toEqual(Buffer.from([0, 15, 0, 2, 0, 14]));
  });
});

describe('the counters', () => {
  it('hits are UDP answers from here, misses are UDP questions sent on', async () => {
    await start({ rules: ['/corp/', upstream.text] });
    await ask(port, 'a.example');
    await ask(port, 'a.example');
    await ask(port, 'x.corp');
    await ask(port, { name: 'foo.bind', type: 'TXT', class: 'CH' });
    expect([answerer.hits, answerer.misses]).toEqual([3, 1]);
  });

  it('do not count TCP', async () => {
    await start();
    await askTcp(port, { name: 'a.example' });
    await askTcp(port, { name: 'a.example' });
    expect([answerer.hits, answerer.misses]).toEqual([0, 0]);
    expect(cache.insertions).toBe(1);
  });

  it('show hits without the question that reads them', async () => {
    await start();
    const hits = { name: 'hits.bind', type: 'TXT', class: 'CH' } as const;
    expect((await ask(port, hits)).texts).toEqual(['TXT 0']);
    expect((await ask(port, hits)).texts).toEqual(['TXT 1']);
  });

  it('count as a hit what is refused because too much is under way', async () => {
    await start({ maxInFlight: 0 });
    expect((await ask(port, 'a.example')).rcode).toBe('REFUSED');
    expect([answerer.hits, answerer.misses]).toEqual([1, 0]);
  });
});

describe('a malformed reply', () => {
  it('becomes SERVFAIL and is not kept', async () => {
    await start();
    upstream.script = (query) => {
      const reply = Buffer.from(query.bytes.subarray(0, query.length));
      reply[2]! |= 0x80;
      reply[7] = 1; // one record, which is not there
      return [reply];
    };
    const answer = await exchangeUdp(port, queryMessage({ name: 'a.example' }));
    expect(answer[3]! & 0xf).toBe(RCODE.SERVFAIL);
    expect(cache.insertions).toBe(0);
  });
});
