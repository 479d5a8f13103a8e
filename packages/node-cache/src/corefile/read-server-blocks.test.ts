import { describe, expect, it } from '@jest/globals';
import { CorefileError } from './corefile.js';
import { readServerBlocks, type CorefileSurroundings } from './read-server-blocks.js';
import type { ServerBlock } from './server-block.js';

const HOST: CorefileSurroundings = {
  env: { ZONE: 'cluster.local' },
  findImports: (pattern) =>
    pattern === 'forward' ? [{ name: 'forward', text: 'forward . 192.0.2.1\nnosuch\n' }] : [],
  interfaceAddresses: (name) =>
    name === 'nodelocaldns' ? ['169.254.20.10', 'fd00::a'] : undefined,
};
const read = (text: string, more: CorefileSurroundings = {}) =>
  readServerBlocks(text, 'Corefile', { ...HOST, ...more });
const block = (...lines: string[]): ServerBlock => read(`.:53 {\n${lines.join('\n')}\n}\n`)[0]!;

function mistakes(text: string): readonly string[] {
  try {
    read(text);
  } catch (error) {
    if (error instanceof CorefileError) return error.mistakes;
    throw error;
  }
  return [];
}

/** The ConfigMap of the addon, its variables replaced. */
const ADDON = `cluster.local:53 {
    errors
    cache {
            success 9984 30
            denial 9984 5
    }
    reload
    loop
    bind 169.254.20.10 10.96.0.10
    forward . 10.96.0.20 {
            force_tcp
    }
    prometheus :9253
    health 169.254.20.10:8080
    }
in-addr.arpa:53 {
    errors
    cache 30
    reload
    loop
    bind 169.254.20.10 10.96.0.10
    forward . 10.96.0.20 {
            force_tcp
    }
    prometheus :9253
    }
.:53 {
    errors
    cache 30
    reload
    loop
    bind 169.254.20.10 10.96.0.10
    forward . /etc/resolv.conf
    prometheus :9253
    }
`;

describe('the server blocks of a Corefile', () => {
  it('are those of the addon', () => {
    const [cluster, reverse, world] = read(ADDON);
    expect(cluster).toEqual({
      zones: [{ zone: 'cluster.local', port: 53 }],
      addresses: ['169.254.20.10', '10.96.0.10'],
      line: 1,
      cache: {
        zones: [],
        success: { capacity: 9984, maxTtlSeconds: 30, minTtlSeconds: 5 },
        denial: { capacity: 9984, maxTtlSeconds: 5, minTtlSeconds: 5 },
        servfailMs: 5_000,
        disabledSuccess: [],
        disabledDenial: [],
        prefetch: undefined,
        stale: undefined,
        keepsTtl: false,
      },
      forward: {
        from: '.',
        except: [],
        targets: [{ address: '10.96.0.20', port: 53, encryption: undefined }],
        protocol: 'tcp',
        policy: 'random',
        maxFails: 2,
        expireMs: 10_000,
        maxAgeMs: 0,
        maxConcurrent: 0,
        healthCheckMs: 500,
        tlsCaFile: '',
        failsFastWhenAllDown: false,
        line: 10,
      },
      hosts: undefined,
      rewrites: [],
      templates: [],
      logsErrors: true,
      errorPatterns: [],
      log: undefined,
      detectsLoops: true,
      metrics: { host: '', port: 9253 },
      health: { host: '169.254.20.10', port: 8080, lameduckMs: 0 },
      ready: undefined,
      maxUdpBytes: undefined,
      rotatesRecords: false,
      ignored: [],
    });
    expect(reverse).toMatchObject({
      zones: [{ zone: 'in-addr.arpa', port: 53 }],
      cache: { success: { maxTtlSeconds: 30 }, denial: { maxTtlSeconds: 30 } },
      health: undefined,
    });
    expect(world?.forward).toMatchObject({
      protocol: 'client',
      targets: [{ resolvFile: '/etc/resolv.conf' }],
    });
  });

  it('take an IPv6 address before a port with brackets and without', () => {
    const at = (port: number) => ({ host: 'fd00:10::10', port });
    const bare = block('health fd00:10::10:8080', 'ready fd00:10::10:8181', 'prometheus ::1:9253');
    expect(bare).toMatchObject({ health: at(8080), ready: at(8181), metrics: { host: '::1' } });
    expect(block('health [fd00:10::10]:8080').health).toEqual(bare.health);
  });

  it('have CoreDNS’s defaults', () => {
    const { cache, addresses } = block('cache');
    expect(addresses).toEqual([]);
    expect(cache).toMatchObject({
      success: { capacity: 9984, maxTtlSeconds: 3600, minTtlSeconds: 5 },
      denial: { capacity: 9984, maxTtlSeconds: 1800, minTtlSeconds: 5 },
    });
    expect(block('health', 'ready', 'prometheus')).toMatchObject({
      health: { host: '', port: 8080 },
      ready: { host: '', port: 8181 },
      metrics: { host: 'localhost', port: 9153 },
    });
    expect(block('hosts').hosts).toEqual({
      file: '/etc/hosts',
      zones: [],
      lines: [],
      ttlSeconds: 3600,
      reloadMs: 5_000,
      hasReverse: true,
      fallthrough: undefined,
    });
  });

  it('have no target while the address of the cluster’s DNS is not known', () => {
    expect(block('forward . <nil>').forward?.targets).toEqual([]);
  });

  it('listen on the addresses of an interface, except some', () => {
    expect(block('bind nodelocaldns 127.0.0.1 {\nexcept fd00::a\n}').addresses).toEqual([
      '169.254.20.10',
      '127.0.0.1',
    ]);
    expect(block('bind ::1', 'bind 127.0.0.1').addresses).toEqual(['::1', '127.0.0.1']);
  });

  it('take what changes nothing, and what the listener obeys', () => {
    expect(
      block('bufsize', 'loadbalance round_robin', 'debug', 'metadata', 'reload 2s 0', 'loop'),
    ).toMatchObject({ maxUdpBytes: 1232, rotatesRecords: true, detectsLoops: true });
  });

  it('take what CoreDNS has for itself, with a line for each that says that it changes nothing', () => {
    const harmless = [
      'pprof :6053',
      'timeouts {\nread 5s\n}',
      'trace',
      'log example.org',
      'whoami',
    ];
    const { ignored } = block('log', 'forward . 10.0.0.1', ...harmless);
    expect(ignored).toHaveLength(harmless.length);
    expect(ignored.join('\n')).toMatch(
      /line \d+: pprof :6053: it changes nothing: it profiles Go\nline \d+: timeouts.*: the time-outs of TCP are fixed\n/,
    );
    expect(() => block('whoami')).toThrow(/whoami: it is for tests of CoreDNS/);
    expect(() => block('log example.org', 'log example.com')).toThrow(
      /there is one log in a block/,
    );
  });

  it('have the port of the command line where a key has none, and variables replaced', () => {
    const [first] = read('{$ZONE} Example.ORG.:54 10.0.0.0/8 fd00::/8 {\n}\n', { port: 1053 });
    expect(first?.zones).toEqual([
      { zone: 'cluster.local', port: 1053 },
      { zone: 'example.org', port: 54 },
      { zone: '10.in-addr.arpa', port: 1053 },
      { zone: 'd.f.ip6.arpa', port: 1053 },
    ]);
  });

  it('are refused together, each mistake with its line, its directive and what to do', () => {
    const text = `.:53 {
  bind 127.0.0.1
  dns64 64:ff9b::/95
  cache {
    success none
  }
  zone
  import forward
  import absent
  import absent-*
}
.:53 {
  bind 127.0.0.1
}
`;
    expect(mistakes(text)).toEqual([
      'Corefile: line 9: File to import not found: absent',
      'Corefile: line 3: dns64 64:ff9b::/95: the prefix "64:ff9b::/95" does not have 32, 40, 48, 56, 64, 96 bits',
      'Corefile: line 5: cache: success none: "none" is not a whole number from 0',
      "Corefile: line 7: zone: Unknown directive 'zone'",
      "Corefile: forward: line 2: nosuch: Unknown directive 'nosuch'",
      'Corefile: line 12: cannot serve dns://.:53 on 127.0.0.1 - it is already defined',
    ]);
  });

  it('are refused with a hundred mistakes at most', () => {
    expect(mistakes(`. {\n${'nosuch\n'.repeat(500)}}\n`)).toHaveLength(100);
  });

  it.each([
    ['', '127.0.0.1', 'zone overlap listener capacity with dns://a.:53'],
    ['127.0.0.1', '', 'zone overlap listener capacity with dns://a.:53 on 127.0.0.1'],
    ['::1', '0:0::1', 'it is already defined'],
    ['127.0.0.1', '127.0.0.2', ''],
  ])('serve a zone once: on %j, then on %j', (one, other, reason) => {
    const serving = (address: string) => `a:53 {\n${address === '' ? '' : `bind ${address}`}\n}\n`;
    expect(mistakes(serving(one) + serving(other)).join()).toContain(reason);
    expect(mistakes(serving(one) + serving(other))).toHaveLength(reason === '' ? 0 : 1);
  });
});

it('a Corefile has at most 1,024 server blocks', () => {
  const text = Array.from({ length: 1_026 }, (_, i) => `z${i}.example {\n}\n`).join('');
  expect(mistakes(text)).toEqual(['Corefile: line 2049: more than 1024 server blocks']);
});
