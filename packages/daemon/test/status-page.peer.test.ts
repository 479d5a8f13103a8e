import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Browser, TemporaryFolder, unless, needsChromium } from '@kube-dns/testkit';
import { createLog } from '../src/log.js';
import { MetricsServer } from '../src/metrics/metrics-server.js';
import { RecentNotices, type StatusSource } from '../src/status/status-report.js';
import { statusPages } from '../src/status/status-page.js';

const EVIL = `<script>document.title='evil'</script><img src="http://192.0.2.1/x">`;

const rows = Array.from({ length: 10_000 }, (_, i) => ({
  name: `${i}.a-long-name-of-a-service.in-a-namespace.svc.cluster.local`,
  text: i === 0 ? EVIL : 'x'.repeat(i % 300),
  state: ['up', 'down', 'connecting'][i % 3]!,
  rttMs: i / 7,
  queries: i * 1_000,
  lastReplySeconds: i,
}));

const source: StatusSource = {
  notReady: () => [],
  problems: () => [EVIL, 'server 10.0.0.1#53 is down: timeout'],
  configuration: () => ({
    source: '/kube-dns-config',
    version: 'ab'.repeat(32),
    appliedMs: 1e12,
    refused: { atMs: 1e12, reasons: ['stubDomains: "10.0.0.300" is not an address'] },
  }),
  sections: () => ({
    Servers: rows,
    Zone: { zone: 'cluster.local.', lastChangeSeconds: 3 },
    None: [],
  }),
};

const folder = new TemporaryFolder();
let server: MetricsServer;
let browser: Browser;
let url: string;

unless(needsChromium(), describe)('the status page in Chromium', () => {
  beforeAll(async () => {
    const notices = new RecentNotices();
    let port = '';
    const log = notices.beside(
      createLog({
        name: 'test',
        verbosity: 0,
        write: (line) => (port = /on port (\d+)/.exec(line)?.[1] ?? port),
      }),
    );
    log.warn(EVIL);
    const about = { program: 'kubedns', version: '1.2.3', flags: {}, given: new Map(), notices };
    const pages = statusPages({ ...about, unexpectedErrors: () => 0 }, source);
    const at = { host: '127.0.0.1', port: 0, path: '/metrics' };
    server = new MetricsServer({ ...at, families: [], localPages: pages, log });
    await server.start();
    url = `http://127.0.0.1:${port}/`;
    browser = await Browser.start(folder.path);
  });

  afterAll(async () => {
    await browser.close();
    await server.close();
    await folder.close();
  });

  it.each([
    ['light', 1200],
    ['dark', 1200],
    ['dark', 700],
    ['light', 375],
    ['dark', 320],
  ] as const)(
    'is as wide as the window, has no complaint and loads nothing, %s and %s pixels wide',
    async (scheme, width) => {
      const shown = await browser.show(url, { width, height: 900, scheme });
      const { STATUS_PICTURES: pictures } = process.env;
      if (pictures !== undefined)
        writeFileSync(join(pictures, `${scheme}-${width}.png`), shown.picture);
      expect(shown.contentWidth).toBe(width);
      expect(shown.cut).toEqual([]);
      expect(shown.complaints).toEqual([]);
      expect(shown.requested).toEqual([url]);
    },
  );
});
