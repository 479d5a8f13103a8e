import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { DIFFERENT } from './support/answer-cases.js';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8').replaceAll(
  / +/g,
  ' ',
);

it('the README has the differences of answers', () => {
  const rows = DIFFERENT.map(({ original, here }) => `| ${original} | ${here} |`);
  expect(rows.filter((row) => !README.includes(row))).toEqual([]);
});
