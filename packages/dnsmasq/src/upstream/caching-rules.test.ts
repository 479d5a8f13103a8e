import { describe, expect, it } from '@jest/globals';
import { addressRecords } from '@kube-dns/testkit';
import { TYPE } from '@kube-dns/wire';
import { AnswerCache } from '@kube-dns/resolver';
import { askCache, storeReply } from '@kube-dns/resolver/testing';
import { parseOptions } from '../options/parse-options.js';
import { cachingRules } from './upstream-options.js';

const rulesOf = (...argv: string[]) => cachingRules(parseOptions(argv));

describe('the caching rules of the command line', () => {
  it('is of extra types none, those of --cache-rr, or all', () => {
    const extras = (...argv: string[]) =>
      [TYPE.MX, TYPE.TXT].filter((type) => rulesOf(...argv).isExtraType(type));
    expect(extras()).toEqual([]);
    expect(extras('--cache-rr=TXT')).toEqual([TYPE.TXT]);
    expect(extras('--cache-rr=ANY')).toEqual([TYPE.MX, TYPE.TXT]);
  });

  it('cache an answer for a day at most, unless --max-cache-ttl says otherwise', () => {
    const WEEK_SECONDS = 604_800;
    const cachedTtl = (...argv: string[]) => {
      const cache = new AnswerCache({ maxRecords: 10 });
      const answers = addressRecords(WEEK_SECONDS, '10.0.0.1');
      storeReply(cache, { name: 'a.x' }, { answers }, rulesOf(...argv));
      return Number(/\d+$/.exec(askCache(cache, 'a.x')!.answers[0]!)?.[0]);
    };
    expect(cachedTtl()).toBe(86_400);
    expect(cachedTtl('--max-cache-ttl=100000')).toBe(100_000);
    expect(cachedTtl('--max-cache-ttl=0')).toBe(WEEK_SECONDS);
  });

  it('have the options for negative answers and TTLs', () => {
    expect(rulesOf()).toMatchObject({
      cachesNegatives: true,
      negativeTtlSeconds: 0,
      minTtlSeconds: 0,
      maxTtlSeconds: 86_400,
      cachesZeroTtls: false,
    });
    expect(
      rulesOf(
        ...['--no-negcache', '--neg-ttl=3', '--min-cache-ttl=4', '--max-cache-ttl=5'],
        '--use-stale-cache=6',
      ),
    ).toMatchObject({
      cachesNegatives: false,
      negativeTtlSeconds: 3,
      minTtlSeconds: 4,
      maxTtlSeconds: 5,
      cachesZeroTtls: true,
    });
  });
});
