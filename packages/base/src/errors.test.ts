import { readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

import { systemReason } from './errors.js';

function failureOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

describe('the reason of a failed system call', () => {
  it.each([
    ['/no/such/file', 'no such file or directory'],
    ['/dev/null/file', 'not a directory'],
    ['/', 'is a directory'],
  ])('is what the system says when %s is read', (path, reason) => {
    expect(systemReason(failureOf(() => readFileSync(path)))).toBe(reason);
  });

  it('is known by the code alone', () => {
    const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    expect(systemReason(refused)).toBe('connection refused');
    const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND x'), { code: 'ENOTFOUND' });
    expect(systemReason(unknown)).toBe('no such host');
  });

  it.each([
    [new Error('not of the system'), 'not of the system'],
    [Object.assign(new Error('of Node'), { code: 'ERR_INVALID_ARG_TYPE' }), 'of Node'],
    ['a text', 'a text'],
    [undefined, 'undefined'],
    [null, 'null'],
  ])('is what any other error says: %p', (error, text) => {
    expect(systemReason(error)).toBe(text);
  });
});
