// `npm run cycles`, a part of `npm run lint`: no file of packages/ may import itself over other files. Type imports
// count, too: a reader has to open both files all the same. (Linters and knip leave type imports out.)
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import ts from 'typescript';

const root = join(import.meta.dirname, '../..');

/** The file of this house that an import names; undefined for Node's modules and other packages. */
function resolve(file, specifier) {
  if (specifier.startsWith('.')) {
    return join(dirname(file), specifier).replace(/\.js$/, '.ts');
  }
  const [, name, entry] = /^@kube-dns\/([^/]+)(?:\/(.+))?$/.exec(specifier) ?? [];
  if (name === undefined) return undefined;
  const { exports } = JSON.parse(
    readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'),
  );
  const target = exports?.[entry === undefined ? '.' : `./${entry}`];
  return (
    target && join('packages', name, target.default.replace('dist', 'src').replace(/js$/, 'ts'))
  );
}

const imports = new Map();
const SOURCES = /^[^/]+\/(src|test)\/.*\.ts$/;
for (const path of readdirSync(join(root, 'packages'), { recursive: true })) {
  if (!SOURCES.test(path)) continue;
  const file = join('packages', path);
  const { importedFiles } = ts.preProcessFile(readFileSync(join(root, file), 'utf8'));
  imports.set(
    file,
    importedFiles.map(({ fileName }) => resolve(file, fileName)),
  );
}

/** The files from `file` on that lead back to it, shortest way first; undefined when none does. */
function cycleOf(file) {
  const ways = [[file]];
  const seen = new Set();
  for (const way of ways) {
    for (const next of imports.get(way.at(-1)) ?? []) {
      if (next === file) return way;
      if (!seen.has(next)) ways.push([...way, next]);
      seen.add(next);
    }
  }
  return undefined;
}

const reported = new Set();
for (const file of [...imports.keys()].sort()) {
  const cycle = reported.has(file) ? undefined : cycleOf(file);
  if (cycle === undefined) continue;
  for (const member of cycle) reported.add(member);
  process.stderr.write(`import cycle: ${[...cycle, file].join(' -> ')}\n`);
  process.exitCode = 1;
}
