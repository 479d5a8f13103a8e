import { wrap } from '@kube-dns/base';
import type { ExplainedAnswer, Explanation } from '@kube-dns/telemetry';
import {
  CACHED_ERROR,
  nearNames,
  ownFailure,
  stepOf,
  typeOf,
  type LookedUp,
  type Lookup,
  type PodResolver,
  type SearchPath,
} from './lookup.js';
import type { ExplainOptions } from './options.js';
import type { Missed } from './programs.js';

interface Question {
  readonly name: string;
  readonly type: string;
  /** The address whose reverse name is asked for; undefined when a name was given. */
  readonly address: string | undefined;
}

/** All that the command has found out. */
export interface Result {
  readonly question: Question;
  readonly resolver: PodResolver;
  readonly path: SearchPath;
  readonly lookup: Lookup;
  readonly missed: readonly Missed[];
  readonly advice: readonly string[];
  readonly musl: string | undefined;
  /** Where CoreDNS is known to answer otherwise. */
  readonly coredns: readonly string[];
}

/** The JSON of `-o json`, documented in the README. */
export function resultData(result: Result) {
  const { question, resolver, path, lookup, missed, advice, musl, coredns } = result;
  const { asked, deciding, explained } = lookup;
  return {
    question: { ...question, address: question.address ?? null },
    outcome: deciding.outcome,
    decidedBy: deciding.name,
    explained: explained.name,
    resolver: {
      searches: resolver.searches,
      ndots: resolver.ndots,
      notes: resolver.notes,
      order: path.reason,
    },
    lookup: asked.map(({ name, outcome, why, explanation: { program, verdict } }) => ({
      name,
      outcome,
      why,
      program,
      verdict,
    })),
    explanations: explained.explanations satisfies readonly Explanation[],
    advice,
    musl: musl ?? null,
    coredns,
    notAsked: missed,
  };
}

/** Steps whose text says what can be done. */
const ADVICE_STEPS: ReadonlySet<string> = new Set(['near', 'advice', 'note']);
const NAMES = new Intl.ListFormat('en', { type: 'disjunction', style: 'long' });
const SAVED = 2;

/** What to try next, in sentences. */
export function adviceOf(lookup: Lookup, path: SearchPath, options: ExplainOptions): string[] {
  const { asked, deciding, explained } = lookup;
  const isAnswered = deciding.outcome === 'answered';
  const texts = explained.explanations
    .flatMap(({ steps }) => steps)
    .filter(({ step }) => step !== 'near' && ADVICE_STEPS.has(step))
    .map(({ text }) => text);
  const near = nearSentence(lookup);
  if (near !== undefined) texts.unshift(near);
  if (isAnswered && path.reason === 'searched' && asked.length > SAVED) {
    const saved = asked.length - 1;
    texts.push(
      `${saved} names were asked in vain before, and with A and AAAA twice as many: ask for ${deciding.name} with its final dot to save them, or set a lower ndots in the pod’s dnsConfig.`,
    );
  }
  if (isAnswered && path.reason === 'searched' && TOP_LEVEL.test(options.name)) {
    const [namespace = '', service = ''] = options.name.toLowerCase().split('.').reverse();
    if (deciding.name.toLowerCase().startsWith(`${options.name.toLowerCase()}.svc.`)) {
      texts.push(
        `The namespace ${namespace} has the name of a top-level domain: its service ${service} answers for ${options.name} here. For the name outside of the cluster ask for ${options.name}. with its final dot, and give the namespace another name.`,
      );
    }
  }
  const isShort = !options.name.includes('.');
  if (deciding.outcome === 'no-name' && isShort && !options.isFromGiven) {
    texts.push(
      'If the pod that asks is not in the namespace default, say where it is: --from NAMESPACE.',
    );
  }
  return [...new Set(texts)];
}

/** A question about the names that are near; undefined when all were asked. */
function nearSentence(lookup: Lookup): string | undefined {
  const names = nearNames(lookup);
  return names.length === 0 ? undefined : `Did you mean ${NAMES.format(names)}?`;
}

/** Names of two labels below a country or a large domain; those that are common names of namespaces as well (`shop`) are not here. */
const TOP_LEVEL = /^[^.]+\.(?:[a-z]{2}|com|net|org|edu|gov|mil|int|arpa|info|biz|dev|app|xyz)$/i;

const INDENT = '  ';
const DETAIL_INDENT = '     ';
const MAX_RECORDS = 10;
/** What a terminal must not get: a name server may send any text. */
const UNREADABLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const OUTCOMES = {
  answered: 'answered',
  'no-data': 'empty answer',
  'no-name': 'NXDOMAIN',
  failed: 'failed',
};

/** The result as a colleague says it: the verdict, why, and what to try. */
export function resultText(result: Result): string {
  const { lookup, missed, advice, musl, coredns } = result;
  const sections = [
    wrap('', `${addressText(result)}${hangText(result)}${headline(result)}`, ''),
    section('How it is looked up', [
      ...walkLines(result),
      ...(musl === undefined ? [] : paragraph(`${musl}.`)),
    ]),
    ...lookup.explained.explanations.map((explanation, i) =>
      section(headOf(explanation), stepLines(explanation, lookup.explained, i)),
    ),
    section('What to try', advice.filter((text) => text !== nearText(result)).flatMap(bullet)),
    section('CoreDNS would say', coredns.flatMap(bullet)),
    section(
      'Not asked',
      missed.flatMap(({ program, reason, advice: what }) =>
        bullet(`${program} (${reason}): ${what}.`),
      ),
    ),
  ].filter((lines) => lines.length > 0);
  return `${sections.map((lines) => lines.map(readable).join('\n')).join('\n\n')}\n`;
}

/** A text in which nothing moves the cursor or changes the terminal. */
export function readable(text: string): string {
  return text.replace(UNREADABLE, (character) => {
    const hex = character.codePointAt(0)!.toString(16).padStart(2, '0');
    return `\\x${hex}`;
  });
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

function paragraph(text: string): string[] {
  return wrap(INDENT, text, INDENT);
}

function bullet(text: string): string[] {
  return wrap('  - ', text, '    ');
}

/** What a program sees, and why; the cause comes first where what was seen has another one. */
function headline(result: Result): string {
  const { deciding, explained } = result.lookup;
  const [verdict, reason] = [verdictText(result), reasonText(result)];
  if (deciding.outcome !== 'failed' || deciding === explained) return `${verdict}${reason}`;
  const { name } = result.question;
  return `${name} is not found in the cluster.${reason} The name that was asked for elsewhere fails: ${verdict}`;
}

function verdictText({ question, lookup, path }: Result): string {
  const { name, type } = question;
  const { deciding, asked } = lookup;
  const { rcode } = deciding.explanation.verdict;
  const { ede } = (ownFailure(deciding.explanations, 0) ?? deciding.explanation).verdict;
  const full = deciding.name.replace(/(?<=.)\.$/, '');
  const as = sameName(full, name) ? '' : `, as ${full}`;
  const because = ede
    .map(({ code, text }) => `EDE ${code}${text === '' ? '' : ` ${text}`}`)
    .join(', ');
  switch (deciding.outcome) {
    case 'answered':
      return `${name} has ${recordsText(deciding, type)}${as}`.replace(/\.?$/, '.');
    case 'no-data':
      return `${name} exists${as}, but has no ${type} record: the answer is empty, which is no error.`;
    case 'no-name':
      if (stepOf(lookup.explained, 'absent')?.missing === 'target') {
        return `${name} leads to a name that does not exist (NXDOMAIN).`;
      }
      return path.candidates.length === 1 || asked.length === 1
        ? `${full} does not exist (NXDOMAIN).`
        : `${name} does not exist: none of the ${asked.length} names that are tried for it does (NXDOMAIN).`;
    case 'failed':
      return `${full} cannot be answered: ${rcode ?? 'there is no answer'}${because === '' ? '' : ` (${because})`}.`;
  }
}

/** Why there is no answer, after the verdict. */
function reasonText(result: Result): string {
  const { deciding, explained } = result.lookup;
  const near = nearText(result);
  if (deciding.outcome === 'answered') return '';
  const isInVerdict = deciding.explanation.verdict.ede.some(({ text }) => text === explained.why);
  const why = isInVerdict ? '' : explained.why;
  return [why, near ?? ''].map((text) => (text === '' ? '' : ` ${text}`)).join('');
}

/** The names that are near to one that the cluster lacks or that cannot be asked: they follow the verdict. */
function nearText({ lookup }: Result): string | undefined {
  const { deciding, explained } = lookup;
  if (deciding.outcome === 'failed') return nearSentence(lookup);
  const isAbsent = explained.outcome === 'no-name' && stepOf(explained, 'absent') !== undefined;
  return isAbsent ? nearSentence(lookup) : undefined;
}

/** Which programs hang: that explains more than any answer without them. */
function hangText({ missed }: Result): string {
  return missed
    .filter(({ hangs }) => hangs)
    .map(({ program, reason }) => `${program} hangs (${reason}). `)
    .join('');
}

function addressText({ question: { address } }: Result): string {
  return address === undefined
    ? ''
    : `${address} is an address: no resolver asks DNS for it, so its reverse name is asked. `;
}

function sameName(one: string, other: string): boolean {
  return one.replace(/\.$/, '').toLowerCase() === other.replace(/\.$/, '').toLowerCase();
}

function recordsText({ explanation }: LookedUp, type: string): string {
  const own = explanation.verdict.answers.filter((one) => type === 'ANY' || typeOf(one) === type);
  const data = own.map((record) => record.split(' ').slice(4).join(' '));
  const noun =
    type === 'A' || type === 'AAAA'
      ? data.length === 1
        ? 'the address'
        : 'the addresses'
      : `the ${type} ${data.length === 1 ? 'record' : 'records'}`;
  const shown = data.slice(0, MAX_RECORDS).sort().join(', ');
  return `${noun} ${shown}${data.length > MAX_RECORDS ? ` and ${data.length - MAX_RECORDS} more` : ''}`;
}

function walkLines({ resolver, path, lookup, question }: Result): string[] {
  const { searches, ndots, notes } = resolver;
  const lines = path.reason === 'absolute' ? [] : notes.flatMap(paragraph);
  lines.push(...paragraph(orderText(question.name, path.reason, searches, ndots)));
  lookup.asked.forEach(({ name, outcome, explanation, why }, i) => {
    const reply =
      outcome === 'failed' ? (explanation.verdict.rcode ?? 'no answer') : OUTCOMES[outcome];
    lines.push(`  ${i + 1}. ${name}  ${reply}`);
    const isExplained = name === lookup.explained.name;
    if (why !== '' && !isExplained) lines.push(...wrap(DETAIL_INDENT, why, DETAIL_INDENT));
  });
  return lines;
}

function orderText(
  name: string,
  reason: Result['path']['reason'],
  searches: readonly string[],
  ndots: number,
): string {
  const dots = name.split('.').length - 1;
  const count = `${dots} ${dots === 1 ? 'dot' : 'dots'}`;
  switch (reason) {
    case 'absolute':
      return `${name} ends with a dot, so no search domain is tried.`;
    case 'no-searches':
      return `There are no search domains: ${name} is asked as it is.`;
    case 'enough-dots':
      return `${name} has ${count} (ndots is ${ndots}), so it is asked as it is first, then with the search domains ${searches.join(', ')}.`;
    case 'searched':
      return `${name} has ${count}, fewer than ndots (${ndots}), so the search domains ${searches.join(', ')} are tried first, then the name as it is.`;
  }
}

function headOf({ program, question, verdict }: Explanation): string {
  return `What ${program} says about ${question.name} ${question.type}: ${answerText(verdict)}`;
}

function answerText({ rcode, answers, source, server, ms }: ExplainedAnswer): string {
  const count = `${answers.length} ${answers.length === 1 ? 'record' : 'records'}`;
  const from = server === null ? source : `${source} ${server}`;
  return `${rcode ?? 'no answer'}, ${count}, from ${from}, ${ms} ms`;
}

/** The sentences but those that stand elsewhere: after the verdict, and below what to try. */
function stepLines({ steps, verdict }: Explanation, asked: LookedUp, at: number): string[] {
  const { why } = asked;
  const remembered = ownFailure(asked.explanations, at);
  const records = verdict.answers.slice(0, MAX_RECORDS).map((record) => `    ${record}`);
  const more = verdict.answers.length - records.length;
  if (more > 0) records.push(`    and ${more} more`);
  const reasons = verdict.ede.map(({ code, text }) => {
    const own =
      remembered === undefined || code !== CACHED_ERROR
        ? ''
        : `: ${remembered.program} remembers the failure of what explain itself asked it just before`;
    return `Its answer carries the Extended DNS Error ${code}${text === '' ? '' : ` (${text})`}${own}.`;
  });
  const texts = steps
    .filter(({ step, text }) => !ADVICE_STEPS.has(step) && text !== why)
    .map(({ text }) => text);
  return [...[...texts, ...reasons].flatMap(bullet), ...records];
}
