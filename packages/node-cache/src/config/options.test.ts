import { describe, expect, it } from '@jest/globals';
import { parseFlags, UsageError } from '@kube-dns/base';
import { QUERY_LOG_OFF, StartupError } from '@kube-dns/daemon';
import { FLAGS, readOptions } from './options.js';

const PROGRAM = { name: 'node-cache', version: '1.2.3', summary: '', flags: FLAGS };
const read = (...argv: string[]) => readOptions(parseFlags(PROGRAM, argv).values);
const LOCAL = '-localip=169.254.20.10';

describe('the options', () => {
  it('have the original’s defaults', () => {
    expect(read(LOCAL)).toEqual({
      localAddresses: ['169.254.20.10'],
      queryLog: QUERY_LOG_OFF,
      dnstap: null,
      port: 53,
      healthPort: 8080,
      setsUpInterface: true,
      interfaceName: 'nodelocaldns',
      setup: 'auto',
      skipsTeardown: false,
      skipsTracking: true,
      syncIntervalMs: 60_000,
      guardPipe: '',
      drainMs: 5_000,
      reusesPort: false,
      maxTcpAgeMs: 600_000,
      udpEngine: 'auto',
      metricsAddress: { host: '0.0.0.0', port: 9353 },
      pidFile: '',
      snapshotFile: '',
      isQuiet: false,
      corefile: {
        templateFile: '/etc/coredns/Corefile.base',
        file: '/etc/Corefile',
        kubeDnsFolder: '',
        upstreamService: 'kube-dns',
        localAddresses: ['169.254.20.10'],
        port: 53,
        prometheusAddress: ':9253',
      },
    });
  });

  it('take the arguments of the addon’s manifest', () => {
    const argv =
      '-localip 169.254.20.10,10.96.0.10 -conf /etc/Corefile -upstreamsvc kube-dns-upstream';
    expect(read(...argv.split(' '), '-pidfile', '/run/node-cache.pid')).toMatchObject({
      localAddresses: ['169.254.20.10', '10.96.0.10'],
      pidFile: '/run/node-cache.pid',
      corefile: { file: '/etc/Corefile', upstreamService: 'kube-dns-upstream' },
    });
  });

  it('take addresses of both families together', () => {
    expect(read('-localip=169.254.20.10,fd00::a').localAddresses).toEqual([
      '169.254.20.10',
      'fd00::a',
    ]);
  });

  it.each([
    [[], '[FATAL] Error parsing flags - invalid localip specified - "", Exiting'],
    [['-localip=1.2.3.4, 1.2.3.5'], 'invalid localip specified - " 1.2.3.5"'],
    [['-localip=1.2.3.4,example.org'], 'invalid localip specified - "example.org"'],
    [['-localip=1.2.3.4,1.2.3.4'], 'localip specified twice - "1.2.3.4"'],
    [[LOCAL, '-dns.port=x'], '[FATAL] Error parsing flags - invalid port specified - "x", Exiting'],
    [[LOCAL, '-p=70000'], 'invalid port specified - "70000"'],
    [[LOCAL, '-health-port=0'], 'invalid healthcheck port specified - "0"'],
  ])('end the start with the original’s words for %j', (argv, message) => {
    expect(() => read(...argv)).toThrow(StartupError);
    expect(() => read(...argv)).toThrow(message);
  });

  it.each([
    [['-interfacename=a/b'], '--interfacename=a/b: must be 1 to 15 characters'],
    [['-metrics-listen-address=9353'], '--metrics-listen-address=9353: the port is missing'],
    [['--setup=nft', '-setupiptables=false'], '--setup=nft and --setupiptables=false exclude'],
    [['-syncinterval=0'], '--syncinterval=0: must be a second at least'],
    [['-syncinterval=soon'], '--syncinterval=soon: must be a duration'],
    [['--setup=ebpf'], '--setup=ebpf: must be one of auto, nft, iptables, none'],
  ])('refuse %j', (argv, message) => {
    expect(() => read(LOCAL, ...argv)).toThrow(UsageError);
    expect(() => read(LOCAL, ...argv)).toThrow(message);
  });

  it.each([
    ['60', 60_000],
    ['60ns', 60_000],
    ['30s', 30_000],
    ['1m', 60_000],
    ['1000000h', 2 ** 31 - 1],
  ])('take -syncinterval=%s', (text, ms) => {
    expect(read(LOCAL, `-syncinterval=${text}`).syncIntervalMs).toBe(ms);
  });

  it.each([
    ['[fd00::1]:9353', 'fd00::1', 9353],
    ['fd00::1:9353', 'fd00::1', 9353],
    ['fd00:1:2:3:4:5:6:7:9353', 'fd00:1:2:3:4:5:6:7', 9353],
    ['::ffff:10.0.0.1:80', '::ffff:10.0.0.1', 80],
    [':::9353', '::', 9353],
    ['10.0.0.1:9353', '10.0.0.1', 9353],
    [':9353', '', 9353],
  ])('take -metrics-listen-address=%s, with IPv6 also without brackets', (text, host, port) => {
    expect(read(LOCAL, `-metrics-listen-address=${text}`).metricsAddress).toEqual({ host, port });
  });

  it.each([
    ['fd00::1', 'the port is missing, such as :8080'],
    ['fd00:1:2:3:4:5:6:7', 'the port is missing, such as :8080'],
    ['fd00::1:beef', 'the port is missing, such as :8080'],
    ['fd00::1:70000', 'port "70000" is not a number'],
    ['1.2.3.4:5:6', 'too many colons'],
  ])('refuse -metrics-listen-address=%s, which has no port that is one', (text, reason) => {
    const message = `--metrics-listen-address=${text}: ${reason}`;
    expect(() => read(LOCAL, `-metrics-listen-address=${text}`)).toThrow(message);
  });

  it('write to -corefile, and to -conf where that is given', () => {
    expect(read(LOCAL, '-corefile=/a').corefile.file).toBe('/a');
    expect(read(LOCAL, '-conf=/b', '-corefile=/a').corefile.file).toBe('/b');
  });

  it('take the port from -dns.port and from -p', () => {
    expect(read(LOCAL, '-dns.port=1053').port).toBe(1053);
    expect(read(LOCAL, '-p', '2053').corefile.port).toBe(2053);
  });

  it('set up no rules with -setupiptables=false', () => {
    expect(read(LOCAL, '-setupiptables=false').setup).toBe('none');
  });
});
