import { describe, expect, it } from '@jest/globals';
import { CacheTotals } from './metrics.js';

describe('CacheTotals', () => {
  it('continue when the cache is emptied', () => {
    const cache = { insertions: 5, evictions: 2 };
    const totals = new CacheTotals(cache);
    totals.retain();
    cache.insertions = cache.evictions = 0;
    expect([totals.insertions, totals.evictions]).toEqual([5, 2]);
    cache.insertions = 1;
    totals.retain();
    cache.insertions = 0;
    expect([totals.insertions, totals.evictions]).toEqual([6, 2]);
  });
});
