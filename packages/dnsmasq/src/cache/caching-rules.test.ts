import { describe, expect, it } from '@jest/globals';
import { TYPE } from '@kube-dns/wire';
import { parseOptions } from '../options/parse-options.js';
import { cachingRules } from './caching-rules.js';

const rulesOf = (...argv: string[]) => cachingRules(parseOptions(argv));

describe('the caching rules of the command line', () => {
  it('is of extra types none, those of --cache-rr, or all', () => {
    const extras = (...argv: string[]) =>
      [TYPE.MX, TYPE.TXT].filter((type) => rulesOf(...argv).isExtraType(type));
    expect(extras()).toEqual([]);
    expect(extras('--cache-rr=TXT')).toEqual([TYPE.TXT]);
    expect(extras('--cache-rr=ANY')).toEqual([TYPE.MX, TYPE.TXT]);
  });

  it('have the options for negative answers and TTLs', () => {
    expect(rulesOf()).toMatchObject({
      ...{ cachesNegatives: true, negativeTtlSeconds: 0, minTtlSeconds: 0, maxTtlSeconds: 0 },
      cachesZeroTtls: false,
    });
    expect(
      rulesOf(
        ...['--no-negcache', '--neg-ttl=3', '--min-cache-ttl=4', '--max-cache-ttl=5'],
        '--use-stale-cache=6',
      ),
    ).toMatchObject({
      ...{ cachesNegatives: false, negativeTtlSeconds: 3, minTtlSeconds: 4, maxTtlSeconds: 5 },
      cachesZeroTtls: true,
    });
  });
});
