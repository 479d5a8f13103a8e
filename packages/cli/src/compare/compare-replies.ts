import { decodeMessage, FLAG, RCODE_MASK, readUint16, type DecodedRecord } from '@kube-dns/wire';
import { withHashLabel, type Side } from '../question.js';

/** A record, prepared for comparison. */
interface ReplyRecord {
  readonly owner: string;
  readonly type: string;
  readonly ttlSeconds: number;
  readonly data: string;
  /** Owner, type and data without the parts that known classes of differences concern. */
  readonly matchKey: string;
  /** The names of owner and data, to find the class of a difference. */
  readonly names: string;
}

/** A decoded reply for comparison; names in lower case, OPT left out. */
export interface Reply {
  readonly rcode: string;
  readonly isAuthoritative: boolean;
  readonly isRecursive: boolean;
  readonly isTruncated: boolean;
  readonly hasOpt: boolean;
  readonly answers: readonly ReplyRecord[];
  readonly authorities: readonly ReplyRecord[];
  readonly additionals: readonly ReplyRecord[];
}

/** Decodes a reply; undefined when it is malformed. */
export function readReply(bytes: Uint8Array): Reply | undefined {
  try {
    const message = decodeMessage(bytes);
    const opt = message.additionals.find((record) => record.type === 'OPT');
    const extended = opt?.type === 'OPT' ? opt.extendedRcode : 0;
    return {
      rcode: extended > 0 ? `EXTENDED${(extended << 4) | (bytes[3]! & RCODE_MASK)}` : message.rcode,
      isAuthoritative: message.isAuthoritative,
      isRecursive: (readUint16(bytes, 2) & FLAG.RA) !== 0,
      isTruncated: message.isTruncated,
      hasOpt: opt !== undefined,
      answers: message.answers.map(readRecord),
      authorities: message.authorities.map(readRecord),
      additionals: message.additionals.filter(({ type }) => type !== 'OPT').map(readRecord),
    };
  } catch {
    return undefined; // malformed
  }
}

/** What makes a record the same one at another time: all but its TTL. */
export function recordKey({ owner, type, data }: ReplyRecord): string {
  return `${owner} ${type} ${data}`;
}

/** A record in one line, as `dig` prints it. */
function recordText({ owner, ttlSeconds, type, data }: ReplyRecord): string {
  return `${owner} ${ttlSeconds} ${type} ${data}`;
}

/** A whole reply as lines. */
export function replyText(reply: Reply): string[] {
  const flags = [
    reply.isAuthoritative && 'aa',
    reply.isTruncated && 'tc',
    reply.isRecursive && 'ra',
    reply.hasOpt && 'edns',
  ].filter((flag) => flag !== false);
  return [
    [reply.rcode, ...flags].join(' '),
    ...reply.answers.map((record) => `answer ${recordText(record)}`),
    ...reply.authorities.map((record) => `authority ${recordText(record)}`),
    ...reply.additionals.map((record) => `additional ${recordText(record)}`),
  ];
}

interface Data {
  readonly text: string;
  /** The text without the parts that are expected to differ. */
  readonly core: string;
  readonly name: string;
}

function readRecord(record: DecodedRecord): ReplyRecord {
  const owner = record.name.toLowerCase();
  const ttl: unknown = 'ttl' in record ? record.ttl : 0;
  const { text, core, name } = readData(record);
  return {
    owner,
    type: record.type,
    ttlSeconds: typeof ttl === 'number' ? ttl : 0,
    data: text,
    matchKey: `${withHashLabel(owner)} ${record.type} ${core}`,
    names: `${owner} ${name}`,
  };
}

function readData(record: DecodedRecord): Data {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return { text: record.data, core: record.data, name: '' };
    case 'CNAME':
    case 'DNAME':
    case 'NS':
    case 'PTR': {
      const name = record.data.toLowerCase();
      return { text: name, core: withHashLabel(name), name };
    }
    case 'SRV': {
      const { priority = 0, weight = 0, port } = record.data;
      const name = record.data.target.toLowerCase();
      const text = `${priority} ${weight} ${port} ${name}`;
      return { text, core: `${port} ${withHashLabel(name)}`, name };
    }
    case 'SOA': {
      const { serial = 0, refresh = 0, retry = 0, expire = 0, minimum = 0 } = record.data;
      const name = `${record.data.mname} ${record.data.rname}`.toLowerCase();
      const text = `${name} ${serial} ${refresh} ${retry} ${expire} ${minimum}`;
      return { text, core: name, name };
    }
    default: {
      const text = dataText('data' in record ? record.data : '');
      return { text, core: text, name: '' };
    }
  }
}

/** Any other data: strings as `dig` quotes them, unknown bytes in hex, all else as JSON. */
function dataText(data: unknown): string {
  if (typeof data === 'string') return JSON.stringify(data);
  if (data instanceof Uint8Array) return `\\# ${data.length} ${Buffer.from(data).toString('hex')}`;
  if (Array.isArray(data) && data.every((one) => one instanceof Uint8Array)) {
    return data.map((one) => JSON.stringify(Buffer.from(one).toString('latin1'))).join(' ');
  }
  return JSON.stringify(data);
}

/** The aspects in which a client can notice that two replies differ, worst first. */
export const ASPECTS = {
  'no-reply': 'one side does not reply',
  'missing-answer': 'one side has no answer at all',
  rcode: 'another rcode',
  answer: 'other records in the answer',
  truncated: 'one side alone is truncated (TC)',
  authority: 'other records in the authority section',
  additional: 'other records in the additional section',
  ttl: 'another TTL',
  edns: 'an OPT record on one side only',
} as const;
export type Aspect = keyof typeof ASPECTS;

/** The aspects in their order. */
export const ASPECT_ORDER = Object.keys(ASPECTS) as readonly Aspect[];

/** One difference between two replies, with what each side has. */
export interface Finding {
  readonly aspect: Aspect;
  readonly left: readonly string[];
  readonly right: readonly string[];
  /** The same of each side without names and data: equal in differences of one kind. */
  readonly shape: Readonly<Record<Side, string>>;
}

/** Both empty: equal. Only classes: known differences. Any finding: a difference. */
export interface Verdict {
  readonly findings: readonly Finding[];
  readonly classes: readonly KnownClass[];
}

/** A reply, or the reason why there is none. */
export type Replied = Reply | { readonly failure: string };

const SECTIONS = [
  ['answer', 'answers'],
  ['authority', 'authorities'],
  ['additional', 'additionals'],
] as const;

/** Compares the replies of two servers to one question. */
export function compareReplies(left: Replied, right: Replied, rules: CacheRules): Verdict {
  if ('failure' in left || 'failure' in right) return compareFailures(left, right);
  const findings: Finding[] = [];
  const differ = (aspect: Aspect, one: string, other: string) => {
    if (one !== other) findings.push(plainFinding(aspect, one, other));
  };
  differ('rcode', left.rcode, right.rcode);
  differ('truncated', truncationOf(left), truncationOf(right));
  differ('edns', optOf(left), optOf(right));
  const classes = new Set<KnownClass>(flagClasses(left, right));
  // A truncated set cannot be compared; over TCP both are complete.
  if (left.isTruncated || right.isTruncated) return inOrder(findings, classes);
  if (isEmpty(left) !== isEmpty(right)) findings.push(missingAnswer(left, right));
  // Where only one side has a negative answer, the other sections differ in any case.
  const isDetailed = left.rcode === right.rcode && isEmpty(left) === isEmpty(right);
  for (const [aspect, section] of isDetailed ? SECTIONS : []) {
    const found = compareRecords(left[section], right[section], rules);
    for (const known of found.classes) classes.add(known);
    const { otherTtl } = found;
    const isNeeded = (record: ReplyRecord) =>
      aspect !== 'additional' || !rules.seen.optional.has(recordKey(record));
    const onlyLeft = found.onlyLeft.filter(isNeeded);
    const onlyRight = found.onlyRight.filter(isNeeded);
    const missing = found.onlyLeft.length + found.onlyRight.length;
    if (onlyLeft.length + onlyRight.length < missing) classes.add('additional-cached');
    if (onlyLeft.length + onlyRight.length > 0) {
      const shape = { left: typesOf(onlyLeft), right: typesOf(onlyRight) };
      findings.push({ aspect, left: textsOf(onlyLeft), right: textsOf(onlyRight), shape });
    }
    if (otherTtl.length > 0) findings.push(ttlFinding(otherTtl));
  }
  return inOrder(findings, classes);
}

function compareFailures(left: Replied, right: Replied): Verdict {
  // Neither side replied: there is nothing to compare.
  if ('failure' in left && 'failure' in right) return { findings: [], classes: [] };
  const [one, other] = [left, right].map((side) =>
    'failure' in side ? side.failure : side.rcode,
  ) as [string, string];
  const shape = { left: failureShape(left), right: failureShape(right) };
  return { findings: [{ aspect: 'no-reply', left: [one], right: [other], shape }], classes: [] };
}

function failureShape(replied: Replied): string {
  return 'failure' in replied ? NO_REPLY : 'reply';
}

/** The `shape` of a side without a reply, and of one without an answer before its rcode. */
export const NO_REPLY = 'no reply';
export const NO_ANSWER = 'none, ';

function plainFinding(aspect: Aspect, left: string, right: string): Finding {
  return { aspect, left: [left], right: [right], shape: { left, right } };
}

function missingAnswer(left: Reply, right: Reply): Finding {
  const shapeOf = (reply: Reply) =>
    isEmpty(reply) ? NO_ANSWER + reply.rcode : typesOf(reply.answers);
  const linesOf = (reply: Reply) => (isEmpty(reply) ? [shapeOf(reply)] : textsOf(reply.answers));
  const shape = { left: shapeOf(left), right: shapeOf(right) };
  return { aspect: 'missing-answer', left: linesOf(left), right: linesOf(right), shape };
}

function ttlFinding(pairs: readonly (readonly [left: ReplyRecord, right: ReplyRecord])[]): Finding {
  const isLonger = pairs.map(([one, other]) => one.ttlSeconds > other.ttlSeconds);
  const shapeOf = (some: readonly boolean[]) =>
    some.every(Boolean) ? 'longer' : some.some(Boolean) ? 'mixed' : 'shorter';
  return {
    aspect: 'ttl',
    left: pairs.map(([one]) => recordText(one)),
    right: pairs.map(([, other]) => recordText(other)),
    shape: { left: shapeOf(isLonger), right: shapeOf(isLonger.map((is) => !is)) },
  };
}

function inOrder(findings: readonly Finding[], classes: ReadonlySet<KnownClass>): Verdict {
  const sorted = [...findings].sort(
    (one, other) => ASPECT_ORDER.indexOf(one.aspect) - ASPECT_ORDER.indexOf(other.aspect),
  );
  return { findings: sorted, classes: [...classes] };
}

function isEmpty({ answers }: Reply): boolean {
  return answers.length === 0;
}

/** In one order, whatever that of the server is. */
function textsOf(records: readonly ReplyRecord[]): string[] {
  return records.map(recordText).sort();
}

function typesOf(records: readonly ReplyRecord[]): string {
  return [...new Set(records.map(({ type }) => type))].sort().join(' ') || 'none';
}

function truncationOf({ isTruncated }: Reply): string {
  return isTruncated ? 'truncated' : 'complete';
}

function optOf({ hasOpt }: Reply): string {
  return hasOpt ? 'OPT' : 'no OPT';
}

interface CacheRules {
  readonly toleranceSeconds: number;
  readonly seen: CacheSigns;
}

/** What a question that was asked once more showed of a cache; records by `recordKey`. */
export interface CacheSigns {
  /** The records of each side whose TTLs count down. */
  readonly ageing: Readonly<Record<Side, ReadonlySet<string>>>;
  /**
   * Records of an additional section that the same side also answers without. A server may leave them out (RFC 1034
   * section 3.7, RFC 2782), and a cache does: it must not give as an answer what came beside one (RFC 2181 section 5.4.1).
   */
  readonly optional: ReadonlySet<string>;
}

interface RecordsDifference {
  readonly onlyLeft: readonly ReplyRecord[];
  readonly onlyRight: readonly ReplyRecord[];
  /** The same record with TTLs that differ by more than the tolerance. */
  readonly otherTtl: readonly (readonly [left: ReplyRecord, right: ReplyRecord])[];
  readonly classes: readonly KnownClass[];
}

/** Compares two sections as sets: order and repetitions do not count. */
function compareRecords(
  left: readonly ReplyRecord[],
  right: readonly ReplyRecord[],
  { toleranceSeconds, seen: { ageing } }: CacheRules,
): RecordsDifference {
  const classes = new Set<KnownClass>();
  const otherTtl: (readonly [ReplyRecord, ReplyRecord])[] = [];
  const match = (one: ReplyRecord, other: ReplyRecord) => {
    for (const known of classesBetween(one, other)) classes.add(known);
    if (Math.abs(one.ttlSeconds - other.ttlSeconds) <= toleranceSeconds) return;
    const ttls = [
      { seconds: one.ttlSeconds, isAgeing: ageing.left.has(recordKey(one)) },
      { seconds: other.ttlSeconds, isAgeing: ageing.right.has(recordKey(other)) },
    ] as const;
    const known = ttlClass(...ttls, toleranceSeconds);
    if (known !== undefined) classes.add(known);
    else if (one.type === 'SOA') classes.add('soa-numbers');
    else otherTtl.push([one, other]);
  };
  // Equal records first: only those without an equal are matched by their `matchKey`.
  const same = pair(distinct(left), distinct(right), recordKey);
  const alike = pair(same.onlyLeft, same.onlyRight, ({ matchKey }) => matchKey);
  for (const [one, other] of [...same.pairs, ...alike.pairs]) match(one, other);
  return {
    onlyLeft: alike.onlyLeft,
    onlyRight: alike.onlyRight,
    otherTtl,
    classes: [...classes],
  };
}

function distinct(records: readonly ReplyRecord[]): ReplyRecord[] {
  return [...new Map(records.map((record) => [recordKey(record), record])).values()];
}

interface Pairs {
  readonly pairs: (readonly [ReplyRecord, ReplyRecord])[];
  readonly onlyLeft: ReplyRecord[];
  readonly onlyRight: ReplyRecord[];
}

/** Pairs records with equal keys, one to one. */
function pair(
  left: readonly ReplyRecord[],
  right: readonly ReplyRecord[],
  keyOf: (record: ReplyRecord) => string,
): Pairs {
  const waiting = new Map<string, ReplyRecord[]>();
  for (const record of right) {
    const key = keyOf(record);
    const some = waiting.get(key);
    if (some === undefined) waiting.set(key, [record]);
    else some.push(record);
  }
  const pairs: Pairs = { pairs: [], onlyLeft: [], onlyRight: [] };
  for (const record of left) {
    const other = waiting.get(keyOf(record))?.shift();
    if (other === undefined) pairs.onlyLeft.push(record);
    else pairs.pairs.push([record, other]);
  }
  pairs.onlyRight.push(...[...waiting.values()].flat());
  return pairs;
}

/** Conventions: differences that no client notices. They are counted, not listed. */
export const KNOWN_CLASSES = {
  'endpoint-label': 'an endpoint without hostname: hash label against dashed address',
  'ttl-default': 'TTL 30 s against 5 s, the defaults of the two',
  'ttl-ageing': 'a smaller TTL that counts down in a cache',
  'additional-cached': 'addresses beside an answer, which a cache leaves out',
  'srv-weight': 'SRV priority and weight',
  'soa-numbers': 'SOA serial, timers and TTL',
  'ra-flag': 'one side alone sets RA (recursion available)',
  'aa-flag': 'one side alone sets AA (authoritative answer)',
} as const;
export type KnownClass = keyof typeof KNOWN_CLASSES;

/** The first of kube-dns and the addon's Corefile, the second of the plugin of CoreDNS. */
const DEFAULT_TTLS = [30, 5] as const;

/** The known classes of differences between two records with equal `matchKey`. */
function classesBetween(left: ReplyRecord, right: ReplyRecord): KnownClass[] {
  const classes: KnownClass[] = [];
  if (left.names !== right.names) classes.push('endpoint-label');
  if (left.type === 'SRV' && numbersOf(left) !== numbersOf(right)) classes.push('srv-weight');
  if (left.type === 'SOA' && left.data !== right.data) classes.push('soa-numbers');
  return classes;
}

/** The known classes of differences between the headers of two replies. */
function flagClasses(left: Reply, right: Reply): KnownClass[] {
  const classes: KnownClass[] = [];
  if (left.isRecursive !== right.isRecursive) classes.push('ra-flag');
  if (left.isAuthoritative !== right.isAuthoritative) classes.push('aa-flag');
  return classes;
}

/** A TTL, and whether it counts down: then it was larger before. */
interface SeenTtl {
  readonly seconds: number;
  readonly isAgeing: boolean;
}

/** The known class of two TTLs that differ by more than the tolerance; undefined for none. */
export function ttlClass(
  left: SeenTtl,
  right: SeenTtl,
  toleranceSeconds: number,
): KnownClass | undefined {
  const [short, long] = left.seconds < right.seconds ? [left, right] : [right, left];
  const isDefault = ({ seconds, isAgeing }: SeenTtl, limit: number) =>
    seconds <= limit && (isAgeing || seconds >= limit - toleranceSeconds);
  if (isDefault(long, DEFAULT_TTLS[0]) && isDefault(short, DEFAULT_TTLS[1])) return 'ttl-default';
  return short.isAgeing ? 'ttl-ageing' : undefined;
}

function numbersOf({ data }: ReplyRecord): string {
  return data.split(' ', 2).join(' ');
}
