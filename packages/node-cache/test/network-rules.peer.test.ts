import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunningProgram } from '@kube-dns/testkit';
import {
  findRealNodeCache,
  needsPrograms,
  needsNamespaces,
  needsRealNodeCache,
  Owned,
  TemporaryFolder,
  unless,
} from '@kube-dns/testkit';
import { DNS_ADDRESSES, LOCAL_ADDRESSES, NodeNetwork } from './support/node-network.js';

const TOOLS = ['unshare', 'nsenter', 'setpriv', 'ip', 'iptables', 'nft', 'conntrack', 'dig'];
const SKIP_REASON = needsPrograms(...TOOLS) ?? needsNamespaces();
const SKIP = '"NodeLocal DNS Cache: skip conntrack"';
const ALLOW = '"NodeLocal DNS Cache: allow DNS traffic"';

/** `iptables-save` after the original has put in its rules for one address. */
function savedRules(network: string): readonly string[] {
  return [
    `-A PREROUTING -d ${network} -p udp -m udp --dport 53 -m comment --comment ${SKIP} -j NOTRACK`,
    `-A PREROUTING -d ${network} -p tcp -m tcp --dport 53 -m comment --comment ${SKIP} -j NOTRACK`,
    `-A OUTPUT -s ${network} -p tcp -m tcp --sport 8080 -m comment --comment ${SKIP} -j NOTRACK`,
    `-A OUTPUT -d ${network} -p tcp -m tcp --dport 8080 -m comment --comment ${SKIP} -j NOTRACK`,
    `-A OUTPUT -d ${network} -p udp -m udp --dport 53 -m comment --comment ${SKIP} -j NOTRACK`,
    `-A OUTPUT -d ${network} -p tcp -m tcp --dport 53 -m comment --comment ${SKIP} -j NOTRACK`,
    `-A OUTPUT -s ${network} -p udp -m udp --sport 53 -m comment --comment ${SKIP} -j NOTRACK`,
    `-A OUTPUT -s ${network} -p tcp -m tcp --sport 53 -m comment --comment ${SKIP} -j NOTRACK`,
    `-A INPUT -d ${network} -p udp -m udp --dport 53 -m comment --comment ${ALLOW} -j ACCEPT`,
    `-A INPUT -d ${network} -p tcp -m tcp --dport 53 -m comment --comment ${ALLOW} -j ACCEPT`,
    `-A OUTPUT -s ${network} -p udp -m udp --sport 53 -m comment --comment ${ALLOW} -j ACCEPT`,
    `-A OUTPUT -s ${network} -p tcp -m tcp --sport 53 -m comment --comment ${ALLOW} -j ACCEPT`,
  ];
}

/** `nft list table` of one address. */
function listedRules(family: 'ip' | 'ip6', address: string): readonly string[] {
  const both = (field: string, verdict: string, comment: string) =>
    ['tcp', 'udp'].map(
      (protocol) =>
        `${family} ${field}addr ${address} ${protocol} ${field}port 53 ${verdict} comment ${comment}`,
    );
  return [
    ...both('d', 'notrack', SKIP),
    ...both('d', 'accept', ALLOW),
    ...both('s', 'notrack', SKIP),
    ...both('d', 'notrack', SKIP),
    `${family} daddr ${address} tcp dport 8080 notrack comment ${SKIP}`,
    `${family} saddr ${address} tcp sport 8080 notrack comment ${SKIP}`,
    ...both('s', 'accept', ALLOW),
  ];
}

const EXPECTED = {
  iptables: [
    ...savedRules('169.254.20.10/32'),
    ...savedRules('10.96.0.10/32'),
    ...savedRules('fd00:96::10/128'),
  ],
  nft: [
    ...listedRules('ip', '169.254.20.10'),
    ...listedRules('ip', '10.96.0.10'),
    ...listedRules('ip6', 'fd00:96::10'),
  ],
};

unless(SKIP_REASON, describe)('the rules of a node', () => {
  const shared = new Owned();
  const owned = new Owned();
  let node: NodeNetwork;

  beforeAll(async () => {
    node = await NodeNetwork.create(shared);
  });
  afterEach(() => owned.clear());
  afterAll(() => shared.close());

  /** What a guard does to rules is not the point here. */
  const start = (options: object = {}, words: readonly string[] = []) =>
    node.startCache({ isGuarded: false, ...options }, words);

  /** Entries of connection tracking for DNS, of both families. */
  const tracked = async () => {
    const words = ['conntrack', '-L', '-f'];
    const lists = [await node.run(...words, 'ipv4'), await node.run(...words, 'ipv6')];
    return lists
      .join('')
      .split('\n')
      .filter((line) => line.includes(' dport=53 ')).length;
  };

  /** What others have put in. */
  const others = async () => {
    const text = await node.run('sh', '-c', 'iptables-save; ip6tables-save; nft list tables');
    const lines = text.split('\n').filter((line) => /DNAT|of others|table inet others/.test(line));
    expect(lines).toHaveLength(6);
  };

  describe.each(['nft', 'iptables'] as const)('by %s', (setup) => {
    it('are those of the original for both families, and lead pods to this node without connection tracking', async () => {
      await node.run('conntrack', '-F');
      for (const address of DNS_ADDRESSES) expect(await node.ask(address)).toBe('NXDOMAIN');
      expect(await tracked()).toBe(2);
      await node.run('conntrack', '-F');

      const cache = owned.add(await start({ setup }));
      expect([...(await node.rules())].sort()).toEqual([...EXPECTED[setup]].sort());
      for (const address of LOCAL_ADDRESSES.slice(1)) {
        expect(await node.ask(address)).toBe('REFUSED');
        expect(await node.ask(address, { transport: 'tcp' })).toBe('REFUSED');
      }
      expect(await node.ask('169.254.20.10')).toBe('REFUSED');
      expect(await tracked()).toBe(0);
      await others();

      cache.signal('SIGTERM');
      expect(await cache.ended).toBe(7);
      expect(await node.rules()).toEqual([]);
      expect(await node.hasInterface()).toBe(false);
      await others();
      expect(await node.ask('10.96.0.10')).toBe('NXDOMAIN');
    });

    it('are taken over with the interface from a process that left them, and nothing is there twice', async () => {
      const first = await start({ setup, skipsTeardown: true });
      await first.close();
      const before = await node.rules();
      expect(before).toHaveLength(36);
      const second = owned.add(await start({ setup }));
      expect(second.output).not.toContain('Added');
      expect(await node.rules()).toEqual(before);
      second.signal('SIGHUP');
      await second.waitForLine('checked');
      expect(second.output).not.toContain('Added');
      expect(await node.rules()).toEqual(before);
      second.signal('SIGTERM');
      await second.ended;
      expect(await node.rules()).toEqual([]);
    });

    it('are put back at the check, one by one', async () => {
      const cache = owned.add(await start({ setup }));
      const before = await node.rules();
      const [, expected] = [...cache.output.matchAll(/Added back (.*)/g)].map(([line]) => line);
      await (setup === 'nft'
        ? node.run('sh', '-c', 'nft flush chain inet node-local-dns raw-prerouting')
        : node.run('iptables', '-t', 'raw', '-D', 'PREROUTING', '2'));
      expect((await node.rules()).length).toBeLessThan(36);
      await node.run('ip', 'address', 'delete', '10.96.0.10/32', 'dev', 'nodelocaldns');
      cache.signal('SIGHUP');
      await cache.waitForLine('checked');
      expect(cache.output).toContain('Added addresses to interface nodelocaldns - 10.96.0.10');
      expect(expected).toContain('Added back nodelocaldns rule - {raw PREROUTING [-p udp -d');
      expect([...(await node.rules())].sort()).toEqual([...before].sort());
      cache.signal('SIGTERM');
      await cache.ended;
    });

    it('need no other capability than NET_ADMIN', async () => {
      const only = '--bounding-set=-all,+net_admin,+net_bind_service';
      const cache = owned.add(await start({ setup }, ['setpriv', only]));
      expect(await node.rules()).toHaveLength(36);
      expect(await node.hasInterface()).toBe(true);
      cache.signal('SIGTERM');
      await cache.ended;
      expect(await node.rules()).toEqual([]);
      expect(await node.hasInterface()).toBe(false);
    });
  });

  it('are not touched without NET_ADMIN, which the log names', async () => {
    const without = ['setpriv', '--bounding-set=-net_admin'];
    await node.run('ip', 'address', 'add', '127.0.5.3/32', 'dev', 'lo');
    for (const setup of ['nft', 'iptables']) {
      const given = { setup, localAddresses: ['127.0.5.3'] };
      const cache = owned.add(await start(given, without));
      expect(cache.output).toMatch(
        /Error adding interface nodelocaldns - .*; it needs the capability NET_ADMIN/,
      );
      expect(cache.output).toMatch(
        /Error checking\/adding iptables rule by .*; it needs the capability NET_ADMIN/,
      );
      expect(cache.output).toMatch(/"iptables":[1-9].*"interface_add":1/);
      await cache.close();
      expect(await node.rules()).toEqual([]);
    }
  });

  it('are by iptables with --setup=auto where kube-proxy has its chain there', async () => {
    await node.run('iptables', '-t', 'mangle', '-N', 'KUBE-PROXY-CANARY');
    const cache = owned.add(await start());
    expect(cache.output).toContain('rules are made by iptables: kube-proxy uses iptables');
    cache.signal('SIGTERM');
    await cache.ended;
    await node.run('nft', 'add', 'table', 'ip', 'kube-proxy');
    const other = owned.add(await start());
    expect(other.output).toContain('rules are made by nft: kube-proxy uses nftables');
    other.signal('SIGTERM');
    await other.ended;
    await node.run('nft', 'delete', 'table', 'ip', 'kube-proxy');
  });

  const TAKEN = ['169.254.20.10', 'fd00:96::10'];
  unless(needsRealNodeCache(), it)(
    'are byte for byte and in the order of the original by iptables',
    async () => {
      const folder = owned.add(new TemporaryFolder());
      const base = folder.file('Corefile.base', '.:5300 {\n  bind 127.0.0.1\n  whoami\n}\n');
      const file = (name: string) => folder.file(name, '');
      const save = async () => {
        const text = await node.run('sh', '-c', 'iptables-save; ip6tables-save');
        return text.split('\n').filter((line) => /skip conntrack|allow DNS/.test(line));
      };
      const originals: RunningProgram[] = [];
      for (const localip of TAKEN) {
        const conf = file(`Corefile-${originals.length}`);
        const flags = ['-localip', localip, '-setupinterface=false', '-basecorefile', base];
        const pid = ['-conf', conf, '-pidfile', `${conf}.pid`];
        const program = [findRealNodeCache() ?? '', ...flags, ...pid];
        const original = node.start('env', 'KUBE_DNS_SERVICE_HOST=10.96.0.10', ...program);
        originals.push(owned.add(original));
        await original.waitForLine('raw OUTPUT [-p tcp -s .* --sport 8080'.replace('.*', localip));
      }
      const theirs = await save();
      expect(theirs).toHaveLength(24);
      // What a killed one leaves is taken over; the rules of the other are made anew.
      await originals[0]!.close();
      originals[1]!.signal('SIGTERM');
      await originals[1]!.ended;
      expect(await save()).toEqual(theirs.slice(0, 12));
      const given = { setup: 'iptables', localAddresses: TAKEN };
      const cache = owned.add(await start(given));
      expect(cache.output.match(/Added back .* fd00:96::10 /g)).toHaveLength(12);
      expect(cache.output.match(/Added back/g)).toHaveLength(12);
      expect(await save()).toEqual(theirs);
      cache.signal('SIGTERM');
      await cache.ended;
    },
  );
});
