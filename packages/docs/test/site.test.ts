import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RunningProgram, TemporaryFolder } from '@kube-dns/testkit';

interface Index {
  search(query: unknown, options: unknown): readonly { readonly id: string }[];
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

/** The addresses that a search shows, the best first. */
function search(text: string): string[] {
  const context: {
    MiniSearch?: { loadJS(data: unknown, options: unknown): Index };
    queryOf?: (text: string) => unknown;
  } & Record<string, unknown> = {};
  for (const name of ['search', 'search-index'])
    runInNewContext(read(`assets/${name}.js`), context);
  const index = context.MiniSearch!.loadJS(context.searchIndex, context.searchOptions);
  return index.search(context.queryOf!(text), context.queryOptions).map(({ id }) => id);
}

it('the index finds a word of a page under its heading', () => {
  expect(search('NodeHosts disable=coredns')).toContain('docs/platforms.html#k3s');
});

it.each([
  ['stubDomains', /^reference\/configuration\.html|^packages\/kubedns\/index\.html#configuration/],
  ['stub domain', /^docs\/try\.html#a-stub-domain$/],
  ['exit codes', /^docs\/start-errors\.html#exit-codes$/],
  ['--drain-time', /^reference\/flags\.html#/],
  ['KubeDnsSnapshotFails', /^manifests\/TROUBLESHOOTING\.html#kubednssnapshotfails$/],
  ['KD0106', /^manifests\/TROUBLESHOOTING\.html#kd0106$/],
])('a search for %s shows first where it is explained', (text, wanted) => {
  expect(search(text)[0]).toMatch(wanted);
});

it('is served on loopback, and no other file with it', async () => {
  expect(await (await fetch(address)).text()).toBe(read('index.html'));
  const css = await fetch(`${address}assets/page.css`);
  expect(css.headers.get('content-type')).toBe('text/css');
  expect((await fetch(`${address}..%2f..%2fetc/passwd`)).status).toBe(404);
  expect((await fetch(`${address}package.json`)).status).toBe(404);
});
