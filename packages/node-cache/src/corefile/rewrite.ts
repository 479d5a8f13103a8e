import { errorText } from '@kube-dns/base';
import { RCODE, typeNumber } from '@kube-dns/wire';
import { type Directive, directiveText } from './corefile.js';
import { CLASS_NUMBERS, RCODE_NUMBERS } from './numbers.js';
import { Pattern } from './pattern.js';
import type { AnswerRule, Draft, NameMatch, RewriteTarget, ServerBlock } from './server-block.js';
import { fail } from './words.js';

type Kind = NameMatch['kind'];
const KINDS = ['exact', 'prefix', 'suffix', 'substring', 'regex'] as const satisfies Kind[];

const MAX_TTL = 2 ** 32 - 1;
/** coredns plugin/rewrite/ttl.go, isValidTTL: of a range without an end. */
const OPEN_TTL = 2 ** 31 - 1;

/** `rewrite [continue|stop] FIELD …`, or the same with the words after `continue` or `stop` in braces; several add up. */
export function readRewrite(each: Directive, draft: Draft<ServerBlock>): void {
  const { line } = each;
  const inner = (each.block ?? []).flatMap(({ name, args }) => [name, ...args]);
  if (each.args.length > 1 && inner.length > 0)
    fail(each, 'write one rule: in a line or in braces');
  const [first = '', ...rest] = [...each.args, ...inner];
  const isMode = /^(continue|stop)$/i.test(first);
  const [field = '', ...words] = isMode ? rest : [first, ...rest];
  const target = readTarget(each, field.toLowerCase(), words);
  const text = [directiveText(each), ...inner].join(' ');
  const isLast = first.toLowerCase() !== 'continue';
  draft.rewrites = [...draft.rewrites, { ...target, text, line, isLast }];
}

function readTarget(each: Directive, field: string, args: readonly string[]): RewriteTarget {
  switch (field) {
    case 'name':
      return readNameRule(each, args);
    case 'type':
    case 'class': {
      if (args.length !== 2) fail(each, `it is rewrite ${field} FROM TO`);
      const [from, to] = args.map((word) => {
        const upper = word.toUpperCase();
        const number = field === 'type' ? typeNumber(upper) : CLASS_NUMBERS.get(upper);
        return number ?? fail(each, `invalid ${field} ${JSON.stringify(upper)}`);
      });
      return { field, from: from!, to: to! };
    }
    case 'ttl':
      return readTtlRule(each, args);
    case 'rcode': {
      if (args.length < 3 || args.length > 4) {
        fail(each, `it is rewrite rcode [${KINDS.join('|')}] NAME FROM TO`);
      }
      const [from, to] = args.slice(-2).map((word) => readRcode(each, word));
      return { field, match: readMatch(each, args.slice(0, -2)), from: from!, to: to! };
    }
    case 'cname':
      return readCnameRule(each, args);
    case 'edns0':
      return fail(each, 'the options of questions are not changed: leave it out');
    case 'answer':
      return fail(each, 'response rewrites must begin with a name rule');
    default:
      return fail(each, `there is no rule for ${JSON.stringify(field)}`);
  }
}

/** `name [KIND] FROM TO [answer …]`: with two words it is exact. */
function readNameRule(each: Directive, args: readonly string[]): RewriteTarget {
  if (args.length < 2) fail(each, 'it is rewrite name [KIND] FROM TO [answer …]');
  const hasKind = args.length > 2;
  const kind = hasKind ? readKind(each, args[0]!) : 'exact';
  const [from = '', to = '', ...rest] = hasKind ? args.slice(1) : args;
  const match = nameMatch(each, kind, from);
  const { isAuto, answers } = readAnswerRules(each, rest);
  if (match.kind === 'regex') checkGroups(each, match.pattern, to);
  // Of an exact name what was asked for is known.
  const isReverted = isAuto || kind === 'exact';
  return { field: 'name', match, to: normalized(to), isAuto: isReverted, answers };
}

/** `answer (auto | (name|value) FROM TO)`, several; `answer` is needed before the first alone. */
function readAnswerRules(
  each: Directive,
  words: readonly string[],
): { isAuto: boolean; answers: readonly AnswerRule[] } {
  let isAuto = false;
  const answers: AnswerRule[] = [];
  if (words.length > 0 && words[0] !== 'answer') fail(each, `${words[0]!} is not answer`);
  for (let at = 0; at < words.length;) {
    if (words[at] === 'answer') at++;
    const part = words[at++];
    if (part === 'auto') {
      isAuto = true;
      continue;
    }
    if (part !== 'name' && part !== 'value') {
      return fail(each, `after answer is auto, name FROM TO or value FROM TO`);
    }
    // As in CoreDNS's own examples.
    if (part === 'name' && words[at] === 'auto') {
      isAuto = true;
      at++;
      continue;
    }
    const [from, to] = words.slice(at, at + 2);
    if (from === undefined || to === undefined) return fail(each, `answer ${part} needs FROM TO`);
    const pattern = readPattern(each, from);
    checkGroups(each, pattern, to);
    answers.push({ part, pattern, to: normalized(to) });
    at += 2;
  }
  if (isAuto && answers.some(({ part }) => part === 'name')) {
    fail(each, 'answer auto and answer name exclude each other');
  }
  return { isAuto, answers };
}

/** `ttl [KIND] NAME SECONDS|[MIN]-[MAX]`. */
function readTtlRule(each: Directive, args: readonly string[]): RewriteTarget {
  if (args.length < 2 || args.length > 3) fail(each, 'it is rewrite ttl [KIND] NAME SECONDS');
  const text = args.at(-1)!;
  const [, min = '', dash = '', max = ''] = /^(\d*)(-?)(\d*)$/.exec(text) ?? [];
  const isRange = dash === '-' && (min !== '' || max !== '');
  const minSeconds = Number(min);
  const maxSeconds = !isRange ? minSeconds : max === '' ? OPEN_TTL : Number(max);
  const isValid = (isRange || min !== '') && minSeconds <= maxSeconds && maxSeconds <= MAX_TTL;
  if (!isValid) fail(each, `${JSON.stringify(text)} is neither SECONDS nor MIN-MAX`);
  return { field: 'ttl', match: readMatch(each, args.slice(0, -1)), minSeconds, maxSeconds };
}

/** `cname [KIND] FROM TO`: parts of names have no last dot added. */
function readCnameRule(each: Directive, args: readonly string[]): RewriteTarget {
  if (args.length < 2 || args.length > 3) fail(each, 'it is rewrite cname [KIND] FROM TO');
  const kind = args.length === 3 ? readKind(each, args[0]!) : 'exact';
  const [from = '', to = ''] = args.slice(-2).map((word) => word.toLowerCase());
  if (kind === 'regex') {
    const pattern = readPattern(each, from);
    checkGroups(each, pattern, to);
    return { field: 'cname', match: { kind, pattern }, to };
  }
  const written = kind === 'exact' ? normalized : (word: string) => word;
  return { field: 'cname', match: { kind, text: written(from) }, to: written(to) };
}

/** `[KIND] NAME`. */
function readMatch(each: Directive, words: readonly string[]): NameMatch {
  const kind = words.length === 2 ? readKind(each, words[0]!) : 'exact';
  return nameMatch(each, kind, words.at(-1)!);
}

function readKind(each: Directive, word: string): Kind {
  const kind = KINDS.find((known) => known === word.toLowerCase());
  return kind ?? fail(each, `${JSON.stringify(word)} is none of ${KINDS.join(', ')}`);
}

function nameMatch(each: Directive, kind: Kind, word: string): NameMatch {
  if (kind === 'regex') return { kind, pattern: readPattern(each, word) };
  return { kind, text: normalized(word) };
}

/** A regular expression; throws. */
export function readPattern(each: Directive, source: string): Pattern {
  try {
    return new Pattern(source);
  } catch (error) {
    return fail(each, errorText(error));
  }
}

function checkGroups(each: Directive, { groups }: Pattern, to: string): void {
  const used = new Set([...to.matchAll(/\{(\d{1,3})\}/g)].map(([, group]) => Number(group)));
  if ([...used].some((group) => group > groups)) {
    fail(each, `${JSON.stringify(to)} uses more groups than the pattern has`);
  }
}

function readRcode(each: Directive, word: string): number {
  const code = /^\d{1,2}$/.test(word) ? Number(word) : RCODE_NUMBERS.get(word.toUpperCase());
  if (code !== undefined && code <= RCODE.BADCOOKIE) return code;
  return fail(each, `${JSON.stringify(word)} is no response code`);
}

/** In lower case, with the last dot (coredns plugin/normalize.go, Name.Normalize). */
function normalized(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith('.') ? lower : `${lower}.`;
}
