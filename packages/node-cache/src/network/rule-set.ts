import type { Rule } from './rule.js';

/** Rules on this machine, kept by one tool. Methods reject with a NetworkError. */
export interface RuleSet {
  /** The tool: `nft`, `iptables`, `ip6tables`. */
  readonly tool: string;
  /** Compares, and puts in what is missing in one transaction; these are what it resolves with. */
  add(): Promise<readonly Rule[]>;
  /** Takes them out in one transaction, with what an older version left; nothing where there are none. */
  remove(): Promise<void>;
  /** What the tool reads (`nft -f`, `iptables-restore`) to take them out. */
  readonly removal: readonly string[];
}
