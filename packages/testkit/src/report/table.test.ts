import { describe, expect, it } from '@jest/globals';
import { markdownTable } from './table.js';

describe('a table of Markdown', () => {
  it('has columns as wide as their cells', () => {
    const table = markdownTable(['server', ''], [['dnsmasq', '1'], ['x']]);
    expect(table.split('\n')).toEqual([
      '| server  |     |',
      '| ------- | --- |',
      '| dnsmasq | 1   |',
      '| x       |     |',
      '',
    ]);
  });

  it('is not broken by the text of its cells', () => {
    const [, , row] = markdownTable(['a'], [['x | y\nz']]).split('\n');
    expect(row).toBe('| x \\| y z |');
  });
});
