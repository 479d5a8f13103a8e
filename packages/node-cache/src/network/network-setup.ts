import { isIPv4 } from 'node:net';
import { errorText } from '@kube-dns/base';
import type { Log } from '@kube-dns/daemon';
import type { SetupChoice } from '../config/options.js';
import { NetworkError, NOT_INSTALLED, type Run } from './command.js';
import { shortAddress } from '@kube-dns/wire';
import { DummyInterface } from './dummy-interface.js';
import { IptablesRules } from './iptables-rules.js';
import { NftRules } from './nft-rules.js';
import { type RuleNeeds, type RuleSet, rulesOf, ruleText } from './rule.js';

/** What takes the rules out when this process cannot; see `Guard`. */
export interface RuleGuard {
  /** From now on it acts when no `beat` comes for `BEAT_LIMIT_MS`, or when this process ends. */
  arm(lines: readonly string[]): void;
  /** This process has answered its own probe. */
  beat(): void;
  /** There is nothing to take out any more. */
  disarm(): void;
}

export interface NetworkSetupOptions extends RuleNeeds {
  readonly setup: SetupChoice;
  readonly log: Log;
  readonly run: Run;
  /** Of both families. */
  readonly localAddresses: readonly string[];
  readonly setsUpInterface: boolean;
  readonly interfaceName: string;
  /** Interface and rules stay at the end, however it comes. */
  readonly skipsTeardown: boolean;
  /** The time between two checks. */
  readonly syncIntervalMs: number;
  /** A word that no other process of this node has, ever. */
  readonly id: string;
  readonly guard: RuleGuard;
  /** Milliseconds of a clock that goes on while this process is stopped. */
  readonly now?: () => number;
}

/** What is there now, for the status. */
export interface NetworkState {
  /** Undefined where no rules are made. */
  readonly tool: RuleTool | undefined;
  /** Why it is this tool, or none. */
  readonly reason: string;
  readonly hasInterface: boolean;
  readonly hasRules: boolean;
}

/** A guard takes the rules out this long after the last beat. */
const BEAT_LIMIT_MS = 2_000;
/** How long it may need for that: it waits 5 s for the lock of iptables. */
const GUARD_ACTS_MS = 6_000;

/**
 * Interface and rules of this node. In order: `prepare` before listening, `addRules` once answers come, from then on
 * `beat` with each answer to a probe of the process's own, `removeRules` while it still answers, `removeInterface` when
 * the listeners are closed. No method rejects: what fails is logged and counted, and tried again at the next check.
 */
export class NetworkSetup {
  readonly errors: SetupErrors = {
    iptables: 0,
    iptables_lock: 0,
    interface_add: 0,
    interface_check: 0,
  };
  readonly #options: NetworkSetupOptions;
  readonly #addresses: readonly string[];
  readonly #interface: DummyInterface | undefined;
  readonly #rules: NodeRules;
  readonly #now: () => number;
  #hasInterface = false;
  /** From `addRules` to `removeRules`. */
  #isServing = false;
  #lastBeatMs = 0;
  #recheckUntilMs = 0;
  #isChecking = false;
  #checks: NodeJS.Timeout | undefined;
  #silence: NodeJS.Timeout | undefined;
  /** One thing at a time. */
  #turn: Promise<void> = Promise.resolve();

  constructor(options: NetworkSetupOptions) {
    const { localAddresses, setsUpInterface, interfaceName, run } = options;
    this.#options = options;
    this.#addresses = localAddresses.map(shortAddress);
    this.#rules = new NodeRules(this.#addresses, options, this.errors);
    this.#now = options.now ?? (() => performance.now());
    this.#interface = setsUpInterface
      ? new DummyInterface(interfaceName, this.#addresses, run)
      : undefined;
  }

  get state(): NetworkState {
    const { chosen, areIn } = this.#rules;
    const { tool, reason = '' } = chosen ?? {};
    return { tool, reason, hasInterface: this.#hasInterface, hasRules: areIn };
  }

  /** Chooses the tool for the rules, and makes the interface, so that its addresses can be listened on. */
  prepare(): Promise<void> {
    return this.#next(async () => {
      await this.#rules.choose();
      await this.#addInterface('interface_add');
      await this.#warnOfIpvs();
    });
  }

  /** Puts the rules in, as they now lead to a process that answers, and checks them each period from now on. */
  addRules(): Promise<void> {
    this.#isServing = true;
    this.#lastBeatMs = this.#now();
    this.#checks ??= setInterval(() => void this.check(), this.#options.syncIntervalMs).unref();
    // Silence may be the interface: one that had taken over and ends takes it away.
    this.#silence ??= setInterval(() => {
      if (this.#isSilent) void this.check();
    }, BEAT_LIMIT_MS).unref();
    return this.#next(async () => {
      await this.#takeOver();
      const { guard, skipsTeardown } = this.#options;
      if (!skipsTeardown && this.#rules.removal.length > 0) guard.arm(this.#guardLines());
      await this.#rules.add();
      await this.#rules.removeOthers();
    });
  }

  /** Puts back what is missing of interface and rules; no rules when the last beat is too old. */
  check(): Promise<void> {
    if (this.#isChecking) return this.#turn;
    this.#isChecking = true;
    return this.#next(async () => {
      this.#isChecking = false;
      if (!this.#isServing) return;
      await this.#addInterface('interface_check');
      if (!this.#isSilent) await this.#rules.add();
    });
  }

  /** A probe of the process's own was answered; to be called every 500 ms. After a gap the rules are put back. */
  beat(): void {
    if (!this.#isServing) return;
    const now = this.#now();
    if (this.#isSilent) this.#recheckUntilMs = now + GUARD_ACTS_MS;
    this.#lastBeatMs = now;
    this.#options.guard.beat();
    // The guard may be at it just now, so once is not enough.
    if (now < this.#recheckUntilMs) void this.check();
  }

  /** Takes the rules out, unless they are to stay or another process has taken over. */
  removeRules(): Promise<void> {
    this.#isServing = false;
    clearInterval(this.#checks);
    clearInterval(this.#silence);
    return this.#next(async () => {
      if (await this.#mayRemove()) await this.#rules.remove();
      this.#options.guard.disarm();
    });
  }

  /** Takes the interface away, unless it is to stay or another process has taken over. */
  removeInterface(): Promise<void> {
    return this.#next(async () => {
      if (this.#interface === undefined || !(await this.#mayRemove())) return;
      try {
        await this.#interface.remove();
        this.#hasInterface = false;
      } catch (error) {
        this.#options.log.error(`Failed to remove interface - ${errorText(error)}`);
      }
    });
  }

  get #isSilent(): boolean {
    return this.#now() - this.#lastBeatMs >= BEAT_LIMIT_MS;
  }

  async #addInterface(errorType: 'interface_add' | 'interface_check'): Promise<void> {
    const { interfaceName, log } = this.#options;
    if (this.#interface === undefined) return;
    try {
      const { isNew, addresses } = await this.#interface.add();
      this.#hasInterface = true;
      if (isNew) log.info(`Added interface - ${interfaceName}`);
      else if (addresses.length > 0) {
        log.info(`Added addresses to interface ${interfaceName} - ${addresses.join(' ')}`);
      }
    } catch (error) {
      this.#hasInterface = false;
      this.errors[errorType]++;
      const what =
        errorType === 'interface_add' ? 'Error adding interface' : 'Error checking dummy device';
      log.error(`${what} ${interfaceName} - ${errorText(error)}`);
    }
  }

  /** From now on interface and rules are this process's, also while the one before it ends. */
  async #takeOver(): Promise<void> {
    const { id, interfaceName, log } = this.#options;
    try {
      const owner = await this.#interface?.owner();
      await this.#interface?.setOwner(id);
      if (owner === undefined || owner === '' || owner === id) return;
      log.info(`interface and rules are taken over from another node-cache, ${owner}`);
    } catch (error) {
      this.errors.interface_check++;
      log.error(`Error checking dummy device ${interfaceName} - ${errorText(error)}`);
    }
  }

  async #mayRemove(): Promise<boolean> {
    const { skipsTeardown, id, log } = this.#options;
    if (skipsTeardown) return false;
    // Where that cannot be read, no other process has written it.
    const owner = await this.#interface?.owner().catch(() => '');
    if (owner === undefined || owner === '' || owner === id) return true;
    log.info(`interface and rules stay: another node-cache has taken over, ${owner}`);
    return false;
  }

  #guardLines(): readonly string[] {
    const { interfaceName, id } = this.#options;
    const owner = this.#interface === undefined ? [] : [`owner ${interfaceName} ${id}`];
    return [...owner, ...this.#rules.removal];
  }

  /** In IPVS mode the addresses of services are on an interface of kube-proxy: the node has them already. */
  async #warnOfIpvs(): Promise<void> {
    const { setup, run, log } = this.#options;
    if (this.#interface === undefined && setup === 'none') return;
    const { status, stdout } = await run(['ip', '-j', 'address', 'show', 'dev', IPVS_INTERFACE]);
    if (status !== 0) return;
    const clash = this.#addresses.find((address) => stdout.includes(`"local":"${address}"`));
    if (clash === undefined) return;
    log.warn(`${clash} is on ${IPVS_INTERFACE}: with IPVS, listen on a link-local address only`);
  }

  #next(action: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(action);
    return this.#turn;
  }
}

/** Failures by the label `errortype` of `coredns_nodecache_setup_errors_total`. */
export interface SetupErrors {
  iptables: number;
  iptables_lock: number;
  interface_add: number;
  interface_check: number;
}

/** The rules of this node, by the chosen tool. No method rejects: failures are logged and counted. */
class NodeRules {
  readonly #addresses: readonly string[];
  readonly #options: NetworkSetupOptions;
  readonly #errors: SetupErrors;
  chosen: ChosenSetup | undefined;
  #sets: readonly RuleSet[] = [];
  /** Whether all of them are in. */
  areIn = false;

  constructor(addresses: readonly string[], options: NetworkSetupOptions, errors: SetupErrors) {
    this.#addresses = addresses;
    this.#options = options;
    this.#errors = errors;
  }

  /** What a guard runs to take them out: a tool and a line of its input. */
  get removal(): readonly string[] {
    return this.#sets.flatMap(({ tool, removal }) => removal.map((line) => `${tool} ${line}`));
  }

  async choose(): Promise<void> {
    const { setup, run, log } = this.#options;
    const chosen = await chooseSetup(setup, run);
    this.chosen = chosen;
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
    this.areIn = areIn;
  }

  async remove(): Promise<void> {
    for (const set of this.#sets) await this.#attempt(set, () => set.remove());
    this.areIn = false;
  }

  /** Removes what an earlier process made by the other tool: it would stay for ever. */
  async removeOthers(): Promise<void> {
    const { tool, installed } = this.chosen ?? {};
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

/** The tools that can make rules. */
type RuleTool = 'nft' | 'iptables';

/** Which tool makes the rules, and why. */
interface ChosenSetup {
  /** Undefined where there are to be no rules, or no tool can make them. */
  readonly tool: RuleTool | undefined;
  readonly reason: string;
  /** The tools that are installed. */
  readonly installed: ReadonlySet<RuleTool>;
}

/** The interface on which kube-proxy in IPVS mode puts the address of each service. */
const IPVS_INTERFACE = 'kube-ipvs0';
/** The chain by which kube-proxy in iptables mode sees that its rules are flushed; the kubelet's has another name. */
const CANARY = 'KUBE-PROXY-CANARY';
/** The table of kube-proxy in nftables mode, one for each family. */
const NFT_PROXY_TABLE = /^table ip6? kube-proxy$/m;

/** Chooses as the flag says; `auto` asks this machine what kube-proxy uses. */
async function chooseSetup(setup: SetupChoice, run: Run): Promise<ChosenSetup> {
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
