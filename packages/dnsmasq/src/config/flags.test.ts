import { describe, expect, it } from '@jest/globals';
import { parseFlags } from '@kube-dns/base';
import { PROGRAM, splitArguments } from './flags.js';

const split = (line: string) => splitArguments(line.split(' ').filter(Boolean));
const halves = (nanny: string, dnsmasq: string) => ({
  nanny: nanny.split(' ').filter(Boolean),
  dnsmasq: dnsmasq.split(' ').filter(Boolean),
});

describe('a line with --', () => {
  it.each([
    ['-v=2 -logtostderr -- -k --cache-size=1000', '-v=2 -logtostderr', '-k --cache-size=1000'],
    ['-- -k', '', '-k'],
    ['-v=2 --', '-v=2', ''],
    ['--', '', ''],
    ['-configDir=/x -- -k -- junk', '-configDir=/x', '-k -- junk'],
    ['-k -- -N', '-k', '-N'],
  ])('gives what is before the first one to the nanny: %s', (line, nanny, dnsmasq) => {
    expect(split(line)).toEqual(halves(nanny, dnsmasq));
  });
});

describe('a line without --', () => {
  it.each([
    '',
    '-v=2',
    '-v2 -configDir=/x',
    '--v 2',
    '-configDir /x',
    '--restartDnsmasq',
    '-logInterval=10s',
    '-log_dir=/tmp -v=2',
    '--log-dir=/tmp',
    '-skip_headers',
    '-alsologtostderr',
    '--help',
    '-h',
    '--version=raw',
    '-metric-addr=:1',
    '--metric-addr=:1',
    '-sync-interval=5s',
    '--confgDir=/x',
    '-k -metrics-addr=:1',
    '--no-resolv --metric-addr=:1',
  ])(
    'is the nanny’s when it starts with one of its flags, or has one that is mistyped: %s',
    (line) => {
      expect(split(line)).toEqual(halves(line, ''));
    },
  );

  it.each([
    '--cache-size=1000 --no-resolv --server=127.0.0.1#10053 --log-facility=-',
    '-k',
    '--no-such-option',
    '-vk',
    'junk',
    '-',
    '--constructor',
    '--conf-drr=/x',
    '--log-facility=-',
    '--log-queries',
    '-p5353 -c1000 -S/a.b/192.0.2.1#53 -C/etc/dnsmasq.conf -ulocal -xpath',
  ])('is dnsmasq’s when it starts with anything else: %s', (line) => {
    expect(split(line)).toEqual(halves('', line));
  });
});

const read = (...argv: string[]) => parseFlags(PROGRAM, argv).values['metrics-addr'];

describe('--metrics-addr', () => {
  it('is off unless it is given', () => {
    expect(read()).toBeNull();
    expect(read('--metrics-addr=:9153', '--metrics-addr=')).toBeNull();
  });

  it.each([
    [':9153', '', 9_153],
    ['127.0.0.1:0', '127.0.0.1', 0],
    ['[::1]:9153', '::1', 9_153],
  ])('is read from %s', (text, host, port) => {
    expect(read(`--metrics-addr=${text}`)).toEqual({ host, port });
  });

  it.each([
    ['127.0.0.1', 'the port is missing'],
    ['::1', 'the port is missing'],
    [':http', 'port "http" is not a number up to 65535'],
  ])('refuses %s', (text, reason) => {
    const message = `--metrics-addr=${text}: ${reason}`;
    expect(() => read(`--metrics-addr=${text}`)).toThrow(expect.objectContaining({ message }));
  });
});
