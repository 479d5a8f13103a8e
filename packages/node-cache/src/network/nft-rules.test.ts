import { describe, expect, it } from '@jest/globals';
import { ScriptedRun } from '../../test/support/scripted-run.js';
import { NftRules } from './nft-rules.js';
import { type Rule, rulesOf } from './rule.js';

const NEEDS = { port: 53, healthPort: 8080, skipsTracking: true };
const RULES = ['169.254.20.10', 'fd00::10'].flatMap((address) => rulesOf(address, NEEDS));
const LIST = 'nft -j list table inet node-local-dns';
const ABSENT = {
  status: 1,
  stderr: 'Error: No such file or directory\nlist table inet node-local-dns\n',
};

/** The list of nft 1.0.6 for such rules. */
function listed(rules: readonly Rule[]): string {
  const place = { family: 'inet', table: 'node-local-dns' };
  const type = { type: 'filter', policy: 'accept' };
  const chains = [
    { name: 'raw-prerouting', hook: 'prerouting', prio: -300 },
    { name: 'raw-output', hook: 'output', prio: -300 },
    { name: 'filter-input', hook: 'input', prio: 0 },
    { name: 'filter-output', hook: 'output', prio: 0 },
  ];
  const match = (protocol: string, field: string, right: string | number) => {
    return { match: { op: '==', left: { payload: { protocol, field } }, right } };
  };
  const objects = [
    { metainfo: { version: '1.0.6', json_schema_version: 1 } },
    { table: { family: 'inet', name: 'node-local-dns', handle: 2 } },
    ...chains.map((chain, handle) => ({ chain: { ...place, ...chain, ...type, handle } })),
    ...rules.map(({ table, chain, protocol, side, address, port, target }, handle) => {
      const expr = [
        match(address.includes(':') ? 'ip6' : 'ip', `${side}addr`, address),
        match(protocol, `${side}port`, port),
        { [target.toLowerCase()]: null },
      ];
      const name = `${table}-${chain.toLowerCase()}`;
      return { rule: { ...place, chain: name, handle, comment: 'NodeLocal', expr } };
    }),
  ];
  return JSON.stringify({ nftables: objects });
}

function prepared(list: string | typeof ABSENT) {
  const machine = new ScriptedRun({ [LIST]: list, 'nft -f -': '' });
  return { machine, rules: new NftRules(RULES, machine.run) };
}

/** Whether a table was replaced as a whole by the last command. */
function isReplaced(commands: readonly string[]): boolean {
  const [first, second, ...rest] = commands;
  return (
    first === LIST &&
    second !== undefined &&
    rest.length === 0 &&
    second.startsWith(
      'nft -f - <<< table inet node-local-dns\ndelete table inet node-local-dns\ntable inet node-local-dns {\n',
    )
  );
}

describe('the rules by nft', () => {
  it('go in as one table of our own by one transaction', async () => {
    const { machine, rules } = prepared(ABSENT);
    expect(await rules.add()).toEqual(RULES);
    const commands = machine.take();
    expect(isReplaced(commands)).toBe(true);
    expect(commands[1]).toContain(
      [
        '  chain raw-prerouting {',
        '    type filter hook prerouting priority raw; policy accept;',
        '    ip daddr 169.254.20.10 tcp dport 53 notrack comment "NodeLocal DNS Cache: skip conntrack"',
        '    ip daddr 169.254.20.10 udp dport 53 notrack comment "NodeLocal DNS Cache: skip conntrack"',
        '    ip6 daddr fd00::10 tcp dport 53 notrack comment "NodeLocal DNS Cache: skip conntrack"',
        '    ip6 daddr fd00::10 udp dport 53 notrack comment "NodeLocal DNS Cache: skip conntrack"',
        '  }',
        '  chain filter-input {',
        '    type filter hook input priority filter; policy accept;',
        '    ip daddr 169.254.20.10 tcp dport 53 accept comment "NodeLocal DNS Cache: allow DNS traffic"',
      ].join('\n'),
    );
  });

  it('are compared, and nothing is done where they are as they should be', async () => {
    const { machine, rules } = prepared(listed([...RULES].reverse()));
    expect(await rules.add()).toEqual([]);
    expect(machine.take()).toEqual([LIST]);
  });

  const changed = RULES.map((rule, i) => (i === 3 ? { ...rule, port: 54 } : rule));
  it.each<[string, readonly Rule[], readonly Rule[], (text: string) => string]>([
    ['one is missing', RULES.slice(1), RULES.slice(0, 1), (text) => text],
    ['one is different', changed, RULES.slice(3, 4), (text) => text],
    ['one is there twice', [...RULES, RULES[0]!], [], (text) => text],
    [
      'one does more',
      RULES,
      [RULES[0]!],
      (text) => text.replace('{"notrack"', '{"counter":null},{"notrack"'),
    ],
    [
      'a chain has another hook',
      RULES,
      RULES.filter(({ chain }) => chain === 'INPUT'),
      (text) => text.replace('"hook":"input"', '"hook":"forward"'),
    ],
  ])('are replaced by one transaction where %s', async (_what, there, missing, edit) => {
    const { machine, rules } = prepared(edit(listed(there)));
    expect(await rules.add()).toEqual(missing);
    expect(isReplaced(machine.take())).toBe(true);
  });

  it('go out as one table', async () => {
    const { machine, rules } = prepared(listed(RULES));
    await rules.remove();
    const removal = 'table inet node-local-dns\ndelete table inet node-local-dns\n';
    expect(machine.take()).toEqual([LIST, `nft -f - <<< ${removal}`]);
    expect(rules.removal).toEqual(removal.trim().split('\n'));
  });

  it('need nothing to go out where there is no table', async () => {
    const { machine, rules } = prepared(ABSENT);
    await rules.remove();
    expect(machine.take()).toEqual([LIST]);
  });

  it('fail with what nft says, and with the capability that is missing', async () => {
    const { machine, rules } = prepared(ABSENT);
    const stderr = 'Error: Could not process rule: Operation not permitted\n';
    machine.change({ 'nft -f -': { status: 1, stderr } });
    await expect(rules.add()).rejects.toMatchObject({
      code: 'rules',
      message: `nft: ${stderr.trim()}; it needs the capability NET_ADMIN`,
    });
  });
});
