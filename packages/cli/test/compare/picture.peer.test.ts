import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from '@jest/globals';
import { Browser, needsChromium, runChromium, TemporaryFolder, unless } from '@kube-dns/testkit';
import { pageText } from '../../src/compare/html.js';
import type { ResultData } from '../../src/compare/result.js';
import { MAX_PICTURE_BYTES, PICTURE, PICTURE_SIZE, pngSize } from './support/picture.js';

/** What `--json` printed for kubedns and CoreDNS 1.14.7 with the sample cluster of manifests/local. */
const RESULT = new URL('../fixtures/beside-coredns.json', import.meta.url);

function pageUrl(folder: TemporaryFolder): string {
  const data = JSON.parse(readFileSync(RESULT, 'utf8')) as ResultData;
  return pathToFileURL(folder.file('page.html', pageText(data))).href;
}

async function screenshot(folder: TemporaryFolder): Promise<Buffer> {
  const file = join(folder.path, 'page.png');
  const options = [
    '--hide-scrollbars',
    `--window-size=${PICTURE_SIZE.width},${PICTURE_SIZE.height}`,
  ];
  await runChromium(folder.path, [...options, `--screenshot=${file}`, pageUrl(folder)]);
  return readFileSync(file);
}

// `UPDATE_PICTURE=1 npm test -- picture.peer` takes it anew.
unless(needsChromium(), it)(
  'the picture of the page in the README can be taken anew from the result of a run',
  async () => {
    const folder = new TemporaryFolder();
    try {
      const png = await screenshot(folder);
      expect(pngSize(png)).toEqual(PICTURE_SIZE);
      expect(png.length).toBeLessThan(MAX_PICTURE_BYTES);
      if (process.env.UPDATE_PICTURE === undefined) return;
      mkdirSync(dirname(PICTURE), { recursive: true });
      writeFileSync(PICTURE, png);
    } finally {
      await folder.close();
    }
  },
);

unless(needsChromium(), it)(
  'the page is as wide as a telephone, and nothing of it is cut',
  async () => {
    const folder = new TemporaryFolder();
    const browser = await Browser.start(folder.path);
    try {
      const view = { height: 900, scheme: 'light' } as const;
      for (const width of [375, 320]) {
        const shown = await browser.show(pageUrl(folder), { ...view, width });
        const { COMPARE_PICTURE: picture } = process.env;
        if (picture !== undefined) writeFileSync(picture, shown.picture);
        expect({ width, content: shown.contentWidth, cut: shown.cut }).toEqual({
          width,
          content: width,
          cut: [],
        });
      }
    } finally {
      await browser.close();
      await folder.close();
    }
  },
);
