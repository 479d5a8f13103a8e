import { expect, it } from '@jest/globals';
import { readDnsmasqLine } from './pod-reader.js';

it.each([
  ['--cache-size=10 -k', ['cache-size=10', 'keep-in-foreground=']],
  ['--log-dhcp --server=10.0.0.1', ['log-dhcp=', 'server=10.0.0.1']],
  ['--upstream-cookies --port 54', ['upstream-cookies=', 'port=54']],
  ['-q -c 10', ['log-queries=', 'cache-size=10']],
  ['-qkc10', ['log-queries=', 'keep-in-foreground=', 'cache-size=10']],
  ['--dhcp-range 10.0.0.1 -K', ['dhcp-range=10.0.0.1', 'dhcp-authoritative=']],
])('the options of %s have the values that dnsmasq gives them', (line, options) => {
  const read = readDnsmasqLine(line.split(' '));
  expect(read.map(({ name, value }) => `${name}=${value}`)).toEqual(options);
});
