import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';

/** What a title of a test, and a row of the table, begin with. */
const ID = /\b(attack|finding|outsider) (\d+)\b/;
const TEST_FILE = /`(packages\/[^`]+\.test\.ts)`/g;
const HEADING = '## Attacks and their tests';

interface Row {
  readonly id: string;
  readonly files: readonly string[];
}

function rowsOfTable(): readonly Row[] {
  const [, section = ''] = readFileSync(`${ROOT}SECURITY.md`, 'utf8').split(`${HEADING}\n`);
  return section
    .split(/^## /m)[0]!
    .split('\n')
    .filter((line) => /^\| (attack|finding|outsider) \d/.test(line))
    .map((line) => ({
      id: ID.exec(line)![0],
      files: [...line.matchAll(TEST_FILE)].map(([, file = '']) => file),
    }));
}

function testFiles(): readonly string[] {
  return readdirSync(`${ROOT}packages`).flatMap((name) =>
    ['src', 'test'].flatMap((folder) => {
      try {
        const files = readdirSync(join(ROOT, 'packages', name, folder), { recursive: true });
        return (files as string[])
          .filter((file) => file.endsWith('.test.ts'))
          .map((file) => join('packages', name, folder, file));
      } catch {
        return []; // a package without tests of this kind
      }
    }),
  );
}

/** The ids that titles of tests in a file begin with. */
function titlesOf(file: string): ReadonlySet<string> {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const titles = text.matchAll(/['"`](?:[^'"`\n]*\W)?((?:attack|finding|outsider) \d+): /g);
  return new Set([...titles].map(([, id = '']) => id));
}

const rows = rowsOfTable();

describe('the table of attacks', () => {
  it('has each row once', () => {
    expect(rows.length).toBeGreaterThan(20);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  });

  it.each(rows.filter(({ files }) => files.length > 0))(
    'names files that have tests of $id by this title',
    ({ id, files }) => {
      for (const file of files) expect([file, titlesOf(file).has(id)]).toEqual([file, true]);
    },
  );

  it('has a row for each attack and finding that has a test', () => {
    const tested = testFiles().flatMap((file) => [...titlesOf(file)]);
    const missing = tested.filter((id) => !rows.some((row) => row.id === id));
    expect(missing).toEqual([]);
  });
});
