import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Browser, needsChromium, runChromium, TemporaryFolder, unless } from '@kube-dns/testkit';

const MAIN = fileURLToPath(new URL('../main.mjs', import.meta.url));
const PAGES = [
  'index.html',
  'docs/localdns.html',
  'packages/dnsmasq/index.html',
  'reference/alerts.html',
];

unless(needsChromium(), describe)('the site, opened from the disk', () => {
  const folder = new TemporaryFolder();
  const site = join(folder.path, 'site');
  const urlOf = (page: string) => pathToFileURL(site).href + `/${page}`;
  let browser: Browser;

  beforeAll(async () => {
    execFileSync(process.execPath, [MAIN, site]);
    browser = await Browser.start(folder.path);
  });
  afterAll(async () => {
    await browser.close();
    await folder.close();
  });

  it.each([
    [375, 'light'],
    [1200, 'dark'],
  ] as const)(
    'fits into %i pixels, %s, without a complaint or a network',
    async (width, scheme) => {
      for (const page of PAGES) {
        const shown = await browser.show(urlOf(page), { width, height: 900, scheme });
        expect([page, shown.contentWidth]).toEqual([page, width]);
        expect(shown.requested.filter((url) => !url.startsWith('file:'))).toEqual([]);
        expect(shown.complaints).toEqual([]);
      }
    },
  );

  it('finds a word, from another page than the first', async () => {
    const other = new TemporaryFolder();
    try {
      const url = urlOf('docs/faq.html?q=kubednssnapshotfails');
      const args = ['--virtual-time-budget=20000', '--dump-dom', url];
      const html = await runChromium(other.path, args);
      const [, results = ''] = /<div id="results"(.*?)<\/div>/s.exec(html) ?? [];
      expect(results).toContain('TROUBLESHOOTING.html#kubednssnapshotfails');
    } finally {
      await other.close();
    }
  });
});
