import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { ownedBy, TemporaryFolder } from '@kube-dns/testkit';
import { ROOT } from '../support/root.js';
import { DOCUMENTS, read } from './documents.js';

const KUBEDNS = 'packages/kubedns/README.md';
const NODE_CACHE = 'packages/node-cache/README.md';
const own = ownedBy(afterEach);

/** The lines that `npm run docs` writes with these arguments. */
function docs(...args: string[]): string[] {
  const command = [join(ROOT, 'packages/deploy/documents.mjs'), ...args];
  const { stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  return `${stdout}${stderr}`.split('\n').slice(0, -1);
}

it('every table and list of names between marks is what the code says', () => {
  const all = /^docs: \d+ parts of the documents are what the code says$/;
  expect(docs('--check')).toEqual([expect.stringMatching(all)]);
});

it('npm run docs refuses an option that it does not have, with its usage', () => {
  expect(docs('--chek')[0]).toBe('usage: npm run docs [-- --check | --open] [FOLDER]');
});

it('npm run docs names what is wrong, writes it, and keeps what people wrote', () => {
  const { path } = own(new TemporaryFolder());
  for (const file of DOCUMENTS) cpSync(join(ROOT, file), join(path, file));
  const change = (file: string, from: RegExp, to: string) =>
    writeFileSync(join(path, file), read(file).replace(from, to));
  const ofBoth = (line: string) => line.startsWith(KUBEDNS) || line.startsWith(NODE_CACHE);

  change(KUBEDNS, /(`--drain-time` +\| )`5s`/, '$1`6s`');
  change(NODE_CACHE, /^\| `-quiet`.*\n|^<!-- names: node-cache-refused -->$/gm, '');
  const written = 'is not what the code says, it is written now';
  expect(docs(path).filter(ofBoth)).toEqual([
    `${KUBEDNS}: the table kubedns-flags ${written}`,
    `${NODE_CACHE}: the table node-cache-flags ${written}`,
    `${NODE_CACHE}: node-cache-flags: \`-quiet\` has no description`,
    `${NODE_CACHE}: node-cache-refused is missing`,
  ]);
  expect(readFileSync(join(path, KUBEDNS), 'utf8')).toBe(read(KUBEDNS));
  expect(readFileSync(join(path, NODE_CACHE), 'utf8')).toMatch(
    /^\| `-quiet` {2,}\| {5,}\| {5,}\|$/m,
  );
});
