import { type Run, runOrThrow } from './command.js';
import { iptablesMatch, type Rule, RULE_COMMENTS, ruleKey, type RuleSet } from './rule.js';

const TABLES = ['raw', 'filter'] as const;
/** How long the lock of iptables is waited for, as in the original. */
const WAIT = ['-w', '5'] as const;
const WORD = /"((?:[^"\\]|\\.)*)"|(\S+)/g;
/** How the tables of a kernel name the target. */
const UNTRACKED = '-j CT --notrack';

/** A rule of ours as it is in a table. */
interface FoundRule {
  readonly key: string;
  readonly table: Rule['table'];
  /** Its line of `iptables-save`, without `-A`. */
  readonly line: string;
  /** Older versions of the original had none. */
  readonly hasComment: boolean;
}

/** The rules of the original for the addresses of one family, by `iptables-save` and `iptables-restore`. */
export class IptablesRules implements RuleSet {
  readonly tool: 'iptables' | 'ip6tables';
  readonly #rules: readonly Rule[];
  readonly #run: Run;

  constructor(tool: 'iptables' | 'ip6tables', rules: readonly Rule[], run: Run) {
    this.tool = tool;
    this.#rules = rules;
    this.#run = run;
  }

  get removal(): readonly string[] {
    return restoreInput(this.#rules.map((rule) => [rule.table, `-D ${ruleWords(rule)}`]));
  }

  async add(): Promise<readonly Rule[]> {
    // Those that are there once, with their comment; all others of ours are to go.
    const right = new Set<string>();
    const surplus = (await this.#find()).filter(({ key, hasComment }) => {
      if (!hasComment || right.has(key)) return true;
      right.add(key);
      return false;
    });
    const missing = this.#rules.filter((rule) => !right.has(ruleKey(rule)));
    await this.#restore([
      ...surplus.map(({ table, line }) => [table, `-D ${line}`] as const),
      ...missing.map((rule) => [rule.table, `-I ${ruleWords(rule)}`] as const),
    ]);
    return missing;
  }

  async remove(): Promise<void> {
    const found = await this.#find();
    await this.#restore(found.map(({ table, line }) => [table, `-D ${line}`]));
  }

  async #find(): Promise<readonly FoundRule[]> {
    const keys = new Set(this.#rules.map(ruleKey));
    const found: FoundRule[] = [];
    for (const table of TABLES) {
      const { stdout } = await runOrThrow(this.#run, 'rules', [`${this.tool}-save`, '-t', table]);
      for (const line of stdout.split('\n')) {
        const rule = readRule(table, line);
        if (rule !== undefined && keys.has(rule.key)) found.push(rule);
      }
    }
    return found;
  }

  async #restore(changes: readonly (readonly [Rule['table'], string])[]): Promise<void> {
    if (changes.length === 0) return;
    const words = [`${this.tool}-restore`, '--noflush', ...WAIT];
    await runOrThrow(this.#run, 'rules', words, `${restoreInput(changes).join('\n')}\n`);
  }
}

function ruleWords(rule: Rule): string {
  return `${rule.chain} ${iptablesMatch(rule)} --comment "${RULE_COMMENTS[rule.target]}"`;
}

/** Changes as `iptables-restore` reads them. */
function restoreInput(changes: readonly (readonly [Rule['table'], string])[]): readonly string[] {
  return TABLES.flatMap((table) => {
    const lines = changes.filter(([of]) => of === table).map(([, line]) => line);
    return lines.length === 0 ? [] : [`*${table}`, ...lines, 'COMMIT'];
  });
}

/** A line of `iptables-save`; undefined where it has another form than the rules of ours. */
function readRule(table: Rule['table'], line: string): FoundRule | undefined {
  if (!line.startsWith('-A ')) return undefined;
  const fields = new Map<string, string>();
  const words = [...line.replace(UNTRACKED, '-j NOTRACK').matchAll(WORD)];
  const texts = words.map(([, quoted, word]) => quoted ?? word ?? '');
  for (let i = 0; i < texts.length; i += 2) {
    const [option = '', value] = [texts[i], texts[i + 1]];
    if (value === undefined) return undefined;
    if (option === '-m' && (value === 'comment' || value === fields.get('-p'))) continue;
    if (fields.has(option)) return undefined;
    fields.set(option, value);
  }
  const comment = fields.get('--comment');
  const hasComment = fields.delete('--comment');
  const side = fields.has('-d') ? 'd' : 's';
  const target = fields.get('-j') ?? '';
  if (comment !== undefined && comment !== RULE_COMMENTS[target as Rule['target']])
    return undefined;
  const names = ['-A', '-p', `-${side}`, `--${side}port`, '-j'];
  if (fields.size !== names.length) return undefined;
  const [chain, protocol, network = '', port, ...rest] = names.map((name) => fields.get(name));
  const address = network.replace(/\/(?:32|128)$/, '');
  const key = [table, chain, protocol, side, address, port, ...rest].join(' ');
  return { key, table, line: line.slice('-A '.length), hasComment };
}
