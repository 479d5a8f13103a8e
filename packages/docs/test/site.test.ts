import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RunningProgram, TemporaryFolder } from '@kube-dns/testkit';

interface Index {
  search(text: string, options: { combineWith: 'AND' }): readonly { readonly id: string }[];
}

const folder = new TemporaryFolder();
const MAIN = fileURLToPath(new URL('../main.mjs', import.meta.url));
let program: RunningProgram;
let address: string;
let pages: readonly string[];

const read = (file: string) => readFileSync(join(folder.path, file), 'utf8');
const matches = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, found = '']) => found);

beforeAll(async () => {
  program = new RunningProgram('docs', process.execPath, [MAIN, '--open', folder.path]);
  [, address = ''] = await program.waitForLine(/(http:\S+)/);
  const linked = matches(read('index.html'), /<nav id="menu"(.*?)<\/nav>/gs).join();
  pages = matches(linked, /href="([^"]*)"/g);
});
afterAll(async () => {
  await program.close('SIGTERM');
  await folder.close();
});

/** Where the links of a page lead that lead nowhere. */
function brokenIn(page: string): string[] {
  const targets = matches(read(page), /\s(?:href|src)="([^"]*)"/g);
  return targets.filter((target) => {
    if (/^https?:/.test(target)) return false;
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(folder.path, file))) return true;
    return anchor !== undefined && !read(file).includes(` id="${anchor}"`);
  });
}

it('every link of every page leads to a page, a heading or a picture of the site', () => {
  expect(pages.length).toBeGreaterThan(40);
  const broken = pages.flatMap((page) => brokenIn(page).map((link) => `${page}: ${link}`));
  expect(broken).toEqual([]);
});

it('a page gets nothing from a network, and has no module, which browsers do not load from the disk', () => {
  for (const page of pages) {
    const loaded = matches(read(page), /<(?:link|script|img)[^>]*? (?:href|src)="([^"]*)"/g);
    expect(loaded.length).toBeGreaterThanOrEqual(2);
    expect(loaded.filter((each) => /^(https?:)?\/\//.test(each))).toEqual([]);
    expect(read(page)).not.toContain('type="module"');
  }
});

it('pages of reference have the tables of the documents', () => {
  expect(read('reference/flags.html')).toContain('--drain-time');
  expect(read('reference/configuration.html')).toContain('upstreamNameservers');
  expect(read('reference/metrics.html')).toContain('kubedns_ready');
  expect(read('reference/errors.html')).toContain('Stale Answer');
  expect(read('reference/bounds.html')).toMatch(/<td[^>]*>node-cache/);
  expect(read('reference/alerts.html')).toContain(
    'href="../manifests/TROUBLESHOOTING.html#kubednsgone"',
  );
});

it('a cell of a table says what its column is, for a screen without room for columns', () => {
  const [row = ''] = matches(read('reference/metrics.html'), /(<tr>\s*<td[^]*?<\/tr>)/g);
  expect(matches(row, /<td data-label="([^"]*)"/g).slice(0, 2)).toEqual(['Metric', 'Type']);
  expect(read('assets/page.css')).toContain('content: attr(data-label)');
});

it('the index finds a word of a page under its heading', () => {
  const context: { MiniSearch?: { loadJS(data: unknown, options: unknown): Index } } & Record<
    string,
    unknown
  > = {};
  for (const name of ['search', 'search-index'])
    runInNewContext(read(`assets/${name}.js`), context);
  const index = context.MiniSearch!.loadJS(context.searchIndex, context.searchOptions);
  const found = index.search('NodeHosts disable=coredns', { combineWith: 'AND' });
  expect(found.map(({ id }) => id)).toContain('docs/platforms.html#k3s');
});

it('is served on loopback, and no other file with it', async () => {
  expect(await (await fetch(address)).text()).toBe(read('index.html'));
  const css = await fetch(`${address}assets/page.css`);
  expect(css.headers.get('content-type')).toBe('text/css');
  expect((await fetch(`${address}..%2f..%2fetc/passwd`)).status).toBe(404);
  expect((await fetch(`${address}package.json`)).status).toBe(404);
});
