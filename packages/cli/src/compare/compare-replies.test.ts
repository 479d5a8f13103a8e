import { describe, expect, it } from '@jest/globals';
import { ttlClass } from './compare-replies.js';

const fixed = (seconds: number) => ({ seconds, isAgeing: false });
const ageing = (seconds: number) => ({ seconds, isAgeing: true });
const TOLERANCE = 2;

describe('the class of two TTLs', () => {
  it.each([
    [fixed(30), fixed(5), 'ttl-default'],
    [fixed(4), fixed(29), 'ttl-default'],
    [ageing(12), fixed(5), 'ttl-default'],
    [fixed(300), ageing(17), 'ttl-ageing'],
    [ageing(17), ageing(250), 'ttl-ageing'],
    [fixed(300), fixed(17), undefined],
    [ageing(300), fixed(17), undefined],
  ])('of %j and %j is %s', (left, right, expected) => {
    expect(ttlClass(left, right, TOLERANCE)).toBe(expected);
    expect(ttlClass(right, left, TOLERANCE)).toBe(expected);
  });
});
