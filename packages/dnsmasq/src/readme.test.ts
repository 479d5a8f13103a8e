import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parseFlags } from '@kube-dns/daemon';
import { isNannyFlag, NANNY_FLAGS, PROGRAM } from './config/flags.js';
import { splitArguments } from './options/argument-line.js';
import { OPTIONS } from './options/option-table.js';
import { parseOptions } from './options/parse-options.js';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** The first cells of the table whose first heading this is, without their backquotes. */
function firstCells(heading: string): string[] {
  const lines = readme.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} `)) + 2;
  const rows = lines.slice(start, lines.indexOf('', start));
  return rows.map((row) => row.split('|')[1]!.replaceAll('`', '').trim());
}

describe('the README', () => {
  it('has an example whose command line can be obeyed', () => {
    const [, script = ''] = readme.split('```sh\n');
    const line = script.split('\ndig')[0]!.replace('npx dnsmasq ', '').replaceAll('\\\n', ' ');
    const { nanny, dnsmasq } = splitArguments(line.split(/\s+/), isNannyFlag);
    expect(parseFlags(PROGRAM, nanny).values).toMatchObject({ restartDnsmasq: true });
    expect(parseOptions(dnsmasq)).toMatchObject({ port: 1053, cacheSize: 1000 });
    expect(parseOptions(dnsmasq).serverRules).toHaveLength(2);
  });

  it('has every option of dnsmasq’s half, in the order of its name', () => {
    const expected = OPTIONS.map(({ name, short }) =>
      short === '' ? `--${name}` : `-${short}, --${name}`,
    );
    expect(firstCells("dnsmasq's option")).toEqual(expected);
  });

  it('has every flag of the nanny’s half', () => {
    const flags = firstCells("Nanny's flag").slice(0, -1);
    const expected = Object.keys(NANNY_FLAGS).map((name) => `-${name}`);
    expect(flags.sort()).toEqual(expected.sort());
  });
});
