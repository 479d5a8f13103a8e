import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { runChromium, TemporaryFolder, unless, needsChromium } from '@kube-dns/testkit';
import { pageText } from '../../src/compare/report/html.js';
import type { ResultData } from '../../src/compare/report/json.js';

const PICTURE = fileURLToPath(new URL('../../images/compare.png', import.meta.url));
/** What `--json` printed for kubedns and CoreDNS 1.14.7 with the sample cluster of manifests/local. */
const RESULT = new URL('../fixtures/beside-coredns.json', import.meta.url);
const MAX_BYTES = 300 * 1024;
const SIZE = { width: 1060, height: 1290 };
const TIMEOUT_MS = 120_000;

/** Width and height in the header of a PNG file. */
function sizeOf(png: Buffer): { width: number; height: number } {
  expect(png.toString('latin1', 1, 4)).toBe('PNG');
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

async function screenshot(folder: TemporaryFolder): Promise<Buffer> {
  const data = JSON.parse(readFileSync(RESULT, 'utf8')) as ResultData;
  const page = folder.file('page.html', pageText(data));
  const file = join(folder.path, 'page.png');
  const options = ['--hide-scrollbars', `--window-size=${SIZE.width},${SIZE.height}`];
  await runChromium(folder.path, [...options, `--screenshot=${file}`, pathToFileURL(page).href]);
  return readFileSync(file);
}

describe('the picture of the page in the READMEs', () => {
  it('is small, and shown in both', () => {
    const png = readFileSync(PICTURE);
    expect(png.length).toBeLessThan(MAX_BYTES);
    expect(sizeOf(png)).toEqual(SIZE);
    const readme = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
    expect(readme('../../README.md')).toContain('(images/compare.png)');
    expect(readme('../../../../README.md')).toContain('(packages/cli/images/compare.png)');
  });

  // `UPDATE_PICTURE=1 npx jest picture` takes it anew.
  unless(needsChromium(), it)(
    'can be taken anew from the result of a run',
    async () => {
      const folder = new TemporaryFolder();
      try {
        const png = await screenshot(folder);
        expect(sizeOf(png)).toEqual(SIZE);
        expect(png.length).toBeLessThan(MAX_BYTES);
        if (process.env.UPDATE_PICTURE === undefined) return;
        mkdirSync(dirname(PICTURE), { recursive: true });
        writeFileSync(PICTURE, png);
      } finally {
        await folder.close();
      }
    },
    TIMEOUT_MS,
  );
});
