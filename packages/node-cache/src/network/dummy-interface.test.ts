import { describe, expect, it } from '@jest/globals';
import { type Script, ScriptedRun } from '../../test/support/scripted-run.js';
import { DummyInterface } from './dummy-interface.js';

const LIST = 'ip -d -j address show dev nodelocaldns';
const ABSENT = { status: 1, stderr: 'Device "nodelocaldns" does not exist.\n' };
const UNKNOWN = { status: 2, stderr: 'Error: Unknown device type.\n' };

function listed(kind: string | undefined, addresses: readonly string[], ifalias?: string): string {
  const linkinfo = kind === undefined ? {} : { linkinfo: { info_kind: kind } };
  const addr_info = addresses.map((local) => ({ family: 'inet', local, prefixlen: 32 }));
  return JSON.stringify([{ ifname: 'nodelocaldns', ...linkinfo, ifalias, addr_info }]);
}

function prepared(script: Script) {
  const machine = new ScriptedRun({ 'ip link': '', 'ip address add': '', ...script });
  const link = new DummyInterface('nodelocaldns', ['169.254.20.10', 'fd00:0::10'], machine.run);
  return { machine, link };
}

const ADDED = [
  'ip address add 169.254.20.10/32 dev nodelocaldns',
  'ip address add fd00:0::10/128 dev nodelocaldns nodad',
];

describe('the dummy interface', () => {
  it('is made with the addresses of both families', async () => {
    const { machine, link } = prepared({ [LIST]: ABSENT });
    expect(await link.add()).toEqual({ isNew: true, addresses: ['169.254.20.10', 'fd00:0::10'] });
    expect(machine.take()).toEqual([LIST, 'ip link add nodelocaldns type dummy', ...ADDED]);
  });

  it('is a bridge without ports where the kernel has no dummy', async () => {
    const { machine, link } = prepared({
      [LIST]: ABSENT,
      'ip link add nodelocaldns type dummy': UNKNOWN,
    });
    await link.add();
    expect(machine.take().slice(1, 3)).toEqual([
      'ip link add nodelocaldns type dummy',
      'ip link add nodelocaldns type bridge',
    ]);
  });

  it('is used as it is there, and nothing is done where all addresses are', async () => {
    const there = listed('dummy', ['169.254.20.10', '10.96.0.10', 'fd00::10']);
    const { machine, link } = prepared({ [LIST]: there });
    expect(await link.add()).toEqual({ isNew: false, addresses: [] });
    expect(machine.take()).toEqual([LIST]);
  });

  it('gets the addresses that are missing, and keeps those that are not of ours', async () => {
    const { machine, link } = prepared({ [LIST]: listed('dummy', ['169.254.20.10', '10.9.9.9']) });
    expect(await link.add()).toEqual({ isNew: false, addresses: ['fd00:0::10'] });
    expect(machine.take()).toEqual([LIST, ADDED[1]]);
  });

  it.each([
    ['veth', 'veth'],
    [undefined, 'hardware'],
  ])('is refused where the one of that name is %s', async (kind, named) => {
    const { machine, link } = prepared({ [LIST]: listed(kind, []) });
    await expect(link.add()).rejects.toMatchObject({
      code: 'interface',
      message: `the interface nodelocaldns is no dummy but ${named}; another name is --interfacename=NAME`,
    });
    expect(machine.take()).toEqual([LIST]);
  });

  it('says which capability or program is missing', async () => {
    const stderr = 'RTNETLINK answers: Operation not permitted\n';
    const { link } = prepared({ [LIST]: ABSENT, 'ip link add': { status: 2, stderr } });
    await expect(link.add()).rejects.toThrow(
      'ip: RTNETLINK answers: Operation not permitted; it needs the capability NET_ADMIN',
    );
    const { link: other } = prepared({});
    await expect(other.add()).rejects.toThrow('ip is not installed');
  });

  it('has the name of the process that keeps it as its alias', async () => {
    const { machine, link } = prepared({ [LIST]: listed('dummy', [], 'one') });
    await link.setOwner('two');
    expect(machine.take()).toEqual(['ip link set dev nodelocaldns alias two']);
    expect(await link.owner()).toBe('one');
    machine.change({ [LIST]: listed('dummy', []) });
    expect(await link.owner()).toBe('');
  });

  it('goes, unless it is gone', async () => {
    const { machine, link } = prepared({ [LIST]: listed('dummy', []) });
    await link.remove();
    expect(machine.take()).toEqual([LIST, 'ip link delete dev nodelocaldns']);
    machine.change({ [LIST]: ABSENT });
    await link.remove();
    expect(machine.take()).toEqual([LIST]);
  });
});
