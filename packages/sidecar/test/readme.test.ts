import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from '@jest/globals';

import { parseFlags } from '@kube-dns/daemon';

import { FLAGS } from '../src/flags.js';
import { readOptions } from '../src/options.js';

const readme = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8');
const program = { name: 'sidecar', version: '1', summary: '', flags: FLAGS };

describe('README', () => {
  it('lists every flag with its default', () => {
    const rows = [...readme.matchAll(/^\| `--(\S+)`\s*\|\s*(?:`([^`]*)`)?\s*\|/gm)];
    const documented = rows.map(([, name, text = '']) => `${name}=${text}`);
    const actual = Object.entries(FLAGS).map(([name, { initial }]) =>
      typeof initial === 'object' ? `${name}=` : `${name}=${initial}`,
    );
    expect(documented).toEqual(actual);
  });

  it('shows a command line that works', () => {
    const command = /npx sidecar ([^]*?)\ncurl/.exec(readme)![1]!;
    const argv = command.split(/[\s\\]+/);
    const { probes, dnsmasq } = readOptions(parseFlags(program, argv).values);
    expect(probes.map(({ label }) => label)).toEqual(['kubedns', 'dnsmasq']);
    expect(dnsmasq.port).toBe(1_053);
  });
});
