import { isIPv4 } from 'node:net';
import { errorText } from '@kube-dns/base';
import { type Log } from '@kube-dns/daemon';
import type { SetupChoice } from '../config/flags.js';
import type { Run } from './command.js';
import { IptablesRules } from './iptables-rules.js';
import { NetworkError } from './network-error.js';
import { NftRules } from './nft-rules.js';
import { type RuleNeeds, rulesOf, ruleText } from './rule.js';
import type { RuleSet } from './rule-set.js';
import { type ChosenSetup, chooseSetup, type RuleTool } from './setup-choice.js';

/** Failures by the label `errortype` of `coredns_nodecache_setup_errors_total`. */
export interface SetupErrors {
  iptables: number;
  iptables_lock: number;
  interface_add: number;
  interface_check: number;
}

export interface NodeRulesOptions extends RuleNeeds {
  readonly setup: SetupChoice;
  readonly log: Log;
  readonly run: Run;
}

/** The rules of this node, by the chosen tool. No method rejects: failures are logged and counted. */
export class NodeRules {
  readonly #addresses: readonly string[];
  readonly #options: NodeRulesOptions;
  readonly #errors: SetupErrors;
  #chosen: ChosenSetup | undefined;
  #sets: readonly RuleSet[] = [];
  #areIn = false;

  constructor(addresses: readonly string[], options: NodeRulesOptions, errors: SetupErrors) {
    this.#addresses = addresses;
    this.#options = options;
    this.#errors = errors;
  }

  get tool(): RuleTool | undefined {
    return this.#chosen?.tool;
  }

  /** Why it is this tool, or none. */
  get reason(): string {
    return this.#chosen?.reason ?? '';
  }

  get areIn(): boolean {
    return this.#areIn;
  }

  /** What a guard runs to take them out: a tool and a line of its input. */
  get removal(): readonly string[] {
    return this.#sets.flatMap(({ tool, removal }) => removal.map((line) => `${tool} ${line}`));
  }

  async choose(): Promise<void> {
    const { setup, run, log } = this.#options;
    const chosen = await chooseSetup(setup, run);
    this.#chosen = chosen;
    this.#sets = chosen.tool === undefined ? [] : this.#setsOf(chosen.tool);
    if (setup === 'none') return;
    if (chosen.tool !== undefined) {
      log.info(`rules are made by ${chosen.tool}: ${chosen.reason}`);
      return;
    }
    this.#errors.iptables++;
    log.error(`no rules are made, DNS stays in connection tracking: ${chosen.reason}`);
  }

  /** Puts in what is missing. */
  async add(): Promise<void> {
    const { log } = this.#options;
    let areIn = this.#sets.length > 0;
    for (const set of this.#sets) {
      const isDone = await this.#attempt(set, async () => {
        for (const rule of await set.add()) {
          log.info(`Added back nodelocaldns rule - ${ruleText(rule)}`);
        }
      });
      areIn &&= isDone;
    }
    this.#areIn = areIn;
  }

  async remove(): Promise<void> {
    for (const set of this.#sets) await this.#attempt(set, () => set.remove());
    this.#areIn = false;
  }

  /** Removes what an earlier process made by the other tool: it would stay for ever. */
  async removeOthers(): Promise<void> {
    const { tool, installed } = this.#chosen ?? {};
    const other = tool === 'nft' ? 'iptables' : 'nft';
    if (tool === undefined || installed?.has(other) !== true) return;
    for (const set of this.#setsOf(other)) await this.#attempt(set, () => set.remove());
  }

  #setsOf(tool: RuleTool): readonly RuleSet[] {
    const { run } = this.#options;
    const rules = (addresses: readonly string[]) =>
      addresses.flatMap((address) => rulesOf(address, this.#options));
    if (tool === 'nft') return [new NftRules(rules(this.#addresses), run)];
    const ipv4 = this.#addresses.filter((address) => isIPv4(address));
    const ipv6 = this.#addresses.filter((address) => !isIPv4(address));
    const sets = [
      new IptablesRules('iptables', rules(ipv4), run),
      new IptablesRules('ip6tables', rules(ipv6), run),
    ];
    return sets.filter(({ removal }) => removal.length > 0);
  }

  /** Whether it worked. */
  async #attempt({ tool }: RuleSet, action: () => Promise<void>): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (error) {
      const isLocked = error instanceof NetworkError && error.code === 'rules-locked';
      this.#errors[isLocked ? 'iptables_lock' : 'iptables']++;
      this.#options.log.error(
        `Error checking/adding iptables rule by ${tool}, error - ${errorText(error)}`,
      );
      return false;
    }
  }
}
