import { describe, expect, it } from '@jest/globals';
import { queryFor, type Question } from '../../test/messages.js';
import { mayFillCache, mayReadCache } from './cacheable.js';

describe('the answer to a question', () => {
  it.each<[string, Partial<Question>, boolean, boolean]>([
    ['as most are', {}, true, true],
    ['of any type', { type: 'TXT' }, true, true],
    ['with EDNS but without DO', { ednsBytes: 4096 }, true, true],
    ['without RD', { isRecursionDesired: false }, false, true],
    ['with DO', { ednsBytes: 1232, isDnssecOk: true }, false, true],
    ['with CD', { isCheckingDisabled: true }, true, false],
    ['of class CH', { class: 'CH' }, false, false],
  ])('%s: from the cache, to the cache', (_what, fields, mayRead, mayFill) => {
    const query = queryFor({ name: 'a.example', ...fields });
    expect([mayReadCache(query), mayFillCache(query)]).toEqual([mayRead, mayFill]);
  });
});
