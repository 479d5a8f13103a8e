import { isIPv4 } from 'node:net';
import { commandError, type CommandResult, NetworkError, type Run, runOrThrow } from './command.js';
import { type Rule, RULE_COMMENTS, ruleKey, type RuleSet } from './rule.js';

/** The table of ours; no other program writes into it. */
export const NFT_TABLE = 'inet node-local-dns';
const [FAMILY, TABLE] = NFT_TABLE.split(' ');
const ABSENT = 'No such file or directory';
const PRIORITIES = { raw: -300, filter: 0 } as const;

/** An object of the list that `nft -j` prints; of its many fields those that are compared. */
interface ListedObject {
  readonly chain?: { readonly name: string; readonly hook?: string; readonly prio?: number };
  readonly rule?: { readonly chain: string; readonly expr: readonly unknown[] };
}

/** The rules of the original in a table of nftables of our own, which goes in and out as one. */
export class NftRules implements RuleSet {
  readonly tool = 'nft';
  /** The first line makes the table where there is none, so that there is one to delete. */
  readonly removal = [`table ${NFT_TABLE}`, `delete table ${NFT_TABLE}`];
  readonly #rules: readonly Rule[];
  readonly #run: Run;

  constructor(rules: readonly Rule[], run: Run) {
    this.#rules = rules;
    this.#run = run;
  }

  async add(): Promise<readonly Rule[]> {
    const list = await this.#list();
    const found = list === undefined ? new Map<string, number>() : foundKeys(list);
    const missing = this.#rules.filter((rule) => !found.has(expectedKey(rule)));
    let total = 0;
    for (const count of found.values()) total += count;
    if (missing.length === 0 && total === this.#rules.length) return [];
    await this.#transact([...this.removal, ...this.#tableText()]);
    return missing;
  }

  async remove(): Promise<void> {
    if ((await this.#list()) !== undefined) await this.#transact(this.removal);
  }

  async #list(): Promise<readonly ListedObject[] | undefined> {
    const result = await this.#run(['nft', '-j', 'list', 'table', FAMILY!, TABLE!]);
    if (result.status === 0) return listed(result);
    if (result.stderr.includes(ABSENT)) return undefined;
    throw commandError('rules', 'nft', result);
  }

  async #transact(lines: readonly string[]): Promise<void> {
    await runOrThrow(this.#run, 'rules', ['nft', '-f', '-'], `${lines.join('\n')}\n`);
  }

  #tableText(): readonly string[] {
    const chains = new Map<string, Rule[]>();
    for (const rule of this.#rules) {
      const name = chainName(rule);
      const rules = chains.get(name);
      if (rules === undefined) chains.set(name, [rule]);
      else rules.push(rule);
    }
    const texts = [...chains].flatMap(([name, rules]) => {
      const { chain, table } = rules[0]!;
      const hook = `type filter hook ${chain.toLowerCase()} priority ${table}; policy accept;`;
      return [`  chain ${name} {`, `    ${hook}`, ...rules.map(nftRule), '  }'];
    });
    return [`table ${NFT_TABLE} {`, ...texts, '}'];
  }
}

/** Both tables of iptables have an OUTPUT, so both are in the name. */
function chainName({ table, chain }: Pick<Rule, 'table' | 'chain'>): string {
  return `${table}-${chain.toLowerCase()}`;
}

function nftRule({ protocol, side, address, port, target }: Rule): string {
  const family = isIPv4(address) ? 'ip' : 'ip6';
  const match = `${family} ${side}addr ${address} ${protocol} ${side}port ${port}`;
  return `    ${match} ${target.toLowerCase()} comment "${RULE_COMMENTS[target]}"`;
}

function listed({ stdout }: CommandResult): readonly ListedObject[] {
  try {
    return (JSON.parse(stdout) as { nftables: readonly ListedObject[] }).nftables;
  } catch (cause) {
    throw new NetworkError('rules', 'nft: its list of the table is not JSON', { cause });
  }
}

function expectedKey(rule: Rule): string {
  const { table, chain } = rule;
  return `${chain.toLowerCase()} ${PRIORITIES[table]} ${ruleKey(rule)}`;
}

/** The rules of a table, each with how often it is there; what has another form has a key that no rule has. */
function foundKeys(list: readonly ListedObject[]): ReadonlyMap<string, number> {
  const hooks = new Map<string, string>();
  for (const { chain } of list) {
    if (chain !== undefined) hooks.set(chain.name, `${chain.hook ?? ''} ${chain.prio ?? ''}`);
  }
  const found = new Map<string, number>();
  for (const { rule } of list) {
    if (rule === undefined) continue;
    const [table, chain = ''] = rule.chain.split('-');
    const key = `${hooks.get(rule.chain) ?? ''} ${table} ${chain.toUpperCase()} ${expressionKey(rule.expr)}`;
    found.set(key, (found.get(key) ?? 0) + 1);
  }
  return found;
}

/** `tcp d 169.254.20.10 53 NOTRACK` of the expressions of such a rule. */
function expressionKey(expressions: readonly unknown[]): string {
  const [address, port, verdict, ...rest] = expressions as readonly Expression[];
  const [from, to] = [address?.match, port?.match];
  const side = from?.left?.payload?.field?.slice(0, 1);
  const isOurs =
    rest.length === 0 &&
    from?.op === '==' &&
    to?.op === '==' &&
    from.left?.payload?.field === `${side}addr` &&
    to.left?.payload?.field === `${side}port`;
  if (!isOurs) return JSON.stringify(expressions);
  const target = Object.keys(verdict ?? {})
    .join(' ')
    .toUpperCase();
  return [to.left.payload.protocol, side, from.right, to.right, target].join(' ');
}

interface Expression {
  readonly match?: {
    readonly op?: string;
    readonly left?: { readonly payload?: { readonly protocol?: string; readonly field?: string } };
    readonly right?: unknown;
  };
}
