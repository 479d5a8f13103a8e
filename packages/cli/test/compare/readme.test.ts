import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { COMPARE_FLAGS, compareUsage } from '../../src/compare/options.js';
import { ASPECTS } from '../../src/compare/verdict/compare-replies.js';
import { KNOWN_CLASSES } from '../../src/compare/verdict/known-classes.js';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** The rows of the table below a heading: the first two cells of each, without backquotes. */
function rowsBelow(heading: string): string[][] {
  const [, below = ''] = README.split(`\n${heading}\n`);
  const section = below.split(/\n#+ /, 1)[0] ?? '';
  const rows = [...section.matchAll(/^\| `(.+?)` +\| (.*?) *\|/gm)];
  return rows.map(([, first = '', second = '']) => [first, second.replaceAll('`', '')]);
}

describe('the README on compare', () => {
  it('has every flag with its default', () => {
    const rows = rowsBelow('## Flags of `kube-dns compare`');
    const defined = Object.entries(COMPARE_FLAGS)
      .filter(([name]) => name !== 'help')
      .map(([name, flag]) => [
        'value' in flag ? `--${name} ${flag.value}` : `--${name}`,
        'initial' in flag ? flag.initial : '',
      ]);
    expect(rows).toEqual(defined);
  });

  it('has every class of differences', () => {
    const names = rowsBelow('### What differs').map(([name]) => name);
    expect(names).toEqual([...Object.keys(KNOWN_CLASSES), ...Object.keys(ASPECTS)]);
  });
});

describe('the usage', () => {
  it('fits a terminal', () => {
    expect(
      compareUsage()
        .split('\n')
        .filter((line) => line.length > 100),
    ).toEqual([]);
  });
});
