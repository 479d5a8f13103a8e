import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const ROOT = new URL('../../../', import.meta.url);
const text = readFileSync(new URL('ARCHITECTURE.md', ROOT), 'utf8');

/** The rows of tables that name files and, in their last cell, what is found there. */
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('|') && line.includes('packages/'))
  .map((line) => ({
    files: [...line.matchAll(/packages\/[\w./-]+\.(?:ts|md)/g)].map(([file]) => file),
    name: /`(\w+)` *\|$/.exec(line)?.[1] ?? '',
  }));

describe('ARCHITECTURE.md', () => {
  it('has five journeys and a table of where to add something', () => {
    expect(text.match(/^## Journey \d/gm)).toHaveLength(5);
    expect(rows.length).toBeGreaterThan(40);
  });

  it.each(rows)('names a file and what it defines: $files $name', ({ files, name }) => {
    expect(files.filter((file) => !existsSync(new URL(file, ROOT)))).toEqual([]);
    expect(name).not.toBe('');
    const sources = files.map((file) => readFileSync(new URL(file, ROOT), 'utf8'));
    const definition = new RegExp(
      `\\b(?:class|function|const|interface) ${name}\\b|^ +(?:async |#)?${name}[(:]|^ +${name}: `,
      'm',
    );
    expect(sources.some((source) => definition.test(source))).toBe(true);
  });

  it('draws every package', () => {
    const packages = [...text.matchAll(/^ {2}([\w-]+)\/ /gm)].map(([, name]) => name);
    expect(packages.every((name) => existsSync(new URL(`packages/${name!}/`, ROOT)))).toBe(true);
    expect(packages).toHaveLength(15);
  });
});
