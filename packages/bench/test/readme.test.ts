import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { KUBEDNS_CHANGES } from '../src/commands/kubedns-changes.js';
import { KUBEDNS_QUERIES } from '../src/commands/kubedns-queries.js';
import { KUBEDNS_SCALE } from '../src/commands/kubedns-scale.js';

const COMMANDS = [KUBEDNS_SCALE, KUBEDNS_CHANGES, KUBEDNS_QUERIES];

describe('the README', () => {
  it('names the commands that there are', async () => {
    const readme = await readFile('README.md', 'utf8');
    const named = [...readme.matchAll(/^\| `(kubedns-\w+)`/gm)].map(([, name]) => name);
    expect(named).toEqual(COMMANDS.map(({ name }) => name));
  });

  it('names options that all commands have', async () => {
    const readme = await readFile('README.md', 'utf8');
    const table = /\| Option(.*?)\n\n/s.exec(readme)?.[1] ?? '';
    const cells = [...table.matchAll(/^\|([^|]*)\|/gm)].map(([, cell = '']) => cell).join(' ');
    const names = [...cells.matchAll(/--([a-z][a-z-]*)/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(8);
    for (const { options } of COMMANDS) {
      expect(names.filter((name) => !(name in options))).toEqual([]);
    }
  });
});
