import { describe, expect, it } from '@jest/globals';
import { parseFlags, UsageError, usageText } from '@kube-dns/base';
import { QUERY_LOG_OFF } from '@kube-dns/daemon';
import { serverText } from '@kube-dns/transport';
import { KUBEDNS_FLAGS, type KubednsFlags, PROGRAM } from './flags.js';

const parse = (...argv: string[]): KubednsFlags => parseFlags(PROGRAM, argv).values;

describe('the flags', () => {
  it('have the original’s defaults', () => {
    expect(parse()).toEqual({
      'clusterset-domain': '',
      'config-dir': '',
      'config-map': '',
      'config-map-namespace': 'kube-system',
      'config-period': 10_000,
      'cookie-secret-file': '',
      'coredns-metrics': false,
      'dns-bind-address': '0.0.0.0',
      'dns-port': 53,
      domain: 'cluster.local.',
      'drain-time': 5_000,
      'endpoint-names': 'hash',
      'endpoints-source': 'auto',
      'external-domain': '',
      federations: new Map(),
      'healthz-port': 8081,
      'hidden-namespaces': new Set(),
      'http-bind-address': '',
      'initial-sync-timeout': 60_000,
      'kube-master-url': '',
      'kubecfg-file': '',
      'max-objects': 100_000,
      'max-stored-bytes': 67_108_864,
      nameservers: [],
      'negative-ttl': 5,
      notify: [],
      'notify-key': '',
      status: false,
      subscribers: undefined,
      'tcp-max-age': 600_000,
      'tls-ca': '',
      'transfer-key': '',
      'transfer-to': undefined,
      pods: 'insecure',
      profiling: false,
      ptr: 'all',
      'query-log': QUERY_LOG_OFF,
      dnstap: null,
      'ready-without-api': true,
      'record-ttl': 30,
      'require-cookie': undefined,
      'reuse-port': false,
      'route-names': false,
      'search-extra': [],
      'search-zone': '',
      'snapshot-file': '',
      'snapshot-max-age': 86_400_000,
      'snapshot-replicas': '',
      'snapshot-token': '',
      'udp-engine': 'auto',
      'upstream-cookies': false,
      wildcards: true,
      zonal: false,
    });
  });

  it('take the argument line of the stock manifest', () => {
    const argv = ['--domain=corp.example.', '--dns-port=10053', '--config-dir=/kube-dns-config'];
    expect(parseFlags(PROGRAM, [...argv, '--v=2'])).toMatchObject({
      verbosity: 2,
      values: {
        domain: 'corp.example.',
        'dns-port': 10_053,
        'config-dir': '/kube-dns-config',
      },
    });
  });

  it('take the servers of --notify from several flags, IPv6, too', () => {
    const { notify } = parse('--notify=10.0.0.1, fd00::1#5353', '--notify=192.0.2.1#54');
    expect(notify.map(serverText)).toEqual(['10.0.0.1#53', 'fd00::1#5353', '192.0.2.1#54']);
  });

  it.each([
    '',
    'a.example',
    '10.0.0.1#',
    '10.0.0.1#0',
    '10.0.0.1#65536',
    '10.0.0.1,',
    '10.0.0.1:53',
    '[::1]#53',
  ])('refuse --notify=%s', (text) => {
    expect(() => parse(`--notify=${text}`)).toThrow(/--notify.* is not ip or ip#port/);
  });

  it('refuse more than 16 servers of --notify', () => {
    const many = Array.from({ length: 17 }, (_, i) => `10.0.0.${i}`);
    expect(() => parse(`--notify=${many.join(',')}`)).toThrow('more than 16 servers');
  });

  it.each([
    ['cluster.local', 'cluster.local.'],
    ['cluster.local.', 'cluster.local.'],
    ['k8s', 'k8s.'],
  ])('take the domain %s as %s', (text, domain) => {
    expect(parse(`--domain=${text}`).domain).toBe(domain);
  });

  it.each([
    '--domain=',
    '--domain=.',
    '--domain=cluster.local..',
    '--domain=Cluster.local',
    '--domain=cluster_a.local',
    '--domain=-a.local',
    `--domain=${'x'.repeat(64)}.local`,
    `--domain=${'abcdefgh.'.repeat(27)}local`,
    '--search-zone=a_b.c',
    '--search-extra=',
    '--search-extra=a..b',
    '--search-extra=a.b,c.d,e.f,g.h,i.j',
    '--kube-master-url=',
    '--kube-master-url=localhost:8080',
    '--kube-master-url=ftp://host',
    '--kube-master-url=//host',
    '--nameservers=example.com',
    '--nameservers=1.2.3.4:0',
    '--nameservers=1.2.3.4:65536',
    '--nameservers=1.2.3.4:',
    '--nameservers=1.2.3.4,nonsense',
    '--nameservers=fd00::1%eth0',
    '--dns-bind-address=nonsense',
    '--snapshot-replicas=no host',
    '--snapshot-replicas=a..b',
    '--snapshot-max-age=-1h',
    '--drain-time=-1s',
    '--dns-port=-1',
    '--dns-port=65536',
    '--dns-port=x',
    '--record-ttl=-1',
    '--drain-time=5',
    '--endpoints-source=pods',
    '--endpoint-names=name',
    '--ptr=none',
    '--pods=verified',
    '--pods=',
    '--profiling=maybe',
    '--config-map=UPPER',
    '--config-map=a,b',
    '--config-map-namespace=a/b',
    '--hidden-namespaces=com,',
    '--federations=one',
    '--federations=one=a.b,TWO=c.d',
    '--version=loud',
    '--no-such-flag',
  ])('refuse %s', (flag) => {
    expect(() => parse(flag)).toThrow(UsageError);
  });

  it('name the value that they refuse and the reason', () => {
    expect(() => parse('--domain=a.B')).toThrow('--domain=a.B: "B" is not a DNS label');
  });

  it('take name servers of both families, with and without port', () => {
    const flag = '--nameservers=1.2.3.4, 1.2.3.4:5353,fd00::1,[fd00::1]:5353';
    expect(parse(flag).nameservers).toEqual([
      '1.2.3.4',
      '1.2.3.4:5353',
      'fd00::1',
      '[fd00::1]:5353',
    ]);
  });

  it('list the choices, and pods=verified is not one yet', () => {
    expect(() => parse('--ptr=some')).toThrow('--ptr=some: must be one of all, first');
    expect(() => parse('--pods=verified')).toThrow(
      '--pods=verified: not possible yet, must be one of insecure, disabled',
    );
  });

  it('add up federations that are given in several places', () => {
    const { federations } = parse('--federations=one=a.b,two=c.d', '--federations=two=e.f');
    expect([...federations]).toEqual([
      ['one', 'a.b'],
      ['two', 'e.f'],
    ]);
  });

  it('add up hidden namespaces', () => {
    const flags = parse('--hidden-namespaces=com, net', '--hidden-namespaces=org');
    expect([...flags['hidden-namespaces']]).toEqual(['com', 'net', 'org']);
  });

  it('are all in the usage text but for the deprecated one, with those that are ignored', () => {
    const text = usageText(PROGRAM);
    const shown = Object.keys(KUBEDNS_FLAGS).filter((name) => text.includes(` --${name}`));
    expect(shown).toEqual(Object.keys(KUBEDNS_FLAGS).filter((name) => name !== 'federations'));
    expect(text).toMatch(/Accepted and ignored: [^]*--log-flush-frequency[^]*--vmodule/);
  });

  it('take the flags of klog that old manifests have', () => {
    const argv = [
      '--logtostderr',
      '--vmodule=a=1',
      '--log-flush-frequency=5s',
      '--log_dir',
      '/tmp',
    ];
    expect(parse(...argv, '--alsologtostderr=true', '--stderrthreshold=2')).toEqual(parse());
  });

  it('fill the environment into the URL of the API server', () => {
    process.env.KUBEDNS_TEST_HOST = '127.0.0.1';
    try {
      const flag = '--kube-master-url=http://$KUBEDNS_TEST_HOST:${KUBEDNS_TEST_PORT}8080';
      expect(parse(flag)['kube-master-url']).toBe('http://127.0.0.1:8080');
    } finally {
      delete process.env.KUBEDNS_TEST_HOST;
    }
  });

  it('let nothing wait longer than a timer can', () => {
    const flags = parse('--initial-sync-timeout=10000h', '--drain-time=10000h');
    expect(flags['initial-sync-timeout']).toBe(2 ** 31 - 1);
    expect(flags['drain-time']).toBe(2 ** 31 - 1);
  });
});
