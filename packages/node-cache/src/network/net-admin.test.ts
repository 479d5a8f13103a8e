import { describe, expect, it } from '@jest/globals';
import { createLog } from '@kube-dns/daemon';
import { type Script, ScriptedRun } from '../../test/support/scripted-run.js';
import { NetworkSetup } from './network-setup.js';

const ADDRESSES = ['169.254.20.10', 'fd00::10'];
const ABSENT = { status: 1, stderr: 'Error: No such file or directory, it does not exist\n' };

/** What is read. */
const READS = [
  /^(nft|iptables) --version$/,
  /^nft list tables$/,
  /^nft -j list table inet node-local-dns$/,
  /^ip6?tables-save -t (raw|filter)$/,
  /^iptables -w 5 -t mangle -S KUBE-PROXY-CANARY$/,
  /^ip link show dev kube-ipvs0$/,
  /^ip -j address show dev kube-ipvs0$/,
  /^ip -d -j address show dev nodelocaldns$/,
];

const ADDRESS = '(169\\.254\\.20\\.10|fd00::10)';
const TARGET = '-j (NOTRACK|ACCEPT) -m comment --comment "NodeLocal DNS Cache: [a-zA-Z ]+"';
const MATCH = `-p (tcp|udp) -[ds] ${ADDRESS} --[ds]port (53|8080)`;
const RULE = `-I (PREROUTING|INPUT|OUTPUT) ${MATCH} ${TARGET}\\n`;
const NFT_RULE = '    ip6? [ds]addr .* (notrack|accept) comment "NodeLocal DNS Cache: .*"\\n';
const NFT_CHAIN = `  chain [a-z-]+ \\{\\n    type filter hook .*\\n(${NFT_RULE})+  \\}\\n`;

/** What is changed, with the whole input. */
const CHANGES = [
  /^ip link add nodelocaldns type dummy$/,
  /^ip link set dev nodelocaldns alias me$/,
  /^ip link delete dev nodelocaldns$/,
  /^ip address add (169\.254\.20\.10\/32|fd00::10\/128) dev nodelocaldns( nodad)?$/,
  new RegExp(
    `^nft -f - <<< table inet node-local-dns\\ndelete table inet node-local-dns\\n` +
      `(table inet node-local-dns \\{\\n(${NFT_CHAIN})+\\}\\n)?$`,
  ),
  new RegExp(
    `^ip6?tables-restore --noflush -w 5 <<< \\*raw\\n(${RULE})+COMMIT\\n\\*filter\\n(${RULE})+COMMIT\\n$`,
  ),
];

/** Every command from the start to the end. */
async function commands(setup: 'auto' | 'nft' | 'iptables'): Promise<readonly string[]> {
  const script: Script = {
    nft: '',
    'nft -j': ABSENT,
    iptables: '',
    ip6tables: '',
    ip: '',
    'ip -d -j': ABSENT,
  };
  const machine = new ScriptedRun(script);
  const network = new NetworkSetup({
    localAddresses: ADDRESSES,
    port: 53,
    healthPort: 8080,
    skipsTracking: true,
    setsUpInterface: true,
    interfaceName: 'nodelocaldns',
    setup,
    skipsTeardown: false,
    syncIntervalMs: 60_000,
    id: 'me',
    log: createLog({ name: 'test', verbosity: 0, write: () => undefined }),
    run: machine.run,
    guard: { arm: () => undefined, beat: () => undefined, disarm: () => undefined },
  });
  await network.prepare();
  await network.addRules();
  await network.check();
  const link = JSON.stringify([{ linkinfo: { info_kind: 'dummy' }, addr_info: [] }]);
  machine.change({ 'ip -d -j': link, 'nft -j': '{"nftables":[]}' });
  await network.removeRules();
  await network.removeInterface();
  return machine.take();
}

describe('NET_ADMIN', () => {
  it('is used for one interface, one table and twelve rules an address, and to read what is there', async () => {
    const all = [
      ...(await commands('auto')),
      ...(await commands('nft')),
      ...(await commands('iptables')),
    ];
    const unknown = all.filter((each) => ![...READS, ...CHANGES].some((known) => known.test(each)));
    expect(unknown).toEqual([]);
    // None of the changes above is only allowed.
    for (const change of CHANGES) expect(all.some((each) => change.test(each))).toBe(true);
  });
});
