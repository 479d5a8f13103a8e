import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { FLAGS } from '../src/config/flags.js';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

describe('the README', () => {
  it('lists every flag with its default', () => {
    const table = README.slice(README.indexOf('## Flags'), README.indexOf('## What differs'));
    const rows = [...table.matchAll(/^\| `-(\S+)` +\| (?:`([^`]*)`)? +\|/gm)];
    const defined = Object.entries(FLAGS).map(([name, flag]) => {
      const text = flag.formatDefault?.(flag.initial as never) ?? '';
      return [name, text.replaceAll('"', '')];
    });
    expect(rows.map(([, name, text = '']) => [name, text])).toEqual(defined);
  });
});
