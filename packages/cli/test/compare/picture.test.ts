import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { MAX_PICTURE_BYTES, PICTURE, PICTURE_SIZE, pngSize } from './support/picture.js';

it('the picture of the page in the READMEs is small, and shown in both', () => {
  const png = readFileSync(PICTURE);
  expect(png.length).toBeLessThan(MAX_PICTURE_BYTES);
  expect(pngSize(png)).toEqual(PICTURE_SIZE);
  const readme = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
  expect(readme('../../README.md')).toContain('(images/compare.png)');
  expect(readme('../../../../README.md')).toContain('(packages/cli/images/compare.png)');
});
