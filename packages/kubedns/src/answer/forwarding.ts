import {
  type AskCallback,
  type Client,
  NO_ANSWER_YET,
  type QueryForwarder,
  type ReplyInspector,
  SOURCE,
} from '@kube-dns/transport';
import {
  EXTENDED_ERROR,
  extendedErrorOption,
  AnswerWriter,
  buildQuery,
  CLASS,
  copyQuery,
  equalNames,
  expandKey,
  expandName,
  expandRdata,
  FLAG,
  HEADER_BYTES,
  lowerCaseByte,
  markReasons,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  Query,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  type ResourceRecord,
  SECTION,
  type Section,
  suffixOffset,
  TYPE,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';
import type { Upstreams } from '../config/upstreams.js';
import type { ReverseAnswerer } from './reverse-answerer.js';
import type { ZoneAnswerer } from './zone-answerer.js';

/** The target of an ExternalName has no answer. */
const NO_TARGET = extendedErrorOption(EXTENDED_ERROR.NETWORK_ERROR, 'target of the CNAME');

export interface ExternalNamesOptions {
  readonly zone: ZoneAnswerer;
  readonly records: UpstreamRecords;
  readonly forwarder: QueryForwarder;
  readonly upstreams: Pick<Upstreams, 'groupFor'>;
  readonly ttlSeconds: number;
}

/** The CNAMEs of an answer. */
interface Chain {
  /** The targets; the owner of each CNAME is the target before it. */
  readonly targets: Uint8Array[];
  /** Whether one of the owners is a federated name: the answer then has TTL 0. */
  isFederated: boolean;
}

/** Maximum CNAMEs of a chain; a longer one counts as a loop (skydns: 8). */
const MAX_LINKS = 8;

/**
 * Answers questions about ExternalName services: the CNAME, then the records of its target, from the zone
 * or from upstream. The CNAME is always in the answer; the rcode is the target's (RFC 6604). An answer with
 * anything from upstream is not authoritative.
 */
export class ExternalNames {
  readonly #options: ExternalNamesOptions;
  readonly #writer = new AnswerWriter();
  readonly #out = new Uint8Array(MAX_MESSAGE_BYTES);

  constructor(options: ExternalNamesOptions) {
    this.#options = options;
  }

  /** Answers by the target of the first CNAME, in wire form; returns what an Answerer returns. */
  answer(first: Uint8Array, query: Query, out: Uint8Array, client: Client): number {
    const { zone } = this.#options;
    const chain: Chain = { targets: [first], isFederated: zone.isFederated };
    for (let target = first; ;) {
      const key = target.map(lowerCaseByte);
      if (!zone.contains(key, key.length)) return this.#askUpstream(query, out, client, chain);
      zone.read(key, key.length);
      const next = zone.targetOf(query.type);
      if (next === undefined) {
        this.#begin(query, out, chain);
        zone.answerTarget(target, query, this.#writer);
        return this.#finish(out, chain);
      }
      const { targets } = chain;
      const isLoop = targets.some((each) => equalNames(each, next));
      if (isLoop || targets.length === MAX_LINKS) return this.#fail(query, out, chain);
      targets.push(next);
      chain.isFederated ||= zone.isFederated;
      target = next;
    }
  }

  /** Asks an upstream server for the end of a chain that is outside of the zone. */
  #askUpstream(query: Query, out: Uint8Array, client: Client, chain: Chain): number {
    const { forwarder, upstreams } = this.#options;
    const target = chain.targets.at(-1)!;
    const key = target.map(lowerCaseByte);
    const group = upstreams.groupFor(key, key.length);
    if (group.servers.length === 0) return this.#fail(query, out, chain);
    const copy = copyQuery(query);
    const done: AskCallback = (message, server) => {
      const length =
        message === null
          ? this.#fail(copy, this.#out, chain)
          : this.#relay(message, copy, this.#out, chain);
      reply.send(this.#out, length, SOURCE.UPSTREAM, server);
    };
    const isAsked = forwarder.ask(buildQuery(target, query.type), group, done, client.address);
    if (!isAsked) return this.#fail(query, out, chain);
    // A query that is answered now has no reply path: it would have two answers.
    const reply = client.defer();
    return NO_ANSWER_YET;
  }

  #relay(message: Buffer, query: Query, out: Uint8Array, chain: Chain): number {
    this.#begin(query, out, chain);
    const { records } = this.#options;
    return records.add(message, chain.targets.at(-1)!, query, this.#writer)
      ? this.#finish(out, chain)
      : this.#fail(query, out, chain);
  }

  #fail(query: Query, out: Uint8Array, chain: Chain): number {
    this.#begin(query, out, chain);
    this.#writer.setRcode(RCODE.SERVFAIL, NO_TARGET);
    return this.#finish(out, chain);
  }

  #begin(query: Query, out: Uint8Array, chain: Chain): void {
    this.#writer.begin(query, out, query.maxAnswerBytes);
    this.#writer.setAuthoritative();
    const { ttlSeconds } = this.#options;
    chain.targets.forEach((target, i) => {
      // The first owner is the question's name, in the case that the client sent.
      const owner = i === 0 ? undefined : chain.targets[i - 1];
      this.#writer.add(SECTION.ANSWER, owner, TYPE.CNAME, ttlSeconds, target);
    });
  }

  #finish(out: Uint8Array, { isFederated }: Chain): number {
    const length = this.#writer.finish();
    if (!isFederated) return length;
    const cursor = new RecordCursor().reset(out, length);
    // The TTL of an OPT record holds its flags.
    while (cursor.next()) if (cursor.type !== TYPE.OPT) writeUint32(out, cursor.ttlAt, 0);
    return length;
  }
}

export interface UpstreamRecordsOptions {
  readonly zone: ZoneAnswerer;
  readonly reverse: Pick<ReverseAnswerer, 'find' | 'answer'>;
  /** Whether every object of the cluster was listed once. */
  readonly isSynced: () => boolean;
}

/**
 * Writes what a reply says about a name into an answer: the records that the name leads to. Where its CNAMEs
 * enter the own zone, the zone's own records follow, whatever the reply says about them.
 */
export class UpstreamRecords {
  readonly #options: UpstreamRecordsOptions;
  readonly #isOwnName = (name: Uint8Array): boolean => {
    const key = name.map(lowerCaseByte);
    return this.isOwn(key, key.length);
  };

  constructor(options: UpstreamRecordsOptions) {
    this.#options = options;
  }

  /** Whether no other server speaks for a lower-cased name: it is of the zone, or of an address of the cluster. */
  isOwn(name: Uint8Array, nameLength: number): boolean {
    const { zone, reverse } = this.#options;
    return zone.contains(name, nameLength) || reverse.find(name, nameLength);
  }

  /**
   * Adds the records of a reply about a name; the writer has begun. False where they lead to a CNAME of the
   * own zone, which ends the answer: the next way out of the zone may be a loop.
   */
  add(reply: Uint8Array, name: Uint8Array, query: Query, writer: AnswerWriter): boolean {
    const { zone, reverse, isSynced } = this.#options;
    const rcode = readUint16(reply, 2) & RCODE_MASK;
    writer.setAuthoritative(false);
    writer.setRcode(rcode);
    // A server that had no answer says nothing about any name.
    if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN) return true;
    const { records, end } = upstreamChain(reply, query.type, name, this.#isOwnName);
    const key = end.map(lowerCaseByte);
    const isOwnEnd = this.isOwn(key, key.length);
    // The rcode is that of the end (RFC 6604).
    if (isOwnEnd) writer.setRcode(RCODE.NOERROR);
    for (const { section, owner, type, ttlSeconds, rdata } of records) {
      writer.add(section, owner, type, ttlSeconds, rdata);
    }
    if (!isSynced()) return true;
    if (!zone.contains(key, key.length)) {
      // A service may have got the address while the question was in flight.
      if (isOwnEnd) reverse.answer(query.type, writer, end);
      return true;
    }
    zone.read(key, key.length);
    if (zone.targetOf(query.type) !== undefined) return false;
    zone.answerTarget(end, query, writer);
    return true;
  }
}

/** A record of a reply for our answer, and its section there. */
export interface ChainRecord extends ResourceRecord {
  readonly section: Section;
}

/** What a reply adds to a CNAME chain: records in the order of the chain, and the name it ends at. */
export interface UpstreamChain {
  readonly records: readonly ChainRecord[];
  readonly end: Uint8Array;
}

/** Types whose rdata can be copied to another message after its names were expanded. */
const MOVABLE: ReadonlySet<number> = new Set([
  TYPE.A,
  TYPE.NS,
  TYPE.CNAME,
  TYPE.SOA,
  TYPE.PTR,
  TYPE.MX,
  TYPE.TXT,
  TYPE.AAAA,
  TYPE.SRV,
]);
/** Types from this number on are newer than RFC 3597; its section 4 forbids compressed names in them. */
const FIRST_UNCOMPRESSED = 48;
/** Maximum number of names in the rdata of these types. */
const MAX_NAMES_IN_RDATA = 2;
/** Maximum CNAMEs of a reply that are followed; a longer chain is cut there. */
const MAX_REPLY_LINKS = 16;

/** Whether a question of a type is about what a CNAME leads to, and not about the CNAME itself. */
export function isFollowed(type: number): boolean {
  return type !== TYPE.CNAME && type !== TYPE.ANY;
}

/**
 * The records of a reply that the question for `target` leads to: its CNAMEs, the records of the asked type
 * where they end, or else the SOA above that name. The chain ends where it enters the own zone: no other
 * server speaks for that. Records that are malformed, or cannot be copied to another message, are left out.
 */
export function upstreamChain(
  reply: Uint8Array,
  type: number,
  target: Uint8Array,
  isOwn: (name: Uint8Array) => boolean,
): UpstreamChain {
  const found = chainRecords(reply, type);
  const records: ChainRecord[] = [];
  let end = target;
  while (isFollowed(type) && !isOwn(end) && records.length < MAX_REPLY_LINKS) {
    const owner = end;
    const link = found.find((each) => each.type === TYPE.CNAME && equalNames(each.owner, owner));
    // A chain that leads back to itself is taken once: an answer holds no record twice (RFC 2181 section 5).
    if (link === undefined || records.includes(link)) break;
    records.push(link);
    end = link.rdata;
  }
  if (isOwn(end)) return { records, end };
  const wanted = found.filter((each) => isAsked(each, type) && equalNames(each.owner, end));
  const isAbove = ({ section, owner }: ChainRecord) =>
    section === SECTION.AUTHORITY && !isOwn(owner) && isAtOrBelow(end, owner);
  records.push(...(wanted.length > 0 ? wanted : found.filter(isAbove)));
  return { records, end };
}

/** Whether a record is in the answer to a question of a type; ANY asks for each. */
function isAsked({ section, type: found }: ChainRecord, type: number): boolean {
  return section === SECTION.ANSWER && (found === type || type === TYPE.ANY);
}

function isAtOrBelow(name: Uint8Array, apex: Uint8Array): boolean {
  return suffixOffset(name.map(lowerCaseByte), name.length, apex.map(lowerCaseByte)) >= 0;
}

/** The CNAMEs and the records of a type in the answer section, and the SOAs in the authority section. */
function chainRecords(reply: Uint8Array, type: number): ChainRecord[] {
  const records: ChainRecord[] = [];
  const cursor = new RecordCursor().reset(reply, reply.length);
  while (cursor.next() && cursor.section !== SECTION.ADDITIONAL) {
    const { section } = cursor;
    if (cursor.class !== CLASS.IN || !isWanted(section, cursor.type, type)) continue;
    const owner = expand(reply, cursor.start);
    const rdata = movableRdata(reply, cursor);
    if (owner === undefined || rdata === undefined) continue;
    records.push({ section, owner, type: cursor.type, ttlSeconds: cursor.ttlSeconds, rdata });
  }
  return records;
}

function isWanted(section: Section, found: number, asked: number): boolean {
  if (section === SECTION.AUTHORITY) return found === TYPE.SOA;
  return found === TYPE.CNAME || found === asked || asked === TYPE.ANY;
}

/** The rdata of a cursor's record without compression; undefined when it cannot be expanded. */
function movableRdata(
  reply: Uint8Array,
  { type, rdataStart, end }: RecordCursor,
): Uint8Array | undefined {
  if (!MOVABLE.has(type) && type < FIRST_UNCOMPRESSED) return undefined;
  const expanded = new Uint8Array(end - rdataStart + MAX_NAMES_IN_RDATA * MAX_NAME_BYTES);
  const length = expandRdata(reply, type, rdataStart, end, expanded, 0);
  return length < 0 ? undefined : expanded.slice(0, length);
}

function expand(reply: Uint8Array, at: number): Uint8Array | undefined {
  const name = new Uint8Array(MAX_NAME_BYTES);
  const length = expandName(reply, at, reply.length, name);
  return length < 0 ? undefined : name.slice(0, length);
}

/** More names of a chain than any honest answer has; a longer chain is cut. */
const MAX_NAMES = 16;

/**
 * Inspects the replies to forwarded questions: their clients get the records that the question leads to, and
 * nothing that a server says about the own zone. None is authoritative: this server has no authority over them.
 */
export class ForwardedReplies {
  readonly #records: UpstreamRecords;
  readonly #cursor = new RecordCursor();
  /** The names of the chain, lower-cased, and how long each is. */
  readonly #names = Array.from({ length: MAX_NAMES }, () => new Uint8Array(MAX_NAME_BYTES));
  readonly #lengths = new Uint8Array(MAX_NAMES);
  #count = 0;
  readonly #owner = new Uint8Array(MAX_NAME_BYTES);
  readonly #writer = new AnswerWriter();
  readonly #query = new Query();
  readonly #out = new Uint8Array(MAX_MESSAGE_BYTES);

  constructor(records: UpstreamRecords) {
    this.#records = records;
  }

  /** For the forwarder. */
  readonly inspect: ReplyInspector = (received) => {
    const reply = markReasons(received, this.#cursor);
    writeUint16(reply, 2, readUint16(reply, 2) & ~FLAG.AA);
    return this.#isClean(reply) ? reply : this.#rewrite(reply);
  };

  /** Whether a reply may be relayed as it is. */
  #isClean(reply: Uint8Array): boolean {
    const cursor = this.#cursor.reset(reply, reply.length);
    this.#count = 0;
    if (!this.#addName(reply, QUESTION_OFFSET)) return false;
    const asked = readUint16(reply, cursor.end - QUESTION_FIXED_BYTES);
    while (cursor.next()) {
      const length = expandKey(reply, cursor.start, reply.length, this.#owner);
      if (length < 0) return false;
      if (cursor.section === SECTION.ANSWER) {
        if (cursor.class !== CLASS.IN || !this.#isOfChain(length, cursor.type)) return false;
        if (
          cursor.type === TYPE.CNAME &&
          isFollowed(asked) &&
          !this.#addName(reply, cursor.rdataStart)
        )
          return false;
      } else if (cursor.type !== TYPE.OPT && this.#records.isOwn(this.#owner, length)) return false;
    }
    return true;
  }

  /** Adds a name to the chain; false for one that other servers say nothing about. */
  #addName(reply: Uint8Array, at: number): boolean {
    const name = this.#names[this.#count];
    if (name === undefined) return false;
    const length = expandKey(reply, at, reply.length, name);
    if (length < 0 || this.#records.isOwn(name, length)) return false;
    this.#lengths[this.#count++] = length;
    return true;
  }

  /** Whether the owner of a record is a name of the chain, or above one with a DNAME. */
  #isOfChain(length: number, type: number): boolean {
    const owner = this.#owner.subarray(0, length);
    for (let i = 0; i < this.#count; i++) {
      const at = suffixOffset(this.#names[i]!, this.#lengths[i]!, owner);
      if (at === 0 || (at > 0 && type === TYPE.DNAME)) return true;
    }
    return false;
  }

  /** A reply made of the records of this one that the question leads to, and of those of the own zone. */
  #rewrite(reply: Buffer): Buffer {
    const { end } = this.#cursor.reset(reply, reply.length);
    const question = Buffer.from(reply.subarray(0, end));
    writeUint16(question, 2, FLAG.RD);
    question.fill(0, 6, HEADER_BYTES);
    const query = this.#query;
    query.read(question, end, true, MAX_MESSAGE_BYTES);
    const writer = this.#writer;
    writer.begin(query, this.#out);
    this.#records.add(reply, query.name.slice(0, query.nameLength), query, writer);
    return Buffer.from(this.#out.subarray(0, writer.finish()));
  }
}
