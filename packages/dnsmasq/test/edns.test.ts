import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addressRecords,
  decodeMessage,
  ednsOf,
  ednsText,
  encodeQuery,
  encodeReply,
  endPrograms,
  exchange,
  heldReply,
  ScriptedNameServer,
  statistic,
  until,
} from '@kube-dns/testkit';
import { writeUint16 } from '@kube-dns/wire';
import { serve } from './processes.js';

const COOKIES = ['10 0102030405060708', '10 1112131415161718'] as const;
/** An OPT record that ends with the first of these cookies and a server cookie of ours (RFC 9018). */
const OURS = new RegExp(`^1232 .*\\| ${COOKIES[0]}01000000[0-9a-f]{24}$`);

/** The options of a query, which its reply has, too. */
const optionsOf = (query: Buffer) => ednsOf(query)?.options ?? [];

describe('a client with cookies', () => {
  let upstream: ScriptedNameServer;
  let seen: string[];

  beforeEach(async () => {
    seen = [];
    upstream = await ScriptedNameServer.start(({ query }) => {
      seen.push(ednsText(query));
      const options = [`${COOKIES[0]}${'99'.repeat(8)}`, '15 0016'];
      return { answers: addressRecords(60, '10.0.0.1'), options };
    });
  });

  afterEach(async () => {
    await endPrograms();
    await upstream.close();
  });

  // c-ares 1.34 drops every answer without a server cookie once one answer had one.
  it('gets one of ours: on a miss, on a hit, and for a name of ours', async () => {
    const { port } = await serve([
      ...['-R', `--server=${upstream.text}`, '--address=/own.example/10.0.0.9'],
    ]);
    const answers: [string, string][] = [];
    for (const name of ['miss.example', 'miss.example', 'own.example']) {
      const query = encodeQuery({ name, options: [COOKIES[0]] });
      const answer = await exchange(port, query);
      answers.push([decodeMessage(answer).texts.join(), ednsText(answer)]);
    }
    expect(answers).toEqual([
      // Extended DNS Errors do come back.
      ['A 10.0.0.1', expect.stringMatching(OURS)],
      ['A 10.0.0.1', expect.stringMatching(OURS)],
      ['A 10.0.0.9', expect.stringMatching(OURS)],
    ]);
    const reasons = answers.map(([, opt]) => opt.replace(/ \| 10 .*/, ''));
    const forged = `15 0004${Buffer.from('--address').toString('hex')}`;
    const own = `1232 | 15 0016${Buffer.from('upstream').toString('hex')}`;
    expect(reasons).toEqual([own, own, `1232 | ${forged}`]);
    expect(new Set(seen)).toEqual(new Set(['1232']));
    expect(await statistic(port, 'misses.bind')).toBe(1);
  });

  it('is not seen by a server that is asked with --upstream-cookies: it gets one of ours, and its own back', async () => {
    const theirs = 'c0'.repeat(16);
    upstream.script = ({ query }) => {
      const asked = ednsText(query);
      seen.push(asked);
      const cookie = asked.replace('1232 | ', '').slice(0, '10 '.length + 16) + theirs;
      return { answers: addressRecords(60, '10.0.0.1'), options: [cookie] };
    };
    const { port } = await serve(['-R', `--server=${upstream.text}`, '--upstream-cookies']);
    for (const name of ['one.example', 'two.example']) {
      const answer = await exchange(port, encodeQuery({ name, options: [COOKIES[0]] }));
      expect(decodeMessage(answer).texts).toEqual(['A 10.0.0.1']);
      expect(ednsText(answer)).toMatch(OURS);
    }
    expect(seen).toEqual([expect.stringMatching(/^1232 \| 10 [0-9a-f]{16}$/), seen[0]! + theirs]);
    expect(seen[0]).not.toContain(COOKIES[0]);
  });

  it('and another with another cookie cause one question', async () => {
    const { script, release } = heldReply('10.0.0.1');
    upstream.script = script;
    const { port } = await serve(['-R', `--server=${upstream.text}`]);
    const all = COOKIES.map((cookie, id) =>
      exchange(port, encodeQuery({ name: 'a.example', id, options: [cookie] })),
    );
    await until(() => upstream.requests.length > 0);
    // The second is there, too, when a later query has its answer.
    await exchange(port, encodeQuery({ name: 'version.bind', type: 'TXT', class: 'CH' }));
    release();
    for (const answer of await Promise.all(all)) {
      expect(decodeMessage(answer).texts).toEqual(['A 10.0.0.1']);
    }
    expect(await statistic(port, 'misses.bind')).toBe(1);
  });
});

describe('queries with data of the client', () => {
  let upstream: ScriptedNameServer;
  let seen: string[];

  beforeEach(async () => {
    seen = [];
    upstream = await ScriptedNameServer.start(({ query }) => {
      seen.push(ednsText(query));
      return { answers: addressRecords(60, '10.0.0.1'), options: optionsOf(query) };
    });
  });

  afterEach(async () => {
    await endPrograms();
    await upstream.close();
  });

  const start = (...options: string[]) => serve(['-R', `--server=${upstream.text}`, ...options]);

  it('are answered without a trace of it, and asked for each time', async () => {
    const { port } = await start('--add-subnet=24');
    for (const isOverTcp of [false, false, true]) {
      const answer = await exchange(port, encodeQuery({ name: 'web.example' }), { isOverTcp });
      expect(decodeMessage(answer).texts).toEqual(['A 10.0.0.1']);
      expect(ednsText(answer)).toBe('none');
    }
    expect(new Set(seen)).toEqual(new Set(['1232 | 8 000118007f0000']));
    // And the one over TCP.
    expect(await statistic(port, 'misses.bind')).toBe(2);
    expect(seen.length).toBeGreaterThanOrEqual(3);
  });

  it('are cached where all clients send the same', async () => {
    const { port } = await start('--add-cpe-id=here');
    for (let i = 0; i < 2; i++) await exchange(port, encodeQuery({ name: 'web.example' }));
    expect(new Set(seen)).toEqual(new Set([`1232 | 65074 ${Buffer.from('here').toString('hex')}`]));
    expect(await statistic(port, 'misses.bind')).toBe(1);
  });

  it('get no answer about another network', async () => {
    const { port } = await start('--add-subnet=24', '--query-timeout=100');
    upstream.script = ({ query }) => {
      const answers = addressRecords(60, '10.6.6.6');
      const reply = encodeReply(query, { answers, options: optionsOf(query) });
      writeUint16(reply, reply.length - 2, 0x0909);
      return [reply];
    };
    const answer = await exchange(port, encodeQuery({ name: 'web.example' }));
    expect(decodeMessage(answer)).toMatchObject({ rcode: 'SERVFAIL', texts: [] });
  });
});
