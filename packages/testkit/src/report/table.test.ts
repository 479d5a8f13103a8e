import { describe, expect, it } from '@jest/globals';
import { markdownTable } from './table.js';

describe('a table of Markdown', () => {
  it('has columns as wide as what is in them', () => {
    const table = markdownTable(['server', ''], [['dnsmasq', '1'], ['x']]);
    expect(table.split('\n')).toEqual([
      '| server  |     |',
      '| ------- | --- |',
      '| dnsmasq | 1   |',
      '| x       |     |',
      '',
    ]);
  });

  it('is not broken by what is in it', () => {
    const [, , row] = markdownTable(['a'], [['x | y\nz']]).split('\n');
    expect(row).toBe('| x \\| y z |');
  });
});
