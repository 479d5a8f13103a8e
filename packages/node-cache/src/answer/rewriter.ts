import {
  type AnswerSource,
  type Client,
  NO_ANSWER_YET,
  type ReplyPath,
  type ServerAddress,
} from '@kube-dns/transport';
import {
  AnswerWriter,
  copyQuery,
  EXTENDED_ERROR,
  expandRdata,
  extendedErrorOption,
  FLAG,
  HEADER_BYTES,
  MAX_MESSAGE_BYTES,
  nameBytes,
  OwnerNames,
  Query,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  SECTION,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import type { NameMatch, RewriteRule } from '../corefile/server-block.js';
import type { Pattern } from '../corefile/pattern.js';
import { addAnswers, type Lookups } from './lookups.js';
import { nameText, wireName } from './names.js';

/** Answers a rewritten question, as an Answerer does. */
export interface NextPlugins {
  answerNext(query: Query, out: Uint8Array, client: Client, lookups: Lookups): number;
}

/** What is done to an answer because a rule was applied to its question. */
type AnswerChange =
  | { readonly kind: 'names'; readonly from: string; readonly to: string }
  | { readonly kind: 'suffix'; readonly from: string; readonly to: string }
  | {
      readonly kind: 'pattern';
      readonly part: 'name' | 'value';
      readonly pattern: Pattern;
      readonly to: string;
    }
  | { readonly kind: 'ttl'; readonly minSeconds: number; readonly maxSeconds: number }
  | { readonly kind: 'rcode'; readonly from: number; readonly to: number }
  | { readonly kind: 'cname'; readonly match: NameMatch; readonly to: string };

const BAD_NAME = extendedErrorOption(EXTENDED_ERROR.OTHER, 'the rewritten name is none');
const TOO_MANY = extendedErrorOption(EXTENDED_ERROR.OTHER, 'too many names to rewrite');
/** Runs of expressions for one answer: together some 4 ms. */
const MAX_RUNS = 300;

/** The plugin `rewrite` of a block. */
export class Rewriter {
  readonly #rules: readonly RewriteRule[];
  readonly #next: NextPlugins;
  readonly #rewritten = new Query();
  readonly #bytes = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #writer = new AnswerWriter();
  readonly #reverter = new Reverter();

  constructor(rules: readonly RewriteRule[], next: NextPlugins) {
    this.#rules = rules;
    this.#next = next;
  }

  /** Applies the rules to a question, has it answered, and makes the answer one to the question as it was. */
  answer(query: Query, out: Uint8Array, client: Client, lookups: Lookups): number {
    const asked = this.#apply(query);
    if (asked === undefined) return this.#next.answerNext(query, out, client, lookups);
    if (!this.#read(query, asked)) {
      this.#writer.begin(query, out);
      this.#writer.setRcode(RCODE.SERVFAIL, BAD_NAME);
      return this.#writer.finish();
    }
    const inner = new RewrittenClient(
      client,
      (reply) => new RevertedReply(reply, copyQuery(query), asked, lookups, this.#reverter),
    );
    const length = this.#next.answerNext(this.#rewritten, out, inner, lookups);
    if (length === NO_ANSWER_YET) return length;
    const cname = asked.findTarget(out, length);
    if (cname === undefined) return this.#reverter.revert(out, length, query, asked, out);
    // Its target is asked for: the answer comes later.
    inner.defer().send(out, length);
    return NO_ANSWER_YET;
  }

  /** What would be asked in place of a question, and the lines of the rules that make it; undefined where it stays. */
  preview(query: Query): { readonly query: Query; readonly lines: readonly number[] } | undefined {
    const asked = this.#apply(query);
    if (asked === undefined || !this.#read(query, asked)) return undefined;
    return { query: copyQuery(this.#rewritten), lines: asked.lines };
  }

  /** What is asked in place of a question; undefined where no rule is for it. */
  #apply({ name, type, class: itsClass }: Query): Rewritten | undefined {
    let text = nameText(name);
    let asked: Rewritten | undefined;
    for (const rule of this.#rules) {
      const isFor = isForQuestion(rule, text, asked?.type ?? type, asked?.class ?? itsClass);
      if (!isFor) continue;
      asked ??= new Rewritten(text, type, itsClass);
      asked.apply(rule);
      text = asked.name;
      if (rule.isLast) break;
    }
    return asked;
  }

  /** Reads the query with another question; false where that has no name. */
  #read(query: Query, { name, type, class: itsClass }: Rewritten): boolean {
    const bytes = this.#bytes;
    const encoded = wireName(name);
    if (encoded === undefined) return false;
    const end = QUESTION_OFFSET + encoded.length + QUESTION_FIXED_BYTES;
    const rest = query.bytes.subarray(query.questionEnd, query.length);
    const length = end + rest.length;
    if (length > MAX_MESSAGE_BYTES) return false;
    bytes.set(query.bytes.subarray(0, HEADER_BYTES));
    bytes.set(encoded, QUESTION_OFFSET);
    writeUint16(bytes, end - 4, type);
    writeUint16(bytes, end - 2, itsClass);
    bytes.set(rest, end);
    const rewritten = this.#rewritten;
    if (rewritten.read(bytes, length, query.isOverTcp, query.maxUdpBytes) !== 'answer')
      return false;
    rewritten.hasGoodCookie = query.hasGoodCookie;
    rewritten.trace = query.trace;
    return true;
  }
}

/** What is asked in place of a question, and what is done to the answer. */
class Rewritten {
  /** In lower case, with the last dot. */
  name: string;
  type: number;
  class: number;
  readonly lines: number[] = [];
  readonly changes: AnswerChange[] = [];

  constructor(name: string, type: number, itsClass: number) {
    this.name = name;
    this.type = type;
    this.class = itsClass;
  }

  /** Applies a rule that is for it. */
  apply(rule: RewriteRule): void {
    const { changes } = this;
    this.lines.push(rule.line);
    switch (rule.field) {
      case 'name': {
        const { match, isAuto, answers } = rule;
        const before = this.name;
        this.name = replaced(match, before, rule.to) ?? before;
        // The reverse of a suffix is one, whatever the name is.
        if (isAuto && match.kind === 'suffix') {
          changes.push({ kind: 'suffix', from: rule.to, to: match.text });
        } else if (isAuto) changes.push({ kind: 'names', from: this.name, to: before });
        for (const { part, pattern, to } of answers) {
          changes.push({ kind: 'pattern', part, pattern, to });
        }
        return;
      }
      case 'type':
        this.type = rule.to;
        return;
      case 'class':
        this.class = rule.to;
        return;
      case 'ttl':
        changes.push({ kind: 'ttl', minSeconds: rule.minSeconds, maxSeconds: rule.maxSeconds });
        return;
      case 'rcode':
        changes.push({ kind: 'rcode', from: rule.from, to: rule.to });
        return;
      case 'cname':
        changes.push({ kind: 'cname', match: rule.match, to: rule.to });
    }
  }

  /** The first CNAME of an answer whose target is another one by a rule: both as text; undefined without such a rule. */
  findTarget(message: Uint8Array, length: number): CnameTarget | undefined {
    const rules = this.changes.filter((change) => change.kind === 'cname');
    if (rules.length === 0) return undefined;
    const cursor = new RecordCursor().reset(message, length);
    const rdata = new Uint8Array(MAX_MESSAGE_BYTES);
    for (let runs = 0; runs < MAX_RUNS && cursor.next() && cursor.section === SECTION.ANSWER;) {
      if (cursor.type !== TYPE.CNAME) continue;
      const bytes = expandRdata(message, TYPE.CNAME, cursor.rdataStart, cursor.end, rdata, 0);
      if (bytes < 0) return undefined;
      const from = nameText(rdata);
      for (const { match, to } of rules) {
        runs++;
        const target = replaced(match, from, to);
        if (target !== undefined) return { from, to: target };
      }
    }
    return undefined;
  }
}

/** The target of a CNAME, and the one that takes its place: names as text. */
interface CnameTarget {
  readonly from: string;
  readonly to: string;
}

/** An answer to the target that took the place of another one. */
interface FoundTarget extends CnameTarget {
  readonly message: Uint8Array;
}

/** The client of a rewritten question. */
class RewrittenClient implements Client {
  readonly #client: Client;
  readonly #revert: (reply: ReplyPath) => ReplyPath;

  /** `revert` makes the way of an answer to the client one for the answer to the rewritten question. */
  constructor(client: Client, revert: (reply: ReplyPath) => ReplyPath) {
    this.#client = client;
    this.#revert = revert;
  }

  get address(): string {
    return this.#client.address;
  }

  get port(): number {
    return this.#client.port;
  }

  answersFrom(source: AnswerSource): void {
    this.#client.answersFrom(source);
  }

  defer(): ReplyPath {
    return this.#revert(this.#client.defer());
  }
}

/** The way back of an answer to a rewritten question. */
class RevertedReply implements ReplyPath {
  readonly #reply: ReplyPath;
  readonly #query: Query;
  readonly #asked: Rewritten;
  readonly #lookups: Lookups;
  readonly #reverter: Reverter;

  constructor(
    reply: ReplyPath,
    query: Query,
    asked: Rewritten,
    lookups: Lookups,
    reverter: Reverter,
  ) {
    this.#reply = reply;
    this.#query = query;
    this.#asked = asked;
    this.#lookups = lookups;
    this.#reverter = reverter;
  }

  get address(): string {
    return this.#reply.address;
  }

  get port(): number {
    return this.#reply.port;
  }

  send(message: Uint8Array, length: number, source?: AnswerSource, server?: ServerAddress): void {
    const asked = this.#asked;
    const target = asked.findTarget(message, length);
    if (target === undefined) {
      this.#send(message, length, undefined, source, server);
      return;
    }
    // The lookup may use the memory of the message.
    const own = message.slice(0, length);
    const { from, to } = target;
    this.#lookups.ask(to, asked.type, this.#reply, (found) => {
      const answered = found && { from, to, message: found.slice() };
      this.#send(own, length, answered, source, server);
    });
  }

  abandon(): void {
    this.#reply.abandon();
  }

  #send(
    message: Uint8Array,
    length: number,
    found: FoundTarget | undefined,
    source?: AnswerSource,
    server?: ServerAddress,
  ): void {
    const out = this.#reply.out ?? this.#reverter.ownOut;
    const reverted = this.#reverter.revert(message, length, this.#query, this.#asked, out, found);
    this.#reply.send(out, reverted, source, server);
  }
}

/** Makes an answer to a rewritten question one to the question of the client. */
class Reverter {
  /** For an answer that is sent at once, which copies it. */
  readonly ownOut = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #message = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #rdata = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #writer = new AnswerWriter();
  readonly #cursor = new RecordCursor();
  readonly #owners = new OwnerNames(false);
  #runsLeft = 0;
  /** Whether the record that was read last is the CNAME whose target is another one now. */
  #hasTarget = false;

  /** Writes the answer into `out`, which may be the memory of the message, and returns its length. */
  revert(
    answer: Uint8Array,
    length: number,
    query: Query,
    { changes }: Rewritten,
    out: Uint8Array,
    found?: FoundTarget,
  ): number {
    const message = this.#message;
    message.set(answer.subarray(0, length));
    const flags = readUint16(message, 2);
    const cursor = this.#cursor.reset(message, length);
    const reversed = changes.toReversed();
    const writer = this.#writer;
    writer.begin(query, out);
    writer.setAuthoritative((flags & FLAG.AA) !== 0);
    if ((flags & FLAG.TC) !== 0) writer.setTruncated();
    this.#owners.reset(message);
    this.#runsLeft = MAX_RUNS;
    let rcode = flags & RCODE_MASK;
    let options: Uint8Array | undefined;
    let owner: Uint8Array | undefined;
    /** Whether the CNAME with the other target is written, and what is behind it. */
    let isFound = false;
    while (cursor.next()) {
      const { section, type } = cursor;
      if (type === TYPE.OPT) {
        rcode |= message[cursor.ttlAt]! << 4;
        options = message.slice(cursor.rdataStart, cursor.end);
        continue;
      }
      const isAnswer = section === SECTION.ANSWER;
      if (found !== undefined && isAnswer && (isFound || type !== TYPE.CNAME)) continue;
      if (this.#owners.read(cursor.start, cursor.typeAt) < 0) break;
      if (!this.#owners.isSame || owner === undefined) owner = this.#ownerOf(reversed);
      const bytes = this.#dataOf(reversed, isAnswer ? found : undefined);
      if (bytes < 0) break;
      const ttl = ttlOf(reversed, cursor.ttlSeconds);
      writer.add(section, owner, type, ttl, this.#rdata, bytes);
      if (found !== undefined && isAnswer && this.#hasTarget) {
        isFound = true;
        addAnswers(writer, found.message);
      }
    }
    if (cursor.isMalformed() || this.#runsLeft < 0) return this.#refuse(query, out);
    for (const change of reversed) {
      if (change.kind === 'rcode' && change.from === rcode) rcode = change.to;
    }
    writer.setRcode(rcode, options);
    const end = writer.finish();
    if ((flags & FLAG.AD) !== 0) out[3]! |= FLAG.AD;
    return end;
  }

  #refuse(query: Query, out: Uint8Array): number {
    this.#writer.begin(query, out);
    this.#writer.setRcode(RCODE.SERVFAIL, TOO_MANY);
    return this.#writer.finish();
  }

  /** The owner of the record at the cursor, as the client gets it. */
  #ownerOf(changes: readonly AnswerChange[]): Uint8Array {
    const { name } = this.#owners;
    const text = nameText(name);
    const changed = this.#changed(changes, 'name', text);
    return (changed === text ? undefined : wireName(changed)) ?? name.slice(0, nameBytes(name));
  }

  /** Writes the data of the record at the cursor, as the client gets it, and returns its length; -1 for what is malformed. */
  #dataOf(changes: readonly AnswerChange[], found: FoundTarget | undefined): number {
    const rdata = this.#rdata;
    const { type, rdataStart, end } = this.#cursor;
    this.#hasTarget = false;
    const bytes = expandRdata(this.#message, type, rdataStart, end, rdata, 0);
    const at = bytes < 0 ? -1 : nameAt(type, rdata);
    if (at < 0) return bytes;
    const nameEnd = at + nameBytes(rdata.subarray(at));
    const text = nameText(rdata, at);
    let changed = this.#changed(changes, 'value', text);
    if (text === found?.from) {
      this.#hasTarget = true;
      changed = found.to;
    }
    const name = changed === text ? undefined : wireName(changed);
    if (name === undefined) return bytes;
    rdata.copyWithin(at + name.length, nameEnd, bytes);
    rdata.set(name, at);
    return bytes - (nameEnd - at) + name.length;
  }

  /** A name of the answer with the changes of owners or of values. */
  #changed(changes: readonly AnswerChange[], part: 'name' | 'value', text: string): string {
    let name = text;
    for (const change of changes) {
      if (change.kind === 'names') {
        if (name === change.from) name = change.to;
        else if (name.endsWith(`.${change.from}`)) {
          name = name.slice(0, name.length - change.from.length) + change.to;
        }
      } else if (change.kind === 'suffix') {
        if (name.endsWith(change.from)) {
          name = name.slice(0, name.length - change.from.length) + change.to;
        }
      } else if (change.kind === 'pattern' && change.part === part && this.#runsLeft-- > 0) {
        name = replacedPattern(change.pattern, name, change.to) ?? name;
      }
    }
    return name;
  }
}

function ttlOf(changes: readonly AnswerChange[], ttlSeconds: number): number {
  let ttl = ttlSeconds;
  for (const change of changes) {
    if (change.kind !== 'ttl') continue;
    ttl = ttl < change.minSeconds ? change.minSeconds : Math.min(ttl, change.maxSeconds);
  }
  return ttl;
}

const NAPTR_FIXED_BYTES = 4;
const NAPTR_STRINGS = 3;

/** Where the data of a record has the name that is rewritten (coredns plugin/rewrite/reverter.go); -1 for a type without one. */
function nameAt(type: number, rdata: Uint8Array): number {
  switch (type) {
    case TYPE.CNAME:
    case TYPE.DNAME:
    case TYPE.NS:
    case TYPE.PTR:
    case TYPE.SOA:
      return 0;
    case TYPE.MX:
      return 2;
    case TYPE.SRV:
      return 6;
    case TYPE.NAPTR: {
      let at = NAPTR_FIXED_BYTES;
      for (let i = 0; i < NAPTR_STRINGS; i++) at += rdata[at]! + 1;
      return at;
    }
    default:
      return -1;
  }
}

/** Whether a rule is for a question, whose name is this text. */
function isForQuestion(rule: RewriteRule, text: string, type: number, itsClass: number): boolean {
  switch (rule.field) {
    case 'name':
    case 'ttl':
    case 'rcode':
      return isMatching(rule.match, text);
    case 'type':
      return type === rule.from;
    case 'class':
      return itsClass === rule.from;
    case 'cname':
      return true;
  }
}

/** Whether a name, in lower case and with its last dot, is one that a rule is for. */
function isMatching(match: NameMatch, name: string): boolean {
  switch (match.kind) {
    case 'exact':
      return name === match.text;
    case 'prefix':
      return name.startsWith(match.text);
    case 'suffix':
      return name.endsWith(match.text);
    case 'substring':
      return name.includes(match.text);
    case 'regex':
      return match.pattern.test(name);
  }
}

/** What a name becomes; undefined where it is not one that the rule is for. */
function replaced(match: NameMatch, name: string, to: string): string | undefined {
  if (match.kind === 'regex') return replacedPattern(match.pattern, name, to);
  if (!isMatching(match, name)) return undefined;
  switch (match.kind) {
    case 'exact':
      return to;
    case 'prefix':
      return to + name.slice(match.text.length);
    case 'suffix':
      return name.slice(0, name.length - match.text.length) + to;
    case 'substring':
      return name.replaceAll(match.text, () => to);
  }
}

/** `to` with the groups of the match in place of `{1}`; undefined without a match. */
function replacedPattern(pattern: Pattern, name: string, to: string): string | undefined {
  const groups = pattern.find(name);
  return groups && to.replaceAll(/\{(\d{1,3})\}/g, (all, group) => groups[Number(group)] ?? all);
}
