import { isIPv4 } from 'node:net';
import { errorText } from '@kube-dns/base';
import { shortIpv6 } from '@kube-dns/wire';
import { DummyInterface } from './dummy-interface.js';
import { NodeRules, type NodeRulesOptions, type SetupErrors } from './node-rules.js';
import { IPVS_INTERFACE, type RuleTool } from './setup-choice.js';

/** What takes the rules out when this process cannot; see `Guard`. */
export interface RuleGuard {
  /** From now on it acts when no `beat` comes for `BEAT_LIMIT_MS`, or when this process ends. */
  arm(lines: readonly string[]): void;
  /** This process has answered its own probe. */
  beat(): void;
  /** There is nothing to take out any more. */
  disarm(): void;
}

export interface NetworkSetupOptions extends NodeRulesOptions {
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
export const BEAT_LIMIT_MS = 2_000;
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
    this.#addresses = localAddresses.map((each) => (isIPv4(each) ? each : shortIpv6(each)));
    this.#rules = new NodeRules(this.#addresses, options, this.errors);
    this.#now = options.now ?? (() => performance.now());
    this.#interface = setsUpInterface
      ? new DummyInterface(interfaceName, this.#addresses, run)
      : undefined;
  }

  get state(): NetworkState {
    const { tool, reason, areIn } = this.#rules;
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
    const taken = this.#addresses.find((address) => stdout.includes(`"local":"${address}"`));
    if (taken === undefined) return;
    log.warn(`${taken} is on ${IPVS_INTERFACE}: with IPVS, listen on a link-local address only`);
  }

  #next(action: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(action);
    return this.#turn;
  }
}
