import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { MAX_PICTURE_BYTES, PICTURE, PICTURE_SIZE, pngSize } from './support/picture.js';

it('the picture of the page in the README is small, and shown there', () => {
  const png = readFileSync(PICTURE);
  expect(png.length).toBeLessThan(MAX_PICTURE_BYTES);
  expect(pngSize(png)).toEqual(PICTURE_SIZE);
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  expect(readme).toContain('(images/compare.png)');
});
