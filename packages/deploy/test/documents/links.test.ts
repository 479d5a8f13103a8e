import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { DOCUMENTS, read } from './documents.js';

const FENCED = /^```.*?^```$/gms;

/** The anchors that GitHub makes of the headings of a document. */
function anchorsOf(document: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of read(document)
    .replace(FENCED, '')
    .matchAll(/^#+ (.*)$/gm)) {
    const text = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}_\s-]/gu, '');
    const anchor = text.replaceAll(/\s/g, '-');
    const repeated = [...anchors].filter((other) => other.replace(/-\d+$/, '') === anchor).length;
    anchors.add(repeated === 0 ? anchor : `${anchor}-${repeated}`);
  }
  return anchors;
}

/** What all documents have that this finds, with the document. */
function inDocuments(pattern: RegExp, isWrong: (document: string, found: string) => boolean) {
  let count = 0;
  const wrong = DOCUMENTS.flatMap((document) =>
    [...read(document).matchAll(pattern)]
      .map(([whole, found = whole]) => found)
      .filter((found) => ++count > 0 && isWrong(document, found))
      .map((found) => `${document}: ${found}`),
  );
  return { count, wrong };
}

it('every link of the documents leads to a file that is there, and to a heading in it', () => {
  const { count, wrong } = inDocuments(/\]\((?!https?:)([^)]*)\)/g, (document, link) => {
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? document : join(dirname(document), path);
    if (!existsSync(join(ROOT, file))) return true;
    return anchor !== undefined && !anchorsOf(file).has(anchor);
  });
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(100);
});

it('every file of the checkout that they name is there', () => {
  const path = /(?<![\w/.(-])(?:packages|images|manifests|\.ci)\/(?:[\w.-]+\/?)*\w/g;
  const { count, wrong } = inDocuments(
    path,
    (_, file) => !file.includes('NAME') && !existsSync(join(ROOT, file)),
  );
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(100);
});

it('every script that they run is in a package.json', () => {
  const packages = ['', 'packages/wire/'].map((folder) => read(`${folder}package.json`));
  const names = packages.flatMap((text) =>
    Object.keys((JSON.parse(text) as { scripts: object }).scripts),
  );
  const { wrong } = inDocuments(/npm run ([\w:-]+)/g, (_, name) => !names.includes(name));
  expect(wrong).toEqual([]);
});

const STEPS = read('ARCHITECTURE.md')
  .split('\n')
  .filter((line) => line.startsWith('|') && line.includes('packages/'))
  .map((line) => ({
    files: line.match(/packages\/[\w./-]+\.ts/g) ?? [],
    name: /`(\w+)` *\|$/.exec(line)?.[1] ?? 'no name',
  }));

it('every name of a step in ARCHITECTURE.md is in one of its files', () => {
  const isNamed = (name: string) => (file: string) => new RegExp(`\\b${name}\\b`).test(read(file));
  expect(STEPS.filter(({ files, name }) => !files.some(isNamed(name)))).toEqual([]);
  expect(STEPS.length).toBeGreaterThan(40);
});
