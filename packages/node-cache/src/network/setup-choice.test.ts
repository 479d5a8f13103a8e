import { describe, expect, it } from '@jest/globals';
import { type Script, ScriptedRun } from '../../test/support/scripted-run.js';
import type { SetupChoice } from '../config/flags.js';
import { chooseSetup } from './setup-choice.js';

const NFT = { 'nft --version': 'nftables v1.0.6', 'nft list tables': 'table inet filter\n' };
const IPTABLES = { 'iptables --version': 'iptables v1.8.9' };
const BOTH = { ...NFT, ...IPTABLES };

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
    ['nft', 'auto', { ...NFT, 'nft list tables': '' }, 'nft', 'iptables is not installed'],
    ['none', 'auto', {}, undefined, 'neither nft nor iptables is installed'],
    ['iptables', 'iptables', BOTH, 'iptables', 'as --setup says'],
    ['nft', 'nft', BOTH, 'nft', 'as --setup says'],
    ['none', 'nft', IPTABLES, undefined, 'nft is not installed'],
    ['none', 'none', BOTH, undefined, 'as --setup says'],
  ])('is %s with --setup=%s and %j', async (_name, setup, script, tool, reason) => {
    const chosen = await chooseSetup(setup, new ScriptedRun(script).run);
    expect(chosen).toMatchObject({ tool, reason });
  });
});
