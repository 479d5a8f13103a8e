// Makes a site of the Markdown files of the checkout. Each page is one HTML file at the place of its document, with
// relative links, so that it works from the disk (`file:`), where browsers load no module scripts, and without network.
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, extname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marked } from 'marked';
import MiniSearch from 'minisearch';
import { REFERENCES, referenceText } from './reference.mjs';
import { optionsScript, SEARCH_OPTIONS } from './theme/search-options.mjs';

const THEME = fileURLToPath(new URL('theme/', import.meta.url));
const { resolve } = createRequire(import.meta.url);

/** The menu. A document that is in no group is in the last one. */
const GROUPS = [
  ['Start', ['README.md', 'docs/try.md', 'docs/faq.md', 'docs/differences.md', 'docs/changes.md']],
  [
    'Run it in a cluster',
    [
      'manifests/README.md',
      'docs/platforms.md',
      'images/README.md',
      'docs/sizing.md',
      'docs/support.md',
      'docs/upgrade.md',
      'manifests/coredns/README.md',
      'docs/localdns.md',
    ],
  ],
  [
    'When something is wrong',
    [
      'manifests/TROUBLESHOOTING.md',
      'docs/client-view.md',
      'docs/start-errors.md',
      'packages/proofs/FAULTS.md',
    ],
  ],
  [
    'Programs',
    [
      ...['kubedns', 'dnsmasq', 'sidecar', 'node-cache', 'cli', 'telemetry', 'daemon'].map(
        (name) => `packages/${name}/README.md`,
      ),
    ],
  ],
  ['Reference', REFERENCES.map(({ file }) => file)],
  [
    'Figures and proofs',
    [
      'packages/bench/results/page.md',
      'packages/proofs/README.md',
      'packages/simulator/README.md',
      'packages/bench/README.md',
    ],
  ],
  ['Contribute', ['CONTRIBUTING.md', 'ARCHITECTURE.md', 'SECURITY.md', 'CHANGELOG.md']],
];
const LABELS = { 'README.md': 'Overview', 'packages/cli/README.md': 'kube-dns' };

/** Every Markdown file below a folder, by its path from there, with `/`. */
function documentsBelow(root, folder = '') {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (!entry.isDirectory()) return entry.name.endsWith('.md') ? [path] : [];
    return /^(node_modules|dist|test|release|\..*)$/.test(entry.name)
      ? []
      : documentsBelow(root, path);
  });
}

const outputOf = (file) =>
  file.replace(/(^|\/)README\.md$/, '$1index.html').replace(/\.md$/, '.html');
const relativeTo = (from, to) => posix.relative(posix.dirname(from), to);
const escapeHtml = (text) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
const textOf = (html) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The anchors of a document as GitHub makes them, which its links use. */
function createSlugs() {
  const seen = new Map();
  return (text) => {
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\s-]/gu, '')
      .replaceAll(/\s/g, '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
}

/** Where a link of a document leads: a page of the site, a picture that is copied, or nowhere, as a source file. */
function targetOf({ root, files, assets }, file, href) {
  if (/^[a-z]+:/.test(href)) return { href, isOutside: true };
  const [path, anchor] = href.split('#');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (path === '') return { href: hash };
  const wanted = posix.join(posix.dirname(file), path).replace(/\/$/, '');
  const readme = posix.join(wanted, 'README.md');
  const page = files.has(wanted) ? wanted : files.has(readme) ? readme : undefined;
  if (page !== undefined) return { href: relativeTo(outputOf(file), outputOf(page)) + hash };
  if (!/\.(svg|png)$/.test(wanted) || !existsSync(join(root, wanted))) return {};
  assets.add(wanted);
  return { href: relativeTo(outputOf(file), wanted) };
}

/** The HTML of a document, its title and its headings of the second and third level. */
function render(site, file, markdown) {
  const slugOf = createSlugs();
  const headings = [];
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        const id = slugOf(textOf(html.replaceAll(/<[^>]*>/g, '')));
        headings.push({ id, depth, html, text: textOf(html.replaceAll(/<[^>]*>/g, '')) });
        const anchor = `<a class="anchor" href="#${id}" aria-label="Link to this heading">#</a>`;
        return `<h${depth} id="${id}">${html} ${anchor}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const html = this.parser.parseInline(tokens);
        const target = targetOf(site, file, href);
        if (target.href === undefined)
          return `<span class="file" title="${escapeHtml(href)}, in the checkout">${html}</span>`;
        const rel = target.isOutside ? ' rel="noreferrer"' : '';
        return `<a href="${escapeHtml(target.href)}"${rel}>${html}</a>`;
      },
      image({ href, text }) {
        const target = targetOf(site, file, href);
        return `<img src="${escapeHtml(target.href ?? href)}" alt="${escapeHtml(text)}" loading="lazy">`;
      },
      html: ({ text }) => (/^\s*<!--[^]*-->\s*$/.test(text) ? '' : escapeHtml(text)),
    },
  });
  const html = marked
    .parse(markdown)
    .replaceAll(
      /<table>[^]*?<\/table>/g,
      (table) => `<div class="table" tabindex="0">${withLabels(table)}</div>`,
    );
  return { html, headings, title: headings.find(({ depth }) => depth === 1)?.text ?? file };
}

/** A table whose cells say what their column is, for a screen that is too narrow for columns. */
function withLabels(table) {
  const labels = [...table.matchAll(/<th[^>]*>([^]*?)<\/th>/g)].map(([, inner]) =>
    textOf(inner.replaceAll(/<[^>]*>/g, '')).trim(),
  );
  return table.replaceAll(/<tr>[^]*?<\/tr>/g, (row) => {
    let column = 0;
    return row.replaceAll(/<td(?=[ >])/g, () => {
      const label = labels[column++] ?? '';
      return label === '' ? '<td' : `<td data-label="${escapeHtml(label)}"`;
    });
  });
}

/** What search finds: a part for each heading, up to the next one. */
function partsOf({ file, html, title }) {
  return html.split(/(?=<h[1-4] id=")/).flatMap((part) => {
    const [head, id = '', inner = ''] =
      /^<h\d id="([^"]*)">(.*?) <a class="anchor".*?<\/h\d>/.exec(part) ?? [];
    if (head === undefined) return [];
    return [
      {
        url: `${outputOf(file)}#${id}`,
        page: title,
        title: textOf(inner.replaceAll(/<[^>]*>/g, '')),
        keys: keysOf(part),
        text: textOf(part.slice(head.length)),
      },
    ];
  });
}

/** The names in the first column of the tables of a part. */
function keysOf(part) {
  const cells = [...part.matchAll(/<tr>\s*<td[^>]*>([^]*?)<\/td>/g)].map(([, cell]) => cell);
  const names = cells.flatMap((cell) => cell.match(/<code>[^]*?<\/code>/g) ?? []);
  return textOf(names.join(' '));
}

const labelOf = ({ file, title }) => LABELS[file] ?? title.replace('@kube-dns/', '');

function menuOf(groups, pages, current) {
  const item = (file) => {
    const here = file === current ? ' aria-current="page"' : '';
    const href = relativeTo(outputOf(current), outputOf(file));
    return `<li><a href="${href}"${here}>${escapeHtml(labelOf(pages.get(file)))}</a></li>`;
  };
  return groups
    .map(([name, files]) => `<h2>${name}</h2>\n<ul>\n${files.map(item).join('\n')}\n</ul>`)
    .join('\n');
}

function contentsOf(headings) {
  const items = headings
    .filter(({ depth }) => depth === 2 || depth === 3)
    .map(
      ({ id, depth, text }) =>
        `<li class="h${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
    );
  return items.length < 2 ? '' : `<h2>On this page</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
}

function htmlOf({ file, title, html, headings }, groups, pages) {
  const top = relativeTo(outputOf(file), '') || '.';
  return `<!doctype html>
<html lang="en" data-top="${top}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · kube-dns</title>
<link rel="stylesheet" href="${top}/assets/page.css">
<script src="${top}/assets/page.js" defer></script>
</head>
<body>
<a class="skip" href="#content">To the text</a>
<header>
<button id="menu-button" aria-controls="menu" aria-expanded="false">Menu</button>
<a class="home" href="${relativeTo(outputOf(file), 'index.html')}">kube-dns</a>
<input id="search" type="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off">
<button id="theme" aria-label="Light or dark">◐</button>
</header>
<div id="results" role="region" aria-label="Search results" hidden></div>
<div class="columns">
<nav id="menu" aria-label="Pages">
${menuOf(groups, pages, file)}
</nav>
<main id="content">
${html}</main>
<nav class="contents" aria-label="On this page">
${contentsOf(headings)}
</nav>
</div>
</body>
</html>
`;
}

function write(out, path, text) {
  mkdirSync(dirname(join(out, path)), { recursive: true });
  writeFileSync(join(out, path), text);
}

/**
 * Writes the site of a checkout into a folder, which is emptied first. Returns the paths of its pages in that folder.
 * Throws where a document that the menu names is not there.
 */
export function buildSite(root, out) {
  const documents = documentsBelow(root);
  const files = new Set([...documents, ...REFERENCES.map(({ file }) => file)]);
  const site = { root, files, assets: new Set() };
  const read = (file) => readFileSync(join(root, file), 'utf8');
  const markdownOf = new Map([
    ...documents.map((file) => [file, read(file)]),
    ...REFERENCES.map((reference) => [reference.file, referenceText(reference, read)]),
  ]);
  const pages = new Map(
    [...markdownOf].map(([file, text]) => [file, { file, ...render(site, file, text) }]),
  );
  const named = new Set(GROUPS.flatMap(([, each]) => each));
  const groups = [...GROUPS, ['Libraries', [...files].filter((file) => !named.has(file)).sort()]];

  rmSync(out, { recursive: true, force: true });
  for (const page of pages.values()) write(out, outputOf(page.file), htmlOf(page, groups, pages));
  for (const asset of site.assets) {
    mkdirSync(dirname(join(out, asset)), { recursive: true });
    copyFileSync(join(root, asset), join(out, asset));
  }
  const search = new MiniSearch(SEARCH_OPTIONS);
  search.addAll([...pages.values()].flatMap(partsOf));
  write(out, 'assets/search-index.js', `globalThis.searchIndex = ${JSON.stringify(search)};\n`);
  const library = readFileSync(
    resolve('minisearch').replace(/cjs\/index\.cjs$/, 'umd/index.js'),
    'utf8',
  );
  write(
    out,
    'assets/search.js',
    `${library.replace(/^\/\/# sourceMappingURL.*$/m, '')}\n${optionsScript()}`,
  );
  for (const name of ['page.css', 'page.js'])
    copyFileSync(join(THEME, name), join(out, 'assets', name));
  return [...files].map(outputOf);
}

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** Every file of a site below its folder, by its path as a URL has it. */
function filesBelow(folder, path = '') {
  return readdirSync(join(folder, path), { withFileTypes: true }).flatMap((entry) => {
    const here = posix.join(path, entry.name);
    return entry.isDirectory() ? filesBelow(folder, here) : [here];
  });
}

/** Serves a site on a free port of 127.0.0.1 and says where, until the process ends. No other file can be asked for. */
export async function serveSite(folder) {
  const files = new Set(filesBelow(folder));
  const server = createServer(({ url = '/' }, response) => {
    const [path] = url.slice(1).split(/[?#]/);
    const file = path === '' || path.endsWith('/') ? `${path}index.html` : path;
    if (!files.has(file)) response.writeHead(404).end('no such page\n');
    else {
      response.setHeader('Content-Type', TYPES[extname(file)] ?? 'text/plain');
      response.end(readFileSync(join(folder, file)));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.stdout.write(`docs: http://127.0.0.1:${server.address().port}/ until Ctrl-C\n`);
}
