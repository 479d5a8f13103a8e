import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { FLAGS } from '../src/config/flags.js';
import { PLUGINS, REFUSED } from '../src/corefile/plugin-table.js';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

describe('the README', () => {
  it('lists every flag with its default', () => {
    const table = README.slice(README.indexOf('## Flags'), README.indexOf('## The Corefile'));
    const rows = [...table.matchAll(/^\| `-(\S+)` +\| (?:`([^`]*)`)? +\|/gm)];
    const defined = Object.entries(FLAGS).map(([name, flag]) => {
      const text = flag.formatDefault?.(flag.initial as never) ?? '';
      return [name, text.replaceAll('"', '')];
    });
    expect(rows.map(([, name, text = '']) => [name, text])).toEqual(defined);
  });

  it('lists every directive of the Corefile that is obeyed or refused', () => {
    const section = README.split('## The Corefile')[1]?.split('\n## ')[0] ?? '';
    const rows = [...section.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name);
    expect(rows).toEqual([...PLUGINS.keys()]);
    const missing = [...REFUSED.keys()].filter((name) => !section.includes(`\`${name}\``));
    expect(missing).toEqual([]);
  });
});
