import { describe, expect, it } from '@jest/globals';
import { RCODE } from '@kube-dns/wire';
import { type Cause, QueryStatistics, type System } from './query-statistics.js';

const NONE = { nxdomain: 0, servfail: 0, refused: 0, truncated: 0, overflow: 0 };

describe('QueryStatistics', () => {
  it('counts a query, its duration and its size in its system only', () => {
    const statistics = new QueryStatistics();
    statistics.count('reverse', 0.004, 700, RCODE.NOERROR, false);
    expect(statistics.requests).toEqual({ auth: 0, recursive: 0, reverse: 1 });
    const { reverse, auth } = statistics.durations;
    expect([auth.count, reverse.count, reverse.sum]).toEqual([0, 1, 0.004]);
    expect(statistics.sizes.reverse.sum).toBe(700);
    expect(statistics.errors.reverse).toEqual(NONE);
  });

  it.each<[string, number, number, boolean, Cause | undefined]>([
    ['an answer', RCODE.NOERROR, 100, false, undefined],
    ['FORMERR', RCODE.FORMERR, 100, false, undefined],
    ['NXDOMAIN', RCODE.NXDOMAIN, 100, false, 'nxdomain'],
    ['SERVFAIL', RCODE.SERVFAIL, 100, false, 'servfail'],
    ['REFUSED', RCODE.REFUSED, 100, false, 'refused'],
    ['a truncated NXDOMAIN', RCODE.NXDOMAIN, 70_000, true, 'truncated'],
    ['more than a message can hold', RCODE.NXDOMAIN, 65_536, false, 'overflow'],
    ['as much as a message can hold', RCODE.NOERROR, 65_535, false, undefined],
  ])('counts %s with its one cause', (_what, rcode, bytes, isTruncated, cause) => {
    const statistics = new QueryStatistics();
    statistics.count('auth', 0, bytes, rcode, isTruncated);
    expect(statistics.errors.auth).toEqual(cause === undefined ? NONE : { ...NONE, [cause]: 1 });
    expect(statistics.errors.recursive).toEqual(NONE);
  });

  it.each<[System, number, number]>([
    ['auth', RCODE.NOERROR, 1],
    ['auth', RCODE.NXDOMAIN, 1],
    ['auth', RCODE.REFUSED, 0],
    ['recursive', RCODE.NOERROR, 0],
    ['reverse', RCODE.NOERROR, 0],
  ])('counts %s with rcode %i as %i cache misses', (system, rcode, misses) => {
    const statistics = new QueryStatistics();
    statistics.count(system, 0, 100, rcode, false);
    expect(statistics.cacheMisses).toBe(misses);
  });
});
