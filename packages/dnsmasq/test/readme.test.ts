import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parseFlags } from '@kube-dns/daemon';
import { isMeantForNanny, isNannyFlag, NANNY_FLAGS, PROGRAM } from '../src/config/flags.js';
import { metricFamilies, type MetricSources } from '../src/metrics/metric-families.js';
import { splitArguments } from '../src/options/argument-line.js';
import { KNOWN_OPTIONS } from '../src/options/find-option.js';
import { UNSUPPORTED_OPTIONS } from '../src/options/unsupported-options.js';
import { parseOptions } from '../src/options/parse-options.js';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** Reasons why an option is refused that has nothing to do with DNS. */
const OTHER_REASONS = new Set(['DHCP, TFTP and router advertisement', 'D-Bus and ubus']);

/** The first cells of each row of the table whose first heading this is, without their backquotes. */
function cells(heading: string, count = 1): string[] {
  const lines = readme.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} `)) + 2;
  const rows = lines.slice(start, lines.indexOf('', start));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, 1 + count)
      .map((cell) => cell.replaceAll('`', '').trim())
      .join(' '),
  );
}

describe('the README', () => {
  it('has an example with a valid command line', () => {
    const [, script = ''] = readme.split('```sh\n');
    const line = script.split('\ndig')[0]!.replace('npx dnsmasq ', '').replaceAll('\\\n', ' ');
    const { nanny, dnsmasq } = splitArguments(line.split(/\s+/), isNannyFlag, isMeantForNanny);
    expect(parseFlags(PROGRAM, nanny).values).toMatchObject({ restartDnsmasq: true });
    expect(parseOptions(dnsmasq)).toMatchObject({ port: 1053, cacheSize: 1000 });
    expect(parseOptions(dnsmasq).serverRules).toHaveLength(2);
  });

  it('has every DNS option of dnsmasq, in the order of its name, with yes or no', () => {
    const spelling = ({ name, short }: { name: string; short: string }) =>
      short === '' ? `--${name}` : `-${short}, --${name}`;
    const refused = UNSUPPORTED_OPTIONS.filter(({ reason }) => !OTHER_REASONS.has(reason));
    const expected = [
      ...KNOWN_OPTIONS.map((option) => ({ name: option.name, row: `${spelling(option)} yes` })),
      ...refused.map((option) => ({ name: option.name, row: `${spelling(option)} no` })),
    ].sort((one, other) => (one.name < other.name ? -1 : 1));
    expect(cells("dnsmasq's option", 2)).toEqual(expected.map(({ row }) => row));
  });

  it('has every other option of dnsmasq, by the reason why it is refused', () => {
    expect(cells('Refused because of')).toEqual([...OTHER_REASONS]);
    for (const { name } of UNSUPPORTED_OPTIONS) expect(readme).toMatch(`--${name}\``);
  });

  it('has every metric with its type and labels', () => {
    const families = metricFamilies({} as MetricSources);
    const expected = families.map(({ name, type, labelNames = [] }) =>
      [name, type, labelNames.join(', ')].join(' ').trim(),
    );
    expect(cells('Metric', 3).map((row) => row.trim())).toEqual(expected);
  });

  it('has every flag of the nanny’s half', () => {
    const flags = cells("Nanny's flag").slice(0, -1);
    const expected = Object.keys(NANNY_FLAGS).map((name) => `-${name}`);
    expect(flags.sort()).toEqual(expected.sort());
  });
});
