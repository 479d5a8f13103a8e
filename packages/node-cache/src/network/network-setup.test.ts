import { describe, expect, it } from '@jest/globals';
import { createLog } from '@kube-dns/daemon';
import { type Script, ScriptedRun } from '../../test/support/scripted-run.js';
import type { SetupChoice } from '../config/options.js';
import { NetworkSetup, type NetworkSetupOptions } from './network-setup.js';

const SHOW = 'ip -d -j address show dev nodelocaldns';
const LIST = 'nft -j list table inet node-local-dns';
const NO_TABLE = { status: 1, stderr: 'Error: No such file or directory\n' };
const NO_LINK = { status: 1, stderr: 'Device "nodelocaldns" does not exist.\n' };
const NOT_PERMITTED = { status: 2, stderr: 'RTNETLINK answers: Operation not permitted\n' };

/** An empty machine with nft alone. */
const MACHINE: Script = {
  'nft --version': 'nftables v1.0.6',
  'nft list tables': '',
  [LIST]: NO_TABLE,
  'nft -f -': '',
  'ip link': '',
  'ip address add': '',
  'ip -j address show dev kube-ipvs0': { status: 1 },
  [SHOW]: NO_LINK,
};

function link(ifalias?: string): string {
  const addr_info = ['169.254.20.10', 'fd00::10'].map((local) => ({ local }));
  return JSON.stringify([{ linkinfo: { info_kind: 'dummy' }, ifalias, addr_info }]);
}

function prepared(script: Script = {}, options: Partial<NetworkSetupOptions> = {}) {
  const machine = new ScriptedRun({ ...MACHINE, ...script });
  const events: string[] = [];
  const lines: string[] = [];
  const clock = { now: 1_000 };
  const log = createLog({
    name: 'test',
    verbosity: 0,
    write: (line) => lines.push(`${line.slice(0, 1)} ${line.replace(/^.*?] /, '').trim()}`),
  });
  const network = new NetworkSetup({
    localAddresses: ['169.254.20.10', 'fd00:0:0::10'],
    port: 53,
    healthPort: 8080,
    skipsTracking: true,
    setsUpInterface: true,
    interfaceName: 'nodelocaldns',
    setup: 'auto',
    skipsTeardown: false,
    syncIntervalMs: 60_000,
    id: 'me',
    log,
    run: (words, input) => {
      events.push(words.join(' '));
      return machine.run(words, input);
    },
    guard: {
      arm: (given) => events.push(`arm ${given.join('; ')}`),
      beat: () => events.push('beat'),
      disarm: () => events.push('disarm'),
    },
    now: () => clock.now,
    ...options,
  });
  return { network, machine, events, lines, clock };
}

const REMOVAL = 'nft table inet node-local-dns; nft delete table inet node-local-dns';

describe('the network of a node', () => {
  it('has its interface before listening, and its rules once there are answers', async () => {
    const { network, events, lines } = prepared();
    await network.prepare();
    expect(events).not.toContain('nft -f -');
    expect(network.state).toEqual({
      tool: 'nft',
      reason: 'iptables is not installed',
      hasInterface: true,
      hasRules: false,
    });
    expect(lines).toEqual([
      'I rules are made by nft: iptables is not installed',
      'I Added interface - nodelocaldns',
    ]);
    lines.length = events.length = 0;
    await network.addRules();
    expect(events).toEqual([
      SHOW,
      'ip link set dev nodelocaldns alias me',
      `arm owner nodelocaldns me; ${REMOVAL}`,
      LIST,
      'nft -f -',
    ]);
    expect(network.state.hasRules).toBe(true);
    expect(lines).toHaveLength(24);
    expect(lines[0]).toBe(
      'I Added back nodelocaldns rule - {raw PREROUTING [-p tcp -d 169.254.20.10 --dport 53 -j NOTRACK -m comment --comment NodeLocal DNS Cache: skip conntrack]}',
    );
    await network.removeRules();
  });

  it('loses its rules first and its interface last, and the guard has nothing to do then', async () => {
    const { network, machine, events } = prepared();
    await network.prepare();
    await network.addRules();
    machine.change({ [SHOW]: link('me'), [LIST]: '{"nftables":[]}' });
    events.length = 0;
    await network.removeRules();
    expect(events).toEqual([SHOW, LIST, 'nft -f -', 'disarm']);
    events.length = 0;
    await network.removeInterface();
    expect(events).toEqual([SHOW, SHOW, 'ip link delete dev nodelocaldns']);
    expect(network.state).toMatchObject({ hasInterface: false, hasRules: false });
  });

  it('keeps all with --skipteardown, and no guard acts', async () => {
    const { network, machine, events } = prepared({}, { skipsTeardown: true });
    await network.prepare();
    await network.addRules();
    machine.change({ [SHOW]: link('me'), [LIST]: '{"nftables":[]}' });
    expect(events.filter((event) => event.startsWith('arm'))).toEqual([]);
    events.length = 0;
    await network.removeRules();
    await network.removeInterface();
    expect(events).toEqual(['disarm']);
  });

  it('stays as it is for the process that has taken over', async () => {
    const { network, machine, events, lines } = prepared({ [SHOW]: link('before') });
    await network.prepare();
    await network.addRules();
    expect(lines[1]).toBe('I interface and rules are taken over from another node-cache, before');
    machine.change({ [SHOW]: link('another'), [LIST]: '{"nftables":[]}' });
    events.length = 0;
    await network.removeRules();
    await network.removeInterface();
    expect(events).toEqual([SHOW, 'disarm', SHOW]);
    expect(lines.at(-1)).toBe(
      'I interface and rules stay: another node-cache has taken over, another',
    );
  });

  it('is put back at the check where something is missing', async () => {
    const { network, machine, events, lines } = prepared();
    await network.prepare();
    await network.addRules();
    lines.length = events.length = 0;
    await network.check();
    expect(events).toContain('ip link add nodelocaldns type dummy');
    expect(events).toContain('nft -f -');
    expect(lines).toContain('I Added interface - nodelocaldns');
    machine.change({ [SHOW]: link() });
    lines.length = 0;
    await network.check();
    expect(lines).not.toContain('I Added interface - nodelocaldns');
    await network.removeRules();
    events.length = 0;
    await network.check();
    expect(events).toEqual([]);
  });

  it('gets no rules while the own probe is not answered, and gets them back with the next answer', async () => {
    const { network, machine, events, clock } = prepared();
    await network.prepare();
    await network.addRules();
    machine.change({ [SHOW]: link('me') });
    clock.now += 500;
    network.beat();
    clock.now += 2_500;
    events.length = 0;
    await network.check();
    expect(events).toEqual([SHOW]);
    events.length = 0;
    network.beat();
    await network.check();
    expect(events).toEqual(['beat', SHOW, LIST, 'nft -f -']);
    // The guard may have been at it, so it is looked at again.
    clock.now += 500;
    events.length = 0;
    network.beat();
    await network.check();
    expect(events).toEqual(['beat', SHOW, LIST, 'nft -f -']);
    for (let i = 0; i < 14; i++) {
      clock.now += 500;
      network.beat();
    }
    await network.check();
    clock.now += 500;
    events.length = 0;
    network.beat();
    expect(events).toEqual(['beat']);
    await network.removeRules();
  });

  it('goes on without what fails, says what is missing, and counts it', async () => {
    const script = { 'ip link': NOT_PERMITTED, 'nft -f -': NOT_PERMITTED };
    const { network, lines } = prepared(script);
    await network.prepare();
    await network.addRules();
    await network.check();
    await network.removeRules();
    expect(network.errors).toEqual({
      iptables: 2,
      iptables_lock: 0,
      interface_add: 1,
      interface_check: 2,
    });
    const reason = 'RTNETLINK answers: Operation not permitted; it needs the capability NET_ADMIN';
    expect(lines.slice(1, 4)).toEqual([
      `E Error adding interface nodelocaldns - ip: ${reason}`,
      `E Error checking dummy device nodelocaldns - ip: ${reason}`,
      `E Error checking/adding iptables rule by nft, error - nft: ${reason}`,
    ]);
    expect(network.state).toMatchObject({ hasInterface: false, hasRules: false });
  });

  it('counts a lock of iptables apart, and tries again at the next check', async () => {
    const stderr = 'Another app is currently holding the xtables lock.\n';
    const { network, machine, lines } = prepared(
      {
        'iptables --version': 'iptables v1.8.9',
        'iptables-save': '',
        'ip6tables-save': '',
        'iptables-restore': { status: 4, stderr },
        'ip6tables-restore': '',
        [SHOW]: link(),
      },
      { setup: 'iptables' },
    );
    await network.prepare();
    await network.addRules();
    expect(network.errors).toMatchObject({ iptables: 0, iptables_lock: 1 });
    expect(network.state.hasRules).toBe(false);
    expect(lines.filter((line) => line.startsWith('I Added back'))).toHaveLength(12);
    machine.change({ 'iptables-restore': '' });
    await network.check();
    expect(network.errors).toMatchObject({ iptables: 0, iptables_lock: 1 });
    expect(network.state.hasRules).toBe(true);
    await network.removeRules();
  });

  it('loses the rules that an earlier process made by the other tool', async () => {
    const comment = '-m comment --comment "NodeLocal DNS Cache: skip conntrack"';
    const left = `PREROUTING -d 169.254.20.10/32 -p udp -m udp --dport 53 ${comment} -j NOTRACK`;
    const { network, machine } = prepared({
      'iptables --version': 'iptables v1.8.9',
      'ip link show dev kube-ipvs0': { status: 1 },
      'iptables -w 5 -t mangle -S KUBE-PROXY-CANARY': { status: 1 },
      'iptables-save -t raw': `*raw\n-A ${left}\nCOMMIT\n`,
      'iptables-save -t filter': '',
      'ip6tables-save': '',
      'iptables-restore': '',
      [SHOW]: link(),
    });
    await network.prepare();
    await network.addRules();
    expect(network.state.tool).toBe('nft');
    expect(machine.take().at(-3)).toBe(
      `iptables-restore --noflush -w 5 <<< *raw\n-D ${left}\nCOMMIT\n`,
    );
    await network.removeRules();
  });

  it('has neither interface nor rules where the flags say so, and runs nothing', async () => {
    const { network, machine } = prepared({}, { setsUpInterface: false, setup: 'none' });
    await network.prepare();
    await network.addRules();
    await network.check();
    await network.removeRules();
    await network.removeInterface();
    expect(machine.take()).toEqual([]);
  });

  it('warns of an address that kube-proxy has in IPVS mode', async () => {
    const { network, lines } = prepared({
      'ip -j address show dev kube-ipvs0': '[{"addr_info":[{"local":"fd00::10"}]}]',
    });
    await network.prepare();
    expect(lines.at(-1)).toBe(
      'W fd00::10 is on kube-ipvs0: with IPVS, listen on a link-local address only',
    );
  });
});

const NFT_ONLY = { 'nft --version': 'nftables v1.0.6', 'nft list tables': 'table inet filter\n' };
const IPTABLES = { 'iptables --version': 'iptables v1.8.9' };
const BOTH = { ...NFT_ONLY, ...IPTABLES };

describe('the tool for the rules', () => {
  it.each<[string, SetupChoice, Script, string | undefined, string]>([
    [
      'nft',
      'auto',
      { ...BOTH, 'nft list tables': 'table ip nat\ntable ip kube-proxy\n' },
      'nft',
      'kube-proxy uses nftables',
    ],
    [
      'nft',
      'auto',
      { ...BOTH, 'nft list tables': 'table ip6 kube-proxy\n' },
      'nft',
      'kube-proxy uses nftables',
    ],
    [
      'iptables',
      'auto',
      { ...BOTH, 'iptables -w 5 -t mangle -S KUBE-PROXY-CANARY': '-N KUBE-PROXY-CANARY\n' },
      'iptables',
      'kube-proxy uses iptables',
    ],
    [
      'iptables',
      'auto',
      { ...BOTH, 'ip link show dev kube-ipvs0': '3: kube-ipvs0:' },
      'iptables',
      'kube-proxy uses IPVS, and iptables with it',
    ],
    ['nft', 'auto', BOTH, 'nft', 'there is no trace of kube-proxy'],
    ['iptables', 'auto', IPTABLES, 'iptables', 'nft is not installed'],
    ['nft', 'auto', { ...NFT_ONLY, 'nft list tables': '' }, 'nft', 'iptables is not installed'],
    ['none', 'auto', {}, undefined, 'neither nft nor iptables is installed'],
    ['iptables', 'iptables', BOTH, 'iptables', 'as --setup says'],
    ['nft', 'nft', BOTH, 'nft', 'as --setup says'],
    ['none', 'nft', IPTABLES, undefined, 'nft is not installed'],
    ['none', 'none', BOTH, undefined, 'as --setup says'],
  ])('is %s with --setup=%s and %j', async (_name, setup, script, tool, reason) => {
    const { network } = prepared({}, { setup, run: new ScriptedRun(script).run });
    await network.prepare();
    expect(network.state).toMatchObject({ tool, reason });
  });
});
