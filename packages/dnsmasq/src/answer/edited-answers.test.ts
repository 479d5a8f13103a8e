import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  ask,
  type Response,
  ScriptedNameServer,
  soaRecord,
} from '@kube-dns/testkit';
import { encodeKey, FLAG, RCODE, TYPE } from '@kube-dns/wire';
import { AnswererTestbed, TIMEOUT_MS } from '../../test/answerer-testbed.js';
import { FILTERED_TYPE } from '../explanations.js';
import { parseAddressRange, parseAlias } from '../options/values.js';

let testbed: AnswererTestbed;

beforeEach(async () => {
  testbed = await AnswererTestbed.create();
});

afterEach(() => testbed.close());

describe('an expired answer of a filtered type', () => {
  it('says that the type was filtered', async () => {
    await testbed.start({
      cache: { maxStaleSeconds: 1_000 },
      options: { filteredTypes: [TYPE.A] },
    });
    await ask(testbed.port, 'a.example');
    testbed.now += 200;
    const { texts, bytes } = await ask(testbed.port, { name: 'a.example', ednsBytes: 1232 });
    expect(texts).toEqual([]);
    expect(bytes.subarray(-FILTERED_TYPE.length)).toEqual(Buffer.from(FILTERED_TYPE));
    expect(testbed.counters.staleAnswers).toBe(1);
  });
});

describe('the protection against rebinding', () => {
  const EMPTY = { texts: [], rcode: 'NOERROR', authorities: [] };

  it('empties answers with private addresses, caches nothing, and logs it', async () => {
    await testbed.start({ replies: { stopsRebind: true } });
    expect(await ask(testbed.port, 'a.example')).toMatchObject(EMPTY);
    expect(await ask(testbed.port, 'a.example')).toMatchObject(EMPTY);
    expect(testbed.upstream.requests).toHaveLength(2);
    expect(testbed.log.messages).toContain('possible DNS-rebind attack detected: a.example');
  });

  it.each<[string, Response | null]>([
    ['SERVFAIL', { rcode: RCODE.SERVFAIL }],
    ['silence', null],
  ])('empties a cut answer, too, when there is none over TCP but %s', async (_what, overTcp) => {
    testbed.upstream.script = ({ protocol }) =>
      protocol === 'tcp'
        ? overTcp
        : { isTruncated: true, answers: addressRecords(100, '10.0.0.1') };
    await testbed.start({ replies: { stopsRebind: true } });
    const get = () => ask(testbed.port, 'a.example');
    const answer = overTcp === null ? testbed.late(TIMEOUT_MS, get, 2) : get();
    expect((await answer).texts).toEqual([]);
  });

  it('logs it at most once a second', async () => {
    await testbed.start({ replies: { stopsRebind: true } });
    const lines = () => testbed.log.messages.filter((message) => message.includes('rebind'));
    for (let i = 0; i < 20; i++) await ask(testbed.port, `n${i}.example`);
    expect(lines()).toHaveLength(1);
    testbed.pass(1_000);
    await ask(testbed.port, 'later.example');
    expect(lines()).toHaveLength(2);
  });

  it('leaves exempt domains alone', async () => {
    await testbed.start({
      replies: { stopsRebind: true, rebindDomains: { domains: [encodeKey('ok.example')] } },
    });
    expect((await ask(testbed.port, 'a.OK.example')).texts).toEqual(['A 10.0.0.1']);
    expect((await ask(testbed.port, 'a.nok.example')).texts).toEqual([]);
  });
});

describe('addresses in replies', () => {
  it('that mean NXDOMAIN make the answer NXDOMAIN, cached for the TTL of the address', async () => {
    await testbed.start({ replies: { bogusNxdomain: [parseAddressRange('10.0.0.0/24')] } });
    expect(await ask(testbed.port, 'a.example')).toMatchObject({ rcode: 'NXDOMAIN', texts: [] });
    expect((await ask(testbed.port, { name: 'a.example', type: 'TXT' })).rcode).toBe('NXDOMAIN');
    testbed.now += 99;
    await ask(testbed.port, 'a.example');
    expect(testbed.upstream.requests).toHaveLength(1);
    testbed.now += 1;
    await ask(testbed.port, 'a.example');
    expect(testbed.upstream.requests).toHaveLength(2);
  });

  it('that are to be ignored make the reply ignored: SERVFAIL when there is no other', async () => {
    await testbed.start({ replies: { ignoredAddresses: [parseAddressRange('10.0.0.1')] } });
    const get = () => ask(testbed.port, 'a.example');
    expect((await testbed.late(TIMEOUT_MS, get)).rcode).toBe('SERVFAIL');
    expect(testbed.cache.insertions).toBe(0);
  });

  it.each(['udp', 'tcp'] as const)(
    'that are to be ignored make the next server’s reply count: %s',
    async (protocol) => {
      const next = await ScriptedNameServer.start(() => ({
        answers: addressRecords(9, '10.0.0.2'),
      }));
      testbed.own(next);
      await testbed.start({
        rules: [testbed.upstream.text, next.text],
        replies: { ignoredAddresses: [parseAddressRange('10.0.0.1')] },
      });
      const answer =
        protocol === 'udp'
          ? await ask(testbed.port, 'a.example')
          : await ask(testbed.port, { name: 'a.example' }, { isOverTcp: true });
      expect(answer.texts).toEqual(['A 10.0.0.2']);
    },
  );

  it('are replaced, for the cache, too, and AA is cleared', async () => {
    await testbed.start({
      replies: { aliases: [parseAlias(['10.0.0.0', '192.0.2.0', '255.255.255.0'])] },
    });
    for (let i = 0; i < 2; i++) {
      const answer = await ask(testbed.port, 'a.example');
      expect(answer.texts).toEqual(['A 192.0.2.1']);
      expect(answer.flags & FLAG.AA).toBe(0);
    }
    expect(testbed.upstream.requests).toHaveLength(1);
  });
});

describe('filtered types', () => {
  const BOTH: Response = {
    answers: [
      { type: 'CNAME', ttl: 30, data: 'b.example' },
      { name: 'b.example', type: 'A', ttl: 30, data: '10.0.0.1' },
    ],
  };

  it('are removed from replies and cached answers; the cached answer says so', async () => {
    testbed.upstream.script = () => BOTH;
    await testbed.start({ options: { filteredTypes: [TYPE.A] } });
    expect((await ask(testbed.port, 'a.example')).texts).toEqual(['CNAME b.example']);
    const { texts, bytes } = await ask(testbed.port, { name: 'a.example', ednsBytes: 1232 });
    expect(texts).toEqual(['CNAME b.example']);
    expect(bytes.subarray(-FILTERED_TYPE.length)).toEqual(Buffer.from(FILTERED_TYPE));
    expect(testbed.upstream.requests).toHaveLength(1);
  });

  it.each([
    ['A', 'AAAA', 'fd00::1'],
    ['AAAA', 'A', '10.0.0.1'],
    ['MX', 'A', '10.0.0.1'],
    ['MX', 'AAAA', 'fd00::1'],
  ] as const)(
    'are not queried when other types of the name are cached: %s beside %s',
    async (...row) => {
      const [type, cachedType, data] = row;
      testbed.upstream.script = () => ({ answers: [{ type: cachedType, ttl: 30, data }] });
      await testbed.start({ options: { filteredTypes: [TYPE[type]] } });
      await ask(testbed.port, { name: 'a.example', type: cachedType });
      expect(await ask(testbed.port, { name: 'a.example', type })).toMatchObject({
        rcode: 'NOERROR',
        texts: [],
      });
      await ask(testbed.port, { name: 'a.example', type: 'TXT' });
      expect(testbed.upstream.requests.map((asked) => asked.type)).toEqual([cachedType, 'TXT']);
    },
  );

  it.each([
    ['A', BOTH.answers!.slice(0, 1)],
    ['SOA', []],
  ] as const)('do not change a negative answer for %s', async (type, answers) => {
    testbed.upstream.script = () => ({ answers, authorities: [soaRecord(5)] });
    await testbed.start({
      options: { filteredTypes: [TYPE[type]] },
      caching: { isExtraType: () => true },
    });
    for (let i = 0; i < 2; i++) {
      const answer = await ask(testbed.port, { name: 'a.example', type });
      expect(answer.answers).toHaveLength(answers.length);
      expect(answer.authorities).toHaveLength(1);
    }
    expect(testbed.upstream.requests).toHaveLength(1);
  });

  it('remove CNAMEs only where these were asked for', async () => {
    testbed.upstream.script = () => BOTH;
    await testbed.start({
      options: { filteredTypes: [TYPE.CNAME] },
      caching: { isExtraType: () => true },
    });
    for (let i = 0; i < 2; i++) {
      expect((await ask(testbed.port, 'a.example')).texts).toEqual([
        'CNAME b.example',
        'A 10.0.0.1',
      ]);
      expect((await ask(testbed.port, { name: 'b.a.example', type: 'CNAME' })).texts).not.toContain(
        'CNAME b.example',
      );
    }
    expect(testbed.upstream.requests).toHaveLength(2);
  });

  it('with ANY leave in an answer to ANY what mail and browsers need', async () => {
    testbed.upstream.script = () => ({
      answers: [...addressRecords(30, '10.0.0.1'), { type: 'TXT', ttl: 30, data: 'x' }],
    });
    await testbed.start({ options: { filteredTypes: [TYPE.ANY] } });
    expect((await ask(testbed.port, { name: 'a.example', type: 'ANY' })).texts).toEqual([
      'A 10.0.0.1',
    ]);
    expect((await ask(testbed.port, { name: 'a.example', type: 'TXT' })).texts).toHaveLength(2);
  });
});
