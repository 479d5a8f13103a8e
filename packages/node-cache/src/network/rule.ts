/** A rule of the original (cmd/node-cache/app/cache_app.go, initIptables), for one address. */
export interface Rule {
  readonly table: 'raw' | 'filter';
  readonly chain: 'PREROUTING' | 'INPUT' | 'OUTPUT';
  readonly protocol: 'tcp' | 'udp';
  /** Whether address and port are those of the destination or of the source. */
  readonly side: 'd' | 's';
  readonly address: string;
  readonly port: number;
  readonly target: 'NOTRACK' | 'ACCEPT';
}

/** What the rules are for. */
export interface RuleNeeds {
  readonly port: number;
  readonly healthPort: number;
  /** Whether DNS is taken out of connection tracking; without it there are no rules with NOTRACK. */
  readonly skipsTracking: boolean;
}

/** The comments of the original, by target. */
export const RULE_COMMENTS = {
  NOTRACK: 'NodeLocal DNS Cache: skip conntrack',
  ACCEPT: 'NodeLocal DNS Cache: allow DNS traffic',
} as const;

const POSITIONS = [
  ['raw', 'PREROUTING', 'd', 'NOTRACK'],
  ['filter', 'INPUT', 'd', 'ACCEPT'],
  ['raw', 'OUTPUT', 's', 'NOTRACK'],
  ['filter', 'OUTPUT', 's', 'ACCEPT'],
  ['raw', 'OUTPUT', 'd', 'NOTRACK'],
] as const;

/** The twelve rules of an address in the original's order; without `skipsTracking` the four with ACCEPT. */
export function rulesOf(address: string, needs: RuleNeeds): readonly Rule[] {
  const rules: Rule[] = POSITIONS.flatMap(([table, chain, side, target]) =>
    (['tcp', 'udp'] as const).map((protocol) => {
      return { table, chain, protocol, side, address, port: needs.port, target };
    }),
  );
  for (const side of ['d', 's'] as const) {
    const place = { table: 'raw', chain: 'OUTPUT', target: 'NOTRACK' } as const;
    rules.push({ ...place, protocol: 'tcp', side, address, port: needs.healthPort });
  }
  return needs.skipsTracking ? rules : rules.filter(({ target }) => target === 'ACCEPT');
}

/** A rule as the log of the original has it. */
export function ruleText(rule: Rule): string {
  return `{${rule.table} ${rule.chain} [${iptablesMatch(rule)} --comment ${RULE_COMMENTS[rule.target]}]}`;
}

/** The words of iptables for what a rule matches and does, up to the comment. */
export function iptablesMatch({ protocol, side, address, port, target }: Rule): string {
  return `-p ${protocol} -${side} ${address} --${side}port ${port} -j ${target} -m comment`;
}

/** Tells two rules apart. */
export function ruleKey(rule: Rule): string {
  const { table, chain, protocol, side, address, port, target } = rule;
  return [table, chain, protocol, side, address, port, target].join(' ');
}

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
