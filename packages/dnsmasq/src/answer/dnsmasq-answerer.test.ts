import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { listen, type Listener, UpstreamSockets } from '@kube-dns/transport';
import { decodeName, encodeKey, FLAG, RCODE, readUint16, TYPE } from '@kube-dns/wire';
import { type Answer, ask, askTcp, exchangeUdp } from '../../test/client.js';
import { FakeUpstream } from '../../test/fake-upstream.js';
import {
  addressRecords,
  type Question,
  queryMessage,
  type Response,
  type WrittenRecord,
} from '../../test/messages.js';
import { until } from '../../test/until.js';
import { parseAddressRange, parseAlias } from '../options/address-range.js';
import { PLAIN_RULES, storeReply } from '../../test/cached-answers.js';
import { type RecordedLog, recordedLog } from '../../test/recorded-log.js';
import { AnswerCache } from '../cache/answer-cache.js';
import type { AnswerCacheOptions } from '../cache/answer-cache-options.js';
import type { KeepingRules } from '../cache/reply-reader.js';
import { LocalData } from '../local/local-data.js';
import { parseOptions } from '../options/parse-options.js';
import { parseServerRule } from '../options/server-value.js';
import { Router } from '../routing/router.js';
import { QueryForwarder } from '../upstream/query-forwarder.js';
import { retryPlan } from '../upstream/retry-plan.js';
import { UpstreamServers } from '../upstream/upstream-servers.js';
import { ChaosAnswerer } from './chaos.js';
import { DnsmasqAnswerer, type DnsmasqAnswererOptions } from './dnsmasq-answerer.js';
import { QueryLog } from './query-log.js';

const NO_ORIGINS = { fileOf: () => undefined, hasPtrRecord: () => false };

let upstream: FakeUpstream;
let cache: AnswerCache;
let now: number;
let answerer: DnsmasqAnswerer;
let closers: (() => unknown)[];
let port: number;
let log: RecordedLog;

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
  readonly maxTtlSeconds?: number;
  readonly keeping?: Partial<KeepingRules>;
  readonly cache?: Partial<AnswerCacheOptions>;
  readonly maxInFlight?: number;
  readonly replies?: Partial<DnsmasqAnswererOptions['replies']>;
  readonly options?: Partial<DnsmasqAnswererOptions>;
  readonly logsQueries?: boolean;
}

async function start(setup: Setup = {}): Promise<void> {
  const { rules = [upstream.text], maxInFlight = 100, maxTtlSeconds = 0 } = setup;
  log = recordedLog();
  cache = new AnswerCache({
    maxRecords: 100,
    maxTtlSeconds,
    nowSeconds: () => now,
    ...setup.cache,
  });
  const plan = retryPlan(1_000);
  const forwarder = new QueryForwarder({ maxInFlight, plan, maxUdpBytes: 1232, log });
  const sockets = new UpstreamSockets();
  const router = new Router({
    rules: rules.map(parseServerRule),
    upstreams: new UpstreamServers(sockets),
    log: recordedLog(),
  });
  router.load();
  answerer = new DnsmasqAnswerer({
    cache,
    chaos: new ChaosAnswerer(new Map([['hits.bind', () => [String(answerer.hits)]]])),
    forwarder,
    local: { answer: () => 0, answerByRule: () => 0, origins: NO_ORIGINS },
    router,
    keeping: { ...PLAIN_RULES, ...setup.keeping },
    replies: {
      stopsRebind: false,
      allowsLocalhostRebind: false,
      rebindDomains: { domains: [] },
      bogusNxdomain: [],
      ignoredAddresses: [],
      aliases: [],
      ...setup.replies,
    },
    filteredTypes: [],
    maxTtlSeconds,
    log,
    ...(setup.logsQueries === true && { queryLog: new QueryLog(log, true) }),
    ...setup.options,
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
    () => sockets.close(),
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
    ['of class CH that is not about the server', { class: 'CH', type: 'TXT' }],
  ])('to a question %s is not kept', async (_what, fields) => {
    upstream.script = () => ({ answers: [{ type: 'TXT', ttl: 100, data: 'x' }] });
    await start();
    await ask(port, { name: 'a.example', ...fields });
    await ask(port, { name: 'a.example', ...fields });
    expect(upstream.asked).toHaveLength(2);
    expect(cache.insertions).toBe(0);
  });

  it.each<[string, Partial<Question>]>([
    ['without RD', { isRecursionDesired: false }],
    ['with DO', { ednsBytes: 1232, isDnssecOk: true }],
  ])('to a question %s serves those that come with RD and without DO', async (_what, fields) => {
    await start();
    await ask(port, { name: 'a.example', ...fields });
    await ask(port, 'a.example');
    expect(upstream.asked).toHaveLength(1);
  });

  it('is not kept when it denies without SOA or fails', async () => {
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
    await start({ maxTtlSeconds: 30 });
    expect((await ask(port, 'a.example')).ttls).toEqual([30]);
    now += 60;
    expect((await ask(port, 'a.example')).ttls).toEqual([30]);
    now += 20;
    expect((await ask(port, 'a.example')).ttls).toEqual([20]);
    expect(upstream.asked).toHaveLength(1);
  });

  it('of what is kept: a ceiling, which the first answer does not show', async () => {
    await start({ keeping: { maxTtlSeconds: 30 } });
    expect((await ask(port, 'a.example')).ttls).toEqual([100]);
    now += 10;
    expect((await ask(port, 'a.example')).ttls).toEqual([20]);
    now += 20;
    expect((await ask(port, 'a.example')).ttls).toEqual([100]);
  });

  it('of what is kept: a floor, which keeps even a TTL of 0', async () => {
    upstream.script = () => ({ answers: addressRecords(0, '10.0.0.1') });
    await start({ keeping: { minTtlSeconds: 50 } });
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

const SOA: WrittenRecord = {
  owner: 'example',
  type: 'SOA',
  ttl: 60,
  data: {
    mname: 'ns.example',
    rname: 'root.example',
    serial: 1,
    refresh: 2,
    retry: 3,
    expire: 4,
    minimum: 5,
  },
};
const DENIAL: Response = { rcode: RCODE.NXDOMAIN, authorities: [SOA] };

describe('a denial', () => {
  it('is kept, and serves every type', async () => {
    upstream.script = () => DENIAL;
    await start();
    await ask(port, { name: 'a.example', type: 'TXT' });
    const answer = await ask(port, { name: 'a.example', ednsBytes: 1232 });
    expect(answer.rcode).toBe('NXDOMAIN');
    expect(answer.authorities).toMatchObject([{ name: 'example', type: 'SOA', ttl: 60 }]);
    expect(upstream.asked).toHaveLength(1);
  });

  it('of a name that is known here becomes an empty answer with AA, kept as such', async () => {
    upstream.script = () => DENIAL;
    const asked: string[] = [];
    const knows = (name: Uint8Array) => asked.push(decodeName(name)) > 0;
    await start({ options: { knows } });
    const first = await ask(port, { name: 'A.example', type: 'AAAA' });
    expect([first.rcode, flagsOf(first) & FLAG.AA]).toEqual(['NOERROR', FLAG.AA]);
    const second = await ask(port, { name: 'a.example', type: 'AAAA' });
    expect([second.rcode, flagsOf(second) & FLAG.AA]).toEqual(['NOERROR', 0]);
    expect(upstream.asked).toHaveLength(1);
    expect(asked).toEqual(['a.example']);
    await ask(port, { name: 'a.example', type: 'A' });
    expect(upstream.asked).toHaveLength(2);
  });
});

describe('what is known without asking anybody', () => {
  const localOf = (...argv: string[]) =>
    new LocalData({ options: parseOptions(['--no-hosts', ...argv]), log: recordedLog() });

  it('comes in dnsmasq’s order: records, the cache, rules, servers', async () => {
    const local = localOf(
      ...['--host-record=record.x,10.1.1.1', '--address=/x/10.2.2.2', '--domain-needed'],
      '--bogus-priv',
    );
    await start({ options: { local } });
    for (const name of ['record.x', 'kept.x']) {
      storeReply(cache, { name }, { answers: addressRecords(100, '10.3.3.3') });
    }
    const texts: string[] = [];
    for (const name of ['record.x', 'kept.x', 'other.x', 'y.example', 'plain']) {
      const answer = await ask(port, name);
      texts.push(answer.texts.join() || answer.rcode);
    }
    expect(texts).toEqual([
      ...[1, 3, 2].map((i) => `A 10.${i}.${i}.${i}`),
      'A 10.0.0.1',
      'NXDOMAIN',
    ]);
    const reverse = { name: '1.0.0.10.in-addr.arpa', type: 'PTR' };
    expect((await ask(port, reverse)).rcode).toBe('NXDOMAIN');
    expect(upstream.names).toEqual(['y.example']);
    expect([answerer.hits, answerer.misses]).toEqual([5, 1]);
  });

  it('is an alias alone when what it leads to is not local, whatever the cache has', async () => {
    await start({ options: { local: localOf('--cname=alias.x,kept.y') } });
    await ask(port, 'kept.y');
    expect((await ask(port, 'alias.x')).texts).toEqual(['CNAME kept.y']);
    expect(upstream.names).toEqual(['kept.y']);
  });

  it('does not show in what upstream says of an alias that leads there', async () => {
    upstream.script = () => ({
      answers: [
        { type: 'CNAME', ttl: 30, data: 'record.x' },
        { owner: 'record.x', type: 'A', ttl: 30, data: '10.0.0.7' },
      ],
    });
    await start({ options: { local: localOf('--host-record=record.x,10.1.1.1') } });
    for (let i = 0; i < 2; i++) {
      expect((await ask(port, 'a.example')).texts).toEqual(['CNAME record.x', 'A 10.0.0.7']);
    }
    expect((await ask(port, 'record.x')).texts).toEqual(['A 10.1.1.1']);
    expect(upstream.asked).toHaveLength(1);
  });

  it('is cut with TC for a client that takes less, and whole over TCP', async () => {
    const addresses = Array.from({ length: 60 }, (_, i) => `--host-record=many.x,10.1.1.${i}`);
    await start({ options: { local: localOf(...addresses) } });
    const plain = await ask(port, 'many.x');
    expect(plain.isTruncated).toBe(true);
    expect(plain.texts).toHaveLength(30);
    const edns = await ask(port, { name: 'many.x', ednsBytes: 512, isDnssecOk: true });
    expect([edns.isTruncated, edns.texts.length]).toEqual([true, 29]);
    expect(edns.additionals).toMatchObject([{ type: 'OPT', flag_do: true }]);
    expect((await askTcp(port, { name: 'many.x' })).texts).toHaveLength(60);
    expect(upstream.asked).toEqual([]);
  });
});

describe('an answer past its time', () => {
  it('comes at once, with an extended error for EDNS, and is renewed behind it', async () => {
    await start({ cache: { maxStaleSeconds: 1_000 }, keeping: { keepsZeroTtls: true } });
    await ask(port, 'a.example');
    now += 200;
    upstream.script = () => ({ answers: addressRecords(100, '10.0.0.2') });
    const stale = await ask(port, { name: 'a.example', ednsBytes: 1232 });
    expect([stale.texts, stale.ttls]).toEqual([['A 10.0.0.1'], [0]]);
    expect(stale.bytes.subarray(-6)).toEqual(Buffer.from([0, 15, 0, 2, 0, 3]));
    expect([answerer.hits, answerer.misses, answerer.staleAnswers]).toEqual([1, 2, 1]);
    await until(() => cache.insertions === 2);
    expect((await ask(port, 'a.example')).texts).toEqual(['A 10.0.0.2']);
    expect(upstream.asked).toHaveLength(2);
  });
});

describe('an answer past its time of a type that is left out', () => {
  it('says that it was left out', async () => {
    await start({
      cache: { maxStaleSeconds: 1_000 },
      options: { filteredTypes: [TYPE.A] },
    });
    await ask(port, 'a.example');
    now += 200;
    const { texts, bytes } = await ask(port, { name: 'a.example', ednsBytes: 1232 });
    expect(texts).toEqual([]);
    expect(bytes.subarray(-6)).toEqual(Buffer.from([0, 15, 0, 2, 0, 17]));
    expect(answerer.staleAnswers).toBe(1);
  });
});

describe('the protection against rebinding', () => {
  const EMPTY = { texts: [], rcode: 'NOERROR', authorities: [] };

  it('empties answers with private addresses, keeps nothing, and says so', async () => {
    await start({ replies: { stopsRebind: true } });
    expect(await ask(port, 'a.example')).toMatchObject(EMPTY);
    expect(await ask(port, 'a.example')).toMatchObject(EMPTY);
    expect(upstream.asked).toHaveLength(2);
    expect(log.messages).toContain('possible DNS-rebind attack detected: a.example');
  });

  it.each<[string, Response | null]>([
    ['SERVFAIL', { rcode: RCODE.SERVFAIL }],
    ['silence', null],
  ])('empties a cut answer, too, when there is none over TCP but %s', async (_what, overTcp) => {
    upstream.script = (_query, { protocol }) =>
      protocol === 'tcp'
        ? overTcp
        : { isTruncated: true, answers: addressRecords(100, '10.0.0.1') };
    await start({ replies: { stopsRebind: true } });
    expect((await ask(port, 'a.example')).texts).toEqual([]);
  });

  it('says it at most once a second, whatever comes', async () => {
    await start({ replies: { stopsRebind: true } });
    for (let i = 0; i < 20; i++) await ask(port, `n${i}.example`);
    const lines = log.messages.filter((message) => message.includes('rebind'));
    expect(lines.length).toBeLessThan(10);
  });

  it('leaves exempt domains alone', async () => {
    await start({
      replies: { stopsRebind: true, rebindDomains: { domains: [encodeKey('ok.example')] } },
    });
    expect((await ask(port, 'a.OK.example')).texts).toEqual(['A 10.0.0.1']);
    expect((await ask(port, 'a.nok.example')).texts).toEqual([]);
  });
});

describe('addresses in replies', () => {
  it('that mean NXDOMAIN make it so, kept for the TTL of the address', async () => {
    await start({ replies: { bogusNxdomain: [parseAddressRange('10.0.0.0/24')] } });
    expect(await ask(port, 'a.example')).toMatchObject({ rcode: 'NXDOMAIN', texts: [] });
    expect((await ask(port, { name: 'a.example', type: 'TXT' })).rcode).toBe('NXDOMAIN');
    now += 99;
    await ask(port, 'a.example');
    expect(upstream.asked).toHaveLength(1);
    now += 1;
    await ask(port, 'a.example');
    expect(upstream.asked).toHaveLength(2);
  });

  it('that are to be ignored make no reply: SERVFAIL when there is no other', async () => {
    await start({ replies: { ignoredAddresses: [parseAddressRange('10.0.0.1')] } });
    expect((await ask(port, 'a.example')).rcode).toBe('SERVFAIL');
    expect(cache.insertions).toBe(0);
  });

  it.each(['udp', 'tcp'] as const)(
    'that are to be ignored leave it to the next server: %s',
    async (protocol) => {
      const next = await FakeUpstream.start(() => ({ answers: addressRecords(9, '10.0.0.2') }));
      closers.push(() => next.close());
      await start({
        rules: [upstream.text, next.text],
        replies: { ignoredAddresses: [parseAddressRange('10.0.0.1')] },
      });
      const answer =
        protocol === 'udp'
          ? await ask(port, 'a.example')
          : await askTcp(port, { name: 'a.example' });
      expect(answer.texts).toEqual(['A 10.0.0.2']);
    },
  );

  it('are replaced, for the cache, too, and AA goes', async () => {
    await start({ replies: { aliases: [parseAlias(['10.0.0.0', '192.0.2.0', '255.255.255.0'])] } });
    for (let i = 0; i < 2; i++) {
      const answer = await ask(port, 'a.example');
      expect(answer.texts).toEqual(['A 192.0.2.1']);
      expect(flagsOf(answer) & FLAG.AA).toBe(0);
    }
    expect(upstream.asked).toHaveLength(1);
  });
});

describe('types that no answer may have', () => {
  const BOTH: Response = {
    answers: [
      { type: 'CNAME', ttl: 30, data: 'b.example' },
      { owner: 'b.example', type: 'A', ttl: 30, data: '10.0.0.1' },
    ],
  };

  it('are left out of what upstream and the cache say; the cache says so', async () => {
    upstream.script = () => BOTH;
    await start({ options: { filteredTypes: [TYPE.A] } });
    expect((await ask(port, 'a.example')).texts).toEqual(['CNAME b.example']);
    const { texts, bytes } = await ask(port, { name: 'a.example', ednsBytes: 1232 });
    expect(texts).toEqual(['CNAME b.example']);
    expect(bytes.subarray(-6)).toEqual(Buffer.from([0, 15, 0, 2, 0, 17]));
    expect(upstream.asked).toHaveLength(1);
  });

  it.each([
    ['A', 'AAAA', 'fd00::1'],
    ['AAAA', 'A', '10.0.0.1'],
    ['MX', 'A', '10.0.0.1'],
    ['MX', 'AAAA', 'fd00::1'],
  ] as const)(
    'are not even asked for when others of the name are known: %s beside %s',
    async (...row) => {
      const [type, known, data] = row;
      upstream.script = () => ({ answers: [{ type: known, ttl: 30, data }] });
      await start({ options: { filteredTypes: [TYPE[type]] } });
      await ask(port, { name: 'a.example', type: known });
      expect(await ask(port, { name: 'a.example', type })).toMatchObject({
        rcode: 'NOERROR',
        texts: [],
      });
      await ask(port, { name: 'a.example', type: 'TXT' });
      expect(upstream.asked.map((asked) => asked.type)).toEqual([TYPE[known], TYPE.TXT]);
    },
  );

  it.each([
    ['A', BOTH.answers!.slice(0, 1)],
    ['SOA', []],
  ] as const)('change nothing about a denial of %s', async (type, answers) => {
    upstream.script = () => ({ answers, authorities: [SOA] });
    await start({
      options: { filteredTypes: [TYPE[type]] },
      keeping: { isExtraType: () => true },
    });
    for (let i = 0; i < 2; i++) {
      const answer = await ask(port, { name: 'a.example', type });
      expect(answer.answers).toHaveLength(answers.length);
      expect(answer.authorities).toHaveLength(1);
    }
    expect(upstream.asked).toHaveLength(1);
  });

  it('take aliases out only where these were asked for', async () => {
    upstream.script = () => BOTH;
    await start({
      options: { filteredTypes: [TYPE.CNAME] },
      keeping: { isExtraType: () => true },
    });
    for (let i = 0; i < 2; i++) {
      expect((await ask(port, 'a.example')).texts).toEqual(['CNAME b.example', 'A 10.0.0.1']);
      expect((await ask(port, { name: 'b.a.example', type: 'CNAME' })).texts).not.toContain(
        'CNAME b.example',
      );
    }
    expect(upstream.asked).toHaveLength(2);
  });

  it('with ANY leave of an answer to ANY what mail and browsers need', async () => {
    upstream.script = () => ({
      answers: [...addressRecords(30, '10.0.0.1'), { type: 'TXT', ttl: 30, data: 'x' }],
    });
    await start({ options: { filteredTypes: [TYPE.ANY] } });
    expect((await ask(port, { name: 'a.example', type: 'ANY' })).texts).toEqual(['A 10.0.0.1']);
    expect((await ask(port, { name: 'a.example', type: 'TXT' })).texts).toHaveLength(2);
  });
});

describe('the log of queries', () => {
  it('has a line per query, server and record, with a number and who asked', async () => {
    await start({ logsQueries: true });
    await ask(port, 'A.example');
    await ask(port, 'a.example');
    await ask(port, { name: 'version.bind', type: 'TXT', class: 'CH' });
    const lines = log.messages.map((line) => line.replace(/^(\d+) 127\.0\.0\.1\/\d+ /, '$1 '));
    expect(lines).toEqual([
      '1 query[A] A.example from 127.0.0.1',
      `1 forwarded A.example to ${upstream.text}`,
      '1 reply A.example is 10.0.0.1',
      '2 query[A] a.example from 127.0.0.1',
      '2 cached a.example is 10.0.0.1',
      '3 query[TXT] version.bind from 127.0.0.1',
      '3 config error is not implemented',
    ]);
  });
});
