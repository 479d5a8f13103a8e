import { describe, expect, it } from '@jest/globals';
import { readQuery } from '@kube-dns/wire';
import { encodeQuery, type Question } from '@kube-dns/testkit';
import { mayFillCache, mayReadCache, mayReplaceCached } from './resolver.js';

describe('the answer to a question', () => {
  it.each<[string, Partial<Question>, boolean, boolean, boolean]>([
    ['as most are', {}, true, true, true],
    ['of any type', { type: 'TXT' }, true, true, true],
    ['with EDNS but without DO', { ednsBytes: 4096 }, true, true, true],
    ['without RD', { isRecursionDesired: false }, false, true, false],
    ['with DO', { ednsBytes: 1232, isDnssecOk: true }, false, true, false],
    ['with CD', { isCheckingDisabled: true }, true, false, true],
    ['of class CH', { class: 'CH' }, false, false, true],
  ])('%s: from the cache, to it, in place of another', (_what, fields, ...may) => {
    const query = readQuery(encodeQuery({ name: 'a.example', ...fields }));
    expect([mayReadCache(query), mayFillCache(query), mayReplaceCached(query)]).toEqual(may);
  });
});
