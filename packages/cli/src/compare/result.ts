import { SIDES, type QuestionKind, type Side, type Way } from '../question.js';
import {
  NO_ANSWER,
  NO_REPLY,
  type Aspect,
  type Finding,
  ASPECT_ORDER,
  ASPECTS,
  KNOWN_CLASSES,
  type KnownClass,
} from './compare-replies.js';
import type { LogLines } from './gather.js';
import {
  type Difference,
  CLASSES,
  type DifferenceClass,
  type GivenUp,
  type Latency,
  type LatencyBar,
  type Tally,
  MAX_EXAMPLES,
} from './tally.js';

/** Equal differences: the same kind of question, and the same of each side but for names and data. */
interface Entry {
  readonly class: Aspect;
  readonly kinds: readonly QuestionKind[];
  /** Of the questions: one, or A and AAAA. */
  readonly types: readonly string[];
  /** What the difference means for a client. */
  readonly meaning: string;
  /** Positions in the list of differences, in its order. */
  readonly differences: readonly number[];
}

/** Joins equal differences; the entries are in the order of their first difference. */
export function entriesOf(differences: readonly Difference[]): Entry[] {
  const groups = new Map<string, number[]>();
  differences.forEach((difference, index) => {
    const key = groupKey(difference);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [index]);
    else group.push(index);
  });
  return [...groups.values()].map((group) => {
    const all = group.map((index) => differences[index]!);
    const [first] = all as [Difference];
    return {
      class: first.findings[0]!.aspect,
      kinds: [...new Set(all.map(({ kind }) => kind))].sort(),
      types: [...new Set(all.map(({ type }) => type))].sort(),
      meaning: meaningOf(first),
      differences: group,
    };
  });
}

/** A and AAAA are alike, and a service and its ports. */
function groupKey({ kind, type, findings }: Difference): string {
  const shapes = findings.map(({ aspect, shape }) => [
    aspect,
    withoutFamilies(shape.left),
    withoutFamilies(shape.right),
  ]);
  return JSON.stringify([kind === 'port' ? 'service' : kind, withoutFamilies(type), shapes]);
}

function withoutFamilies(types: string): string {
  const words = types.split(' ').map((word) => (word === 'AAAA' ? 'A' : word));
  return [...new Set(words)].join(' ');
}

/** Other answers by the type of the question, and what a client does with them. */
const OTHER_ANSWERS: ReadonlyMap<string, string> = new Map([
  ['A', 'Clients connect to other addresses, depending on the side that they ask.'],
  ['AAAA', 'Clients connect to other addresses, depending on the side that they ask.'],
  ['SRV', 'Clients find other targets or ports, depending on the side that they ask.'],
  ['PTR', 'Logs and checks that look up an address show another name.'],
  ['CNAME', 'Clients follow the name to another target.'],
  ['NS', 'Pods do not ask for it; resolvers and tools find other name servers of the zone.'],
]);
/** Those of a name that does not exist, and of one without records of the type. */
const NEGATIVE: ReadonlySet<string> = new Set(['NXDOMAIN', 'NOERROR']);

/** What the worst finding of a question means for those who ask, in a sentence or two. */
export function meaningOf(question: {
  readonly type: string;
  readonly findings: readonly Finding[];
}): string {
  const [worst] = question.findings;
  return worst === undefined ? '' : sentence(worst, question.type);
}

function sentence({ aspect, shape }: Finding, type: string): string {
  const sideOf = (isIt: (text: string) => boolean): Side =>
    SIDES.find((side) => isIt(shape[side])) ?? 'right';
  switch (aspect) {
    case 'no-reply': {
      const side = sideOf((text) => text === NO_REPLY);
      return `Clients of ${side} wait until their timeout (5 s with glibc), then fail or ask their next server.`;
    }
    case 'missing-answer': {
      const side = sideOf((text) => text.startsWith(NO_ANSWER));
      const other = side === 'left' ? 'right' : 'left';
      const has = shape[other].split(' ').includes(type)
        ? `${other} has one`
        : `${other} answers with ${shape[other]}, which they follow`;
      return withoutAnswer(side, shape[side].slice(NO_ANSWER.length), type, has);
    }
    case 'rcode':
      return otherRcode(shape);
    case 'answer':
      return (
        OTHER_ANSWERS.get(type) ?? 'Clients get other records, depending on the side that they ask.'
      );
    case 'truncated': {
      const side = sideOf((text) => text === 'truncated');
      return `Clients of ${side} ask again over TCP; those that cannot use TCP fail.`;
    }
    case 'authority': {
      const side = sideOf((text) => !text.includes('SOA'));
      return shape.left.includes('SOA') === shape.right.includes('SOA')
        ? 'Only resolvers read these records: they go on with other name servers of the zone.'
        : `Caches between (NodeLocal DNSCache, dnsmasq) cannot keep a negative answer of ${side}: it has no SOA.`;
    }
    case 'additional': {
      const side = sideOf((text) => text === 'none');
      return shape[side] === 'none'
        ? `Clients of ${side} send one more query for each target of the answer.`
        : 'Clients that use the addresses beside an answer get others.';
    }
    case 'ttl': {
      const side = sideOf((text) => text === 'longer');
      return shape[side] === 'longer'
        ? `Clients of ${side} that cache (JVM, nscd, NodeLocal DNSCache) notice a change later.`
        : 'Clients that cache (JVM, nscd, NodeLocal DNSCache) notice a change at another time.';
    }
    case 'edns': {
      const side = sideOf((text) => text === 'no OPT');
      return `Clients take ${side} for a server without EDNS: its answers over 512 bytes need TCP.`;
    }
  }
}

function withoutAnswer(side: Side, rcode: string, type: string, otherHas: string): string {
  if (!NEGATIVE.has(rcode)) return failing(side, rcode);
  const what = rcode === 'NXDOMAIN' ? 'the name does not exist' : `the name has no ${type} record`;
  const who = type === 'NS' ? 'Pods do not ask for name servers; tools' : 'Clients';
  return `${who} that ask ${side} are answered that ${what}; ${otherHas}.`;
}

function otherRcode(shape: Readonly<Record<Side, string>>): string {
  const failed = SIDES.find((side) => !NEGATIVE.has(shape[side]));
  if (failed !== undefined) return failing(failed, shape[failed]);
  const side = shape.left === 'NOERROR' ? 'left' : 'right';
  return (
    `On ${side} the name exists, without this type; on the other side it does not. musl (Alpine) ends its ` +
    `search list at the answer of ${side}; glibc goes on at both.`
  );
}

function failing(side: Side, rcode: string): string {
  return `For clients of ${side} the lookup fails (${rcode}): they ask again or ask their next server.`;
}

/** A complete run: what every report shows. */
export interface Result {
  readonly startedAt: Date;
  /** As in the flags. */
  readonly servers: Readonly<Record<Side, string>>;
  /** The API server that the objects were read from. */
  readonly api: string | undefined;
  readonly ways: readonly Way[];
  readonly rate: number;
  readonly seconds: number;
  readonly notes: readonly string[];
  readonly logs: readonly LogLines[];
  readonly tally: Tally;
}

/** Milliseconds, to the microsecond. */
function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

function latencyOf(latency: Latency, noReply: number) {
  return {
    replies: latency.count,
    noReply,
    p50Ms: round(latency.percentileMs(0.5)),
    p90Ms: round(latency.percentileMs(0.9)),
    p99Ms: round(latency.percentileMs(0.99)),
    histogram: latency.bars().map(({ toMs, count }) => ({ toMs: round(toMs), count })),
  };
}

/** The whole result as plain data: what `--json` prints and the page shows. */
export function resultData(result: Result) {
  const { startedAt, servers, api, ways, rate, seconds, notes, logs, tally } = result;
  const differences = tally.differences();
  const entries = entriesOf(differences);
  const found = (classes: readonly DifferenceClass[]) =>
    classes
      .filter((one) => tally.classes[one].questions > 0)
      .map((one) => ({ class: one, text: CLASSES[one], ...tally.classes[one] }));
  const { ignore } = tally.rules;
  const known = Object.keys(KNOWN_CLASSES) as KnownClass[];
  const conventions = found(known.filter((one) => !ignore.has(one)));
  const ignored = found([...ignore]);
  const counts = {
    differences: entries.length,
    conventions: conventions.length,
    ignored: ignored.length,
  };
  return {
    verdict: verdictText(counts, tally.givenUp),
    isFailed: tally.isFailed,
    date: startedAt.toISOString(),
    servers,
    api: api ?? null,
    over: ways,
    rate,
    seconds: Math.round(seconds * 100) / 100,
    notes,
    logs,
    questions: { total: tally.questions, ...tally.kinds },
    // These four add up to all questions, and the aspects to `different`.
    totals: {
      same: tally.same,
      known: tally.known,
      different: tally.different,
      notAsked: tally.notAsked,
    },
    aspects: tally.aspects,
    conventions,
    ignored,
    pairs: { total: tally.pairs, skipped: tally.skipped },
    latency: Object.fromEntries(
      SIDES.map((side) => [side, latencyOf(tally.latency[side], tally.noReply[side])]),
    ) as Record<(typeof SIDES)[number], ReturnType<typeof latencyOf>>,
    givenUp: tally.givenUp,
    entries,
    differences,
  };
}
export type ResultData = ReturnType<typeof resultData>;

/** A date of the result for people, to the second. */
export function timeText(date: string): string {
  return `${date.slice(0, 19).replace('T', ' ')} UTC`;
}

function verdictText(
  counts: Readonly<Record<'differences' | 'conventions' | 'ignored', number>>,
  givenUp: readonly GivenUp[],
): string {
  const { differences, conventions, ignored } = counts;
  const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;
  return [
    differences === 0
      ? 'no difference that a client can notice'
      : `${plural(differences, 'difference')} that a client can notice`,
    ...(conventions > 0 ? [plural(conventions, 'convention')] : []),
    ...(ignored > 0 ? [`${ignored} ignored`] : []),
    ...givenUp.map(({ side, way }) => `incomplete: ${side} was given up over ${way}`),
  ].join(', ');
}

/** The questions by their worst difference: each question is in one row, so that the rows add up. */
export function totalRows({ totals, aspects, ignored }: ResultData): [string, number][] {
  return [
    ['the same', totals.same],
    [ignored.length > 0 ? 'conventions or ignored only' : 'conventions only', totals.known],
    ...ASPECT_ORDER.map((aspect): [string, number] => [
      `${aspect}: ${ASPECTS[aspect]}`,
      aspects[aspect],
    ]),
    ['not asked', totals.notAsked],
  ];
}

/** How many replies of each side took at most `toMs`, and more than in the row before. */
interface HistogramRow {
  readonly toMs: number;
  readonly left: number;
  readonly right: number;
}

/** Two distributions side by side, a row for each doubling of the time; nothing without replies. */
export function histogramRows(
  left: readonly LatencyBar[],
  right: readonly LatencyBar[],
): HistogramRow[] {
  const limits = [...new Set([...left, ...right].map(({ toMs }) => toMs))].sort((a, b) => a - b);
  const countOf = (bars: readonly LatencyBar[], limit: number) =>
    bars.find(({ toMs }) => toMs === limit)?.count ?? 0;
  return limits.map((toMs) => ({ toMs, left: countOf(left, toMs), right: countOf(right, toMs) }));
}

/** The result as tables for a terminal, 100 columns but for long records; ends with a line feed. */
export function tableText(data: ResultData): string {
  const parts = [
    [data.verdict],
    headLines(data),
    totalLines(data),
    classLines(
      'Conventions, which no client notices; a question may have several',
      data.conventions,
    ),
    classLines('Ignored', data.ignored),
    latencyLines(data),
    givenUpLines(data),
    entryLines(data),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

function headLines({ date, servers, api, questions, over, seconds, pairs, notes }: ResultData) {
  const { total, ...kinds } = questions;
  const parts = Object.entries(kinds)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind}`);
  const pace = seconds > 0 ? `, ${Math.round(pairs.total / seconds)} a second` : '';
  return [
    `left   ${servers.left}`,
    `right  ${servers.right}`,
    ...(api === null ? [] : [`api    ${api}`]),
    `date   ${timeText(date)}`,
    `${total} questions (${parts.join(', ')})`,
    `${pairs.total} queries to each side over ${over.join(', ')} in ${seconds} s${pace}`,
    ...notes.map((note) => `note: ${note}`),
  ];
}

function totalLines(data: ResultData): string[] {
  const shown = totalRows(data).filter(([text, count]) => count > 0 || text === 'the same');
  const rows = [...shown, ['in all', data.questions.total] as const];
  return ['Questions, by the worst difference', ...countRows(rows)];
}

function classLines(title: string, classes: ResultData['conventions']): string[] {
  if (classes.length === 0) return [];
  return [title, ...countRows(classes.map((one) => [`${one.class}: ${one.text}`, one.questions]))];
}

function countRows(rows: readonly (readonly [string, number])[]): string[] {
  const width = Math.max(...rows.map(([, count]) => String(count).length), 6);
  return rows.map(([text, count]) => `  ${String(count).padStart(width)}  ${text}`);
}

function latencyLines({ latency }: ResultData): string[] {
  const ms = (value: number) => `${value.toPrecision(3)} ms`.padStart(10);
  const head = ['p50', 'p90', 'p99', 'replies', 'no reply'].map((text) => text.padStart(10));
  const rows = SIDES.map((side) => {
    const { p50Ms, p90Ms, p99Ms, replies, noReply } = latency[side];
    const counts = [replies, noReply].map((count) => String(count).padStart(10));
    return `  ${side.padEnd(6)}${[ms(p50Ms), ms(p90Ms), ms(p99Ms), ...counts].join('')}`;
  });
  const bars = histogramLines(latency.left.histogram, latency.right.histogram);
  return [`Latency ${head.join('')}`, ...rows, ...bars];
}

function givenUpLines({ givenUp }: ResultData): string[] {
  return givenUp.map(({ side, way, reason }) => `${side} was given up over ${way}: ${reason}`);
}

function entryLines({ entries, differences }: ResultData): string[] {
  if (entries.length === 0) return [];
  const lines = entries.flatMap((entry) => {
    const [first, ...others] = entry.differences.map((index) => differences[index]!);
    return ['', ...oneEntry(entry, first!, others)];
  });
  return ['Differences that a client can notice, worst first', ...lines];
}

/** The first of equal differences whole, the names of two more, and how many there are. */
function oneEntry(entry: Entry, first: Difference, others: readonly Difference[]): string[] {
  const examples = others.slice(0, MAX_EXAMPLES - 1).map(({ name, type }) => `  ${name} ${type}`);
  const more = others.length - examples.length;
  const findings = first.findings.flatMap(({ aspect, left, right }) => [
    ...sideLines(aspect, 'left', left),
    ...sideLines('', 'right', right),
  ]);
  const questions = others.length === 0 ? '1 question' : `${1 + others.length} questions`;
  return [
    `${entry.class}, ${questions} (${entry.types.join(' or ')}, kind ${entry.kinds.join(' or ')})`,
    `  ${entry.meaning}`,
    `  ${first.name} ${first.type}  (over ${first.over.join(', ')})`,
    ...findings,
    ...examples,
    ...(more > 0 ? [`  and ${more} more: --json and --html have all`] : []),
  ];
}

function sideLines(aspect: string, side: string, texts: readonly string[]): string[] {
  const shown = texts.length === 0 ? ['-'] : texts;
  return shown.map((text, index) => {
    const lead = index === 0 ? `${aspect.padEnd(16)}${side}` : '';
    return `    ${lead.padEnd(23)}${text}`;
  });
}

const BAR_CELLS = 24;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/** Two distributions side by side; nothing without replies. */
function histogramLines(left: readonly LatencyBar[], right: readonly LatencyBar[]): string[] {
  const rows = histogramRows(left, right);
  if (rows.length === 0) return [];
  const most = Math.max(...rows.flatMap((row) => [row.left, row.right]));
  const side = (count: number) => `${String(count).padStart(8)} ${bar(count / most)}`;
  return [
    `  ${'up to'.padStart(10)}    left${' '.repeat(BAR_CELLS + 1)}    right`,
    ...rows.map((row) => {
      const label = `${row.toMs.toPrecision(3)} ms`.padStart(10);
      return `  ${label}${side(row.left)}${side(row.right)}`.trimEnd();
    }),
  ];
}

/** A part of the full width in eighths of a cell; anything above 0 is visible. */
function bar(part: number): string {
  const eighths = part === 0 ? 0 : Math.max(1, Math.round(part * BAR_CELLS * 8));
  const text = '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]!;
  return text.padEnd(BAR_CELLS);
}
