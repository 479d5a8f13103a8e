import { describe, expect, it } from '@jest/globals';
import { RCODE } from '@kube-dns/wire';
import { PLAIN_RULES } from '../testing/cached-answers.js';
import { type Response, responseFor } from '../testing/messages.js';
import { type CachingRules, ReplyReader } from './reply-reader.js';
import { NAME, cname, address, soa, storedAnswer } from '../../test/stored-replies.js';

describe('a negative answer', () => {
  const nxdomain = { rcode: RCODE.NXDOMAIN, authorities: [soa('example')] };

  it('is cached with its SOA, whose owner and TTL stay', () => {
    expect(storedAnswer(nxdomain)).toMatchObject({ rcode: 'NXDOMAIN', answers: [] });
    expect(storedAnswer(nxdomain)?.authorities[0]).toMatch(
      /^example SOA .*"mname":"ns.example".* 60$/,
    );
    expect(storedAnswer({ authorities: [soa('example')] })).toMatchObject({ rcode: 'NOERROR' });
  });

  it.each<[string, number, number, number]>([
    ['the SOA’s minimum', 60, 5, 5],
    ['the SOA’s TTL', 4, 50, 4],
  ])('is cached for the TTL of %s, the smaller', (_what, ttl, minimum, expected) => {
    const reader = new ReplyReader(PLAIN_RULES);
    const authorities = [soa('example', ttl, minimum)];
    expect(reader.read(responseFor({ name: NAME }, { rcode: 3, authorities }))).toBe(true);
    expect(reader.answer.lifetimeSeconds).toBe(expected);
  });

  it('NXDOMAIN is cached for any type, NODATA only where the records of the type would be', () => {
    expect(storedAnswer(nxdomain, { question: { type: 'TXT' } })).toMatchObject({
      rcode: 'NXDOMAIN',
    });
    const noData = { authorities: [soa('example')] };
    expect(storedAnswer(noData, { question: { type: 'TXT' } })).toBeUndefined();
    expect(storedAnswer(noData, { question: { type: 'SRV' } })).toBeDefined();
  });

  it('after CNAMEs is cached with them, and expires with the first of them', () => {
    const reply = { ...nxdomain, answers: [cname(NAME, 'b.example', 3)] };
    expect(storedAnswer(reply)).toMatchObject({
      rcode: 'NXDOMAIN',
      answers: ['a.example CNAME b.example 3'],
      authorities: [expect.stringMatching(/^example SOA/)],
    });
    const reader = new ReplyReader(PLAIN_RULES);
    reader.read(responseFor({ name: NAME }, reply));
    expect(reader.answer.lifetimeSeconds).toBe(3);
  });

  it.each<[string, Response, Partial<CachingRules>?]>([
    ['has no SOA', { rcode: RCODE.NXDOMAIN }],
    ['has the SOA of another zone', { rcode: 3, authorities: [soa('other')] }],
    ['has a SOA whose name ends alike', { rcode: 3, authorities: [soa('ample')] }],
    ['has a SOA in another place', { rcode: 3, additionals: [soa('example')] }],
    ['has a minimum of 0', { rcode: 3, authorities: [soa('example', 60, 0)] }],
    [
      'has a minimum of 0, floor or not',
      { rcode: 3, authorities: [soa('example', 60, 0)] },
      { minTtlSeconds: 9 },
    ],
    ['must not be cached', nxdomain, { cachesNegatives: false }],
    [
      'must not be cached, with or without CNAMEs',
      { ...nxdomain, answers: [cname(NAME, 'b.example')] },
      { cachesNegatives: false },
    ],
  ])('is not cached when it %s', (...[, response, rules = {}]) => {
    expect(storedAnswer(response, { rules })).toBeUndefined();
  });

  it('without SOA is cached for the time of the option', () => {
    const rules = { negativeTtlSeconds: 9 };
    expect(storedAnswer({ rcode: 3 }, { rules })).toEqual({
      rcode: 'NXDOMAIN',
      answers: [],
      authorities: [],
    });
    const reader = new ReplyReader({ ...PLAIN_RULES, ...rules });
    reader.read(responseFor({ name: NAME }, { rcode: 3 }));
    expect(reader.answer.lifetimeSeconds).toBe(9);
  });

  it('can be made of any reply', () => {
    const reader = new ReplyReader(PLAIN_RULES);
    const reply = responseFor({ name: NAME }, { answers: [address(NAME)] });
    expect(reader.readAsNxdomain(reply, 12)).toBe(true);
    expect(reader.answer).toMatchObject({ rcode: 3, type: 0, length: 0, lifetimeSeconds: 12 });
    expect(reader.readAsNxdomain(reply, 0)).toBe(false);
  });

  it.each([0, 1])('is none, and not cached, when OPT has upper bits of the rcode: %d', (upper) => {
    const reader = new ReplyReader({ ...PLAIN_RULES, negativeTtlSeconds: 9 });
    const reply = responseFor({ name: NAME, ednsBytes: 1232 }, {});
    reply[reply.length - 6] = upper;
    expect(reader.read(reply)).toBe(upper === 0);
    expect(reader.isMalformed).toBe(false);
    const positive = responseFor({ name: NAME, ednsBytes: 1232 }, { answers: [address(NAME)] });
    positive[positive.length - 6] = upper;
    expect(reader.read(positive)).toBe(upper === 0);
  });
});

describe('the bounds of cached TTLs', () => {
  it.each<[string, number, number, string[]]>([
    ['a ceiling', 0, 20, ['a.example CNAME b.x 20', 'b.x A 10.0.0.1 5']],
    ['a floor', 10, 0, ['a.example CNAME b.x 30', 'b.x A 10.0.0.1 10']],
    ['both, the floor above', 25, 20, ['a.example CNAME b.x 25', 'b.x A 10.0.0.1 25']],
  ])('%s', (_what, minTtlSeconds, maxTtlSeconds, answers) => {
    const reply = { answers: [cname(NAME, 'b.x'), address('b.x', 5)] };
    expect(storedAnswer(reply, { rules: { minTtlSeconds, maxTtlSeconds } })?.answers).toEqual(
      answers,
    );
  });

  it('a floor raises even a TTL of 0', () => {
    const seen = storedAnswer({ answers: [address(NAME, 0)] }, { rules: { minTtlSeconds: 10 } });
    expect(seen?.answers).toEqual(['a.example A 10.0.0.1 10']);
  });

  it('apply to negative answers, too', () => {
    const reader = new ReplyReader({ ...PLAIN_RULES, minTtlSeconds: 30, maxTtlSeconds: 40 });
    reader.read(responseFor({ name: NAME }, { rcode: 3, authorities: [soa('example')] }));
    expect(reader.answer.lifetimeSeconds).toBe(30);
  });
});
