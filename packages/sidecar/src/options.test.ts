import { describe, expect, it } from '@jest/globals';

import { parseFlags, UsageError } from '@kube-dns/base';
import { FLAGS, readOptions } from './options.js';

const program = { name: 'sidecar', version: '1', summary: '', flags: FLAGS };
const read = (...argv: string[]) => readOptions(parseFlags(program, argv).values);

describe('readOptions', () => {
  it('has the defaults of the original', () => {
    expect(read()).toEqual({
      dnsmasq: { host: '127.0.0.1', port: 53 },
      pollIntervalMs: 5_000,
      probes: [],
      httpHost: '0.0.0.0',
      httpPort: 10_054,
      metricsPath: '/metrics',
      namespace: 'kubedns',
      showsStatus: false,
    });
  });

  it('reads the arguments of the stock manifest', () => {
    const { probes } = read(
      '--v=2',
      '--logtostderr',
      '--probe=kubedns,127.0.0.1:10053,kubernetes.default.svc.cluster.local,5,SRV',
      '--probe=dnsmasq,127.0.0.1:53,kubernetes.default.svc.cluster.local,5,SRV',
    );
    expect(probes.map(({ label, server }) => [label, server.port])).toEqual([
      ['kubedns', 10_053],
      ['dnsmasq', 53],
    ]);
  });

  it.each([
    ['::1', '::1'],
    ['[::1]', '::1'],
    ['dnsmasq.local', 'dnsmasq.local'],
  ])('finds dnsmasq at %s', (address, host) => {
    expect(read(`--dnsmasq-addr=${address}`, '--dnsmasq-port=54').dnsmasq).toEqual({
      host,
      port: 54,
    });
  });

  it('accepts an empty namespace', () => {
    expect(read('--prometheus-namespace=').namespace).toBe('');
  });

  it.each([
    [['--probe=a,b,c', '--probe=b,b,c', '--probe=a,c,d'], '--probe: label a is used twice'],
    [['--probe=a,b,c,0'], '--probe=a,b,c,0: the interval must be whole seconds from 1 to 2147483'],
    [
      ['--dnsmasq-poll-interval-ms=0'],
      '--dnsmasq-poll-interval-ms=0: must be a whole number from 1 to 2147483647',
    ],
    [['--prometheus-path=/healthz'], '--prometheus-path=/healthz: this path is taken'],
    [
      ['--probe=a,b,c', '--prometheus-path=/healthcheck/a'],
      '--prometheus-path=/healthcheck/a: this path is taken',
    ],
    [['--prometheus-path='], '--prometheus-path=: must be a path that starts with /'],
    [['--prometheus-path=/a?b'], '--prometheus-path=/a?b: must be a path that starts with /'],
    [['--prometheus-namespace=1x'], '--prometheus-namespace=1x: metric names cannot begin with it'],
    [['--dnsmasq-addr=a b'], '--dnsmasq-addr=a b: "a b" is not a host'],
  ])('refuses %j', (argv, message) => {
    expect(() => read(...argv)).toThrow(expect.objectContaining({ message }));
    expect(() => read(...argv)).toThrow(UsageError);
  });
});
