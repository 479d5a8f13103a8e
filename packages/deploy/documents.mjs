// `npm run docs` writes what the documents repeat from the code, and the site of them; with --check it says what differs.
// Such a part stands between `<!-- table: NAME -->` or `<!-- names: NAME -->` and `<!-- end -->`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DOCUMENTS } from './document-tables.mjs';

const PART = /^<!-- (table|names): ([\w-]+) -->\n(.*?)^<!-- end -->$/gms;

const cellsOf = (line) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
const tableIn = (text) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map(cellsOf);

/** A table as the code has it, and what only a person can mend. */
function checkTable(text, rowsFrom) {
  const [head = [], , ...present] = tableIn(text);
  const rows = rowsFrom(present).map((row) => head.map((_, column) => row[column] ?? ''));
  const gone = present.filter(([key]) => !rows.some(([name]) => name === key));
  const wrong = [
    ...gone.map(([key]) => `the code has no ${key}`),
    ...rows.filter((row) => row.at(-1) === '').map(([key]) => `${key} has no description`),
  ];
  const lines = [head, head.map(() => '-'), ...rows].map((row) => `| ${row.join(' | ')} |\n`);
  return {
    wrong,
    written: JSON.stringify(rows) === JSON.stringify(present) ? text : lines.join(''),
  };
}

/** The names in a part, or in a column of its table: those that must be there, and those that may. */
function checkNames(text, { needed, known, pattern = /`([\w-]+)`/g, column }) {
  const [, , ...rows] = tableIn(text);
  const searched = column === undefined ? text : rows.map((row) => row[column]).join('\n');
  const shown = [...searched.matchAll(pattern)].map(([, name]) => name);
  const wrong = [
    ...needed.filter((name) => !shown.includes(name)).map((name) => `${name} is not named`),
    ...shown.filter((name) => known?.includes(name) === false).map((name) => `there is no ${name}`),
    ...(shown.length === 0 ? ['no name is found'] : []),
  ];
  return { wrong, written: text };
}

const [first, folder] = process.argv.slice(2);
if (first?.startsWith('-') && !['--check', '--open'].includes(first)) {
  process.stderr.write(`usage: npm run docs [-- --check | --open] [FOLDER]

Writes what the documents repeat from the code: names, types, defaults and other columns; descriptions stay as
people wrote them. Then it makes the site of all documents, dist/site/index.html. With --check it only says what
differs, with FOLDER it writes the documents of another checkout, without a site; --open serves the site here.
`);
  process.exit(['-h', '--help'].includes(first) ? 0 : 2);
}
const isCheck = first === '--check';
const here = fileURLToPath(new URL('../..', import.meta.url));
const root = (first?.startsWith('-') ? folder : first) ?? here;

const say = (text) => process.stdout.write(`${text}\n`);

function complain(text) {
  say(text);
  process.exitCode = 1;
}

/** Says what is wrong in a document; returns its text with the tables as the code has them. */
function checkDocument(document, text, parts) {
  const missing = new Set(Object.keys(parts));
  const checked = text.replace(PART, (whole, kind, name, part) => {
    if (!missing.delete(name)) complain(`${document}: ${name} is not known, or there twice`);
    if (parts[name] === undefined) return whole;
    const { wrong, written } = (kind === 'table' ? checkTable : checkNames)(part, parts[name]);
    const differs = `${document}: the table ${name} is not what the code says`;
    if (written !== part && isCheck) complain(`${differs}, run npm run docs`);
    else if (written !== part) say(`${differs}, it is written now`);
    for (const each of wrong) complain(`${document}: ${name}: ${each}`);
    return written === part ? whole : whole.replace(part, () => `\n${written}\n`);
  });
  for (const name of missing) complain(`${document}: ${name} is missing`);
  return checked;
}

for (const [document, parts] of Object.entries(DOCUMENTS)) {
  const file = join(root, document);
  const text = readFileSync(file, 'utf8');
  const checked = checkDocument(document, text, parts);
  if (isCheck || checked === text) continue;
  const { format, resolveConfig } = await import('prettier');
  const config = await resolveConfig(fileURLToPath(import.meta.url));
  writeFileSync(file, await format(checked, { ...config, parser: 'markdown' }));
}
const count = Object.values(DOCUMENTS).flatMap((parts) => Object.keys(parts)).length;
if (process.exitCode === undefined)
  say(`docs: ${count} parts of the documents are what the code says`);

if (root === here && !isCheck) {
  const { buildSite, serveSite } = await import('@kube-dns/docs');
  const site = join(root, 'dist/site');
  say(`docs: ${buildSite(root, site).length} pages, dist/site/index.html`);
  if (first === '--open') await serveSite(site);
}
