import type { SetupChoice } from '../config/flags.js';
import { NOT_INSTALLED, type Run } from './command.js';

/** The tools that can make rules. */
export type RuleTool = 'nft' | 'iptables';

/** Which tool makes the rules, and why. */
export interface ChosenSetup {
  /** Undefined where there are to be no rules, or no tool can make them. */
  readonly tool: RuleTool | undefined;
  readonly reason: string;

  /** The tools that are installed. */
  readonly installed: ReadonlySet<RuleTool>;
}

/** The interface on which kube-proxy in IPVS mode puts the address of each service. */
export const IPVS_INTERFACE = 'kube-ipvs0';
/** The chain by which kube-proxy in iptables mode sees that its rules are flushed; the kubelet's has another name. */
const CANARY = 'KUBE-PROXY-CANARY';
/** The table of kube-proxy in nftables mode, one for each family. */
const NFT_PROXY_TABLE = /^table ip6? kube-proxy$/m;

/** Chooses as the flag says; `auto` asks this machine what kube-proxy uses. */
export async function chooseSetup(setup: SetupChoice, run: Run): Promise<ChosenSetup> {
  const installed = setup === 'none' ? new Set<RuleTool>() : await installedTools(run);
  const chosen = (tool: RuleTool | undefined, reason: string) => {
    return { tool, reason, installed };
  };
  if (setup === 'none') return chosen(undefined, 'as --setup says');
  if (setup !== 'auto') {
    return installed.has(setup)
      ? chosen(setup, 'as --setup says')
      : chosen(undefined, `${setup} is not installed`);
  }
  if (!installed.has('nft')) {
    return installed.has('iptables')
      ? chosen('iptables', 'nft is not installed')
      : chosen(undefined, 'neither nft nor iptables is installed');
  }
  if (!installed.has('iptables')) return chosen('nft', 'iptables is not installed');
  return chosen(...(await asKubeProxy(run)));
}

async function installedTools(run: Run): Promise<ReadonlySet<RuleTool>> {
  const tools = ['nft', 'iptables'] as const;
  const results = await Promise.all(tools.map((tool) => run([tool, '--version'])));
  return new Set(tools.filter((_, i) => results[i]?.status !== NOT_INSTALLED));
}

async function asKubeProxy(run: Run): Promise<readonly [RuleTool, string]> {
  const tables = await run(['nft', 'list', 'tables']);
  if (NFT_PROXY_TABLE.test(tables.stdout)) return ['nft', 'kube-proxy uses nftables'];
  const ipvs = await run(['ip', 'link', 'show', 'dev', IPVS_INTERFACE]);
  if (ipvs.status === 0) return ['iptables', 'kube-proxy uses IPVS, and iptables with it'];
  const canary = await run(['iptables', '-w', '5', '-t', 'mangle', '-S', CANARY]);
  if (canary.status === 0) return ['iptables', 'kube-proxy uses iptables'];
  return ['nft', 'there is no trace of kube-proxy'];
}
