import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { DNS } from '../src/commands/dns.js';
import { DNSMASQ_LOAD } from '../src/commands/dnsmasq-load.js';
import { KUBEDNS_CHANGES } from '../src/commands/kubedns-changes.js';
import { KUBEDNS_QUERIES } from '../src/commands/kubedns-queries.js';
import { KUBEDNS_SCALE } from '../src/commands/kubedns-scale.js';
import { NODE_CACHE } from '../src/commands/node-cache.js';
import { PAGE } from '../src/commands/page.js';
import { POD_CHANGES } from '../src/commands/pod-changes.js';
import { QUERY_LOG } from '../src/commands/query-log.js';
import { SUBSCRIPTION_COST } from '../src/commands/subscription-cost.js';
import { PARTS, WORKLOADS } from '../src/workloads/workload-table.js';

const ABOUT_KUBEDNS = [KUBEDNS_SCALE, KUBEDNS_CHANGES, KUBEDNS_QUERIES];
const ABOUT_LOAD = [DNS, DNSMASQ_LOAD];
const ABOUT_NODE_CACHE = [NODE_CACHE];
const ABOUT_SUBSCRIPTIONS = [POD_CHANGES, QUERY_LOG, SUBSCRIPTION_COST];
const ABOUT_PAGE = [PAGE];

/** The names of options in the first column of the table that begins so. */
function optionsNamed(readme: string, head: string): readonly string[] {
  const [, table = ''] = new RegExp(`\\| ${head} (.*?)\n\n`, 's').exec(readme) ?? [];
  const cells = [...table.matchAll(/^\|([^|]*)\|/gm)].map(([, cell = '']) => cell).join(' ');
  return [...cells.matchAll(/--([a-z][a-z-]*)/g)].map(([, name = '']) => name);
}

describe('the README', () => {
  it('names the commands that there are', async () => {
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
    const table = /\| Command .*?\n\n/s.exec(readme)?.[0] ?? '';
    const named = [...table.matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name);
    const commands = [ABOUT_LOAD, ABOUT_KUBEDNS, ABOUT_NODE_CACHE, ABOUT_SUBSCRIPTIONS, ABOUT_PAGE];
    expect(named).toEqual(commands.flat().map(({ name }) => name));
  });

  it('names the workloads that there are', async () => {
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
    const table = /\| Workload .*?\n\n/s.exec(readme)?.[0] ?? '';
    const named = [...table.matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name);
    expect(named).toEqual([...WORKLOADS, ...PARTS].map(({ name }) => name));
  });

  it.each([
    ['Option of kubedns-…', ABOUT_KUBEDNS],
    ['Option of both', ABOUT_LOAD],
    ['Option of dns', [DNS]],
  ])('names options in "%s" that all these commands have', async (head, commands) => {
    const names = optionsNamed(await readFile(new URL('../README.md', import.meta.url), 'utf8'), head);
    expect(names.length).toBeGreaterThan(6);
    for (const { options } of commands) {
      expect(names.filter((name) => !(name in options))).toEqual([]);
    }
  });

  it.each([...ABOUT_NODE_CACHE, ...ABOUT_SUBSCRIPTIONS])(
    'names options in "Option of $name" that it has',
    async (command) => {
      const names = optionsNamed(await readFile(new URL('../README.md', import.meta.url), 'utf8'), `Option of ${command.name}`);
      expect(names.length).toBeGreaterThan(3);
      expect(names.filter((name) => !(name in command.options))).toEqual([]);
    },
  );

  it('names every option of page that dns does not have', async () => {
    const names = optionsNamed(await readFile(new URL('../README.md', import.meta.url), 'utf8'), 'Option of page');
    const own = Object.keys(PAGE.options).filter((name) => !(name in DNS.options));
    expect(names).toEqual(['only', ...own]);
  });

  it('names every option of the load', async () => {
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
    const named = ['Option of both', 'Option of dns'].flatMap((head) => optionsNamed(readme, head));
    expect(new Set(named)).toEqual(new Set(Object.keys(DNS.options)));
  });
});
