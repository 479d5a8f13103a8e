import { expect, it } from '@jest/globals';
import { compareUsage } from '../../src/compare/options.js';

it('the usage of compare fits a terminal', () => {
  const long = compareUsage()
    .split('\n')
    .filter((line) => line.length > 100);
  expect(long).toEqual([]);
});
