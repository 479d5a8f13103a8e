import { describe, expect, it } from '@jest/globals';
import { humanDuration } from './resource-kind.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('humanDuration', () => {
  it.each([
    [0, '0s'],
    [-1 * SECOND, '0s'],
    [-1 * MINUTE, '<invalid>'],
    [119 * SECOND, '119s'],
    [5 * MINUTE + 30 * SECOND, '5m30s'],
    [5 * MINUTE, '5m'],
    [100 * MINUTE, '100m'],
    [3 * HOUR + 20 * MINUTE, '3h20m'],
    [30 * HOUR, '30h'],
    [2 * DAY + 5 * HOUR, '2d5h'],
    [400 * DAY, '400d'],
    [800 * DAY, '2y70d'],
    [4000 * DAY, '10y'],
  ])('prints %d ms as %s', (ms, text) => {
    expect(humanDuration(ms)).toBe(text);
  });
});
