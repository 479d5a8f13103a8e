import { TraceKind } from '@kube-dns/base';
import {
  type AskCallback,
  type Client,
  NO_ANSWER_YET,
  type QueryForwarder,
  type ReplyInspector,
  type ReplyPath,
  type ServerAddress,
  SOURCE,
} from '@kube-dns/transport';
import {
  AnswerWriter,
  buildQuery,
  CLASS,
  copyQuery,
  equalNames,
  expandKey,
  expandRdata,
  EXTENDED_ERROR,
  extendedErrorOption,
  FLAG,
  HEADER_BYTES,
  lowerCaseByte,
  markReasons,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  OwnerNames,
  Query,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  RCODE,
  rcodeOf,
  readUint16,
  RecordCursor,
  type ResourceRecord,
  SECTION,
  type Section,
  isInZone,
  suffixOffset,
  TYPE,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';
import type { Upstreams } from '../config/upstreams.js';
import type { Candidates, LocalNames } from './local-names.js';
import type { ReverseAnswerer } from './reverse-answerer.js';
import type { ZoneAnswerer } from './zone-answerer.js';

export interface ForwardingOptions {
  readonly zone: ZoneAnswerer;
  readonly reverse: ReverseAnswerer;
  readonly forwarder: QueryForwarder;
  readonly upstreams: Pick<Upstreams, 'groupFor'>;
  readonly ttlSeconds: number;
  /** Whether every object of the cluster was listed once. */
  readonly isSynced: () => boolean;
  readonly localNames?: LocalNames | undefined;
}

/** The CNAMEs of an answer. */
interface Chain {
  /** The targets; the owner of each CNAME is the target before it. */
  readonly targets: Uint8Array[];
  /** Whether one of the owners is a federated name: the answer then has TTL 0. */
  isFederated: boolean;
  /** Of the CNAMEs. */
  ttlSeconds: number;
  /** Where the last target is one of several that may exist: these. */
  candidates: Candidates | undefined;
}

/** Returned in place of the length of an answer: other servers are to be asked for the end of the chain. */
const ASK_UPSTREAM = -2;
/** Maximum CNAMEs of the zone in a chain; a longer one counts as a loop (skydns: 8). */
const MAX_OWN_LINKS = 8;
/** More names of a chain in a reply than any honest answer has; a longer chain is cut. */
const MAX_CHAIN_NAMES = 16;
/** Of a reply that is taken apart so many CNAMEs are looked at: each name of a chain has one. */
const MAX_CNAMES = 64;
const NO_SERVERS = extendedErrorOption(EXTENDED_ERROR.NETWORK_ERROR, 'no name servers');
/** The target of an ExternalName has no answer. */
const NO_TARGET = extendedErrorOption(EXTENDED_ERROR.NETWORK_ERROR, 'target of the CNAME');
/** CNAMEs of the cluster lead back to one of them: its objects are to be corrected, no server has failed. */
const LOOP = extendedErrorOption(EXTENDED_ERROR.OTHER, 'CNAME loop');
const TOO_MANY_LINKS = extendedErrorOption(EXTENDED_ERROR.OTHER, 'too many CNAMEs');
/** Other servers lead back to a CNAME of the cluster. */
const LED_BACK = extendedErrorOption(EXTENDED_ERROR.OTHER, 'CNAME back to one of the cluster');

/** A target of the CNAMEs of the zone, lower-cased. */
export const FOLLOWED = new TraceKind<Uint8Array>();
/** The name of a question that is forwarded is above one that is answered here. */
export const ABOVE_LOCAL = new TraceKind<true>();

/**
 * What other servers are asked for: names outside of the cluster, and the ends of CNAMEs that lead there. Clients get
 * the records of a reply that their question leads to, and nothing that a server says about the own zone. AA is about the first
 * owner name of an answer (RFC 1035 section 4.1.1): a name of the zone has it, whatever its CNAME leads to, and no other name.
 */
export class Forwarding {
  readonly #options: ForwardingOptions;
  /** Scratch for answers that are made of replies. */
  readonly #writer = new AnswerWriter();
  readonly #query = new Query();
  readonly #out = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #cursor = new RecordCursor();
  /** The names of the chain of the reply that is inspected, lower-cased, and how long each is. */
  readonly #names = Array.from({ length: MAX_CHAIN_NAMES }, () => new Uint8Array(MAX_NAME_BYTES));
  readonly #lengths = new Uint8Array(MAX_CHAIN_NAMES);
  #nameCount = 0;
  readonly #owners = new OwnerNames(true);

  constructor(options: ForwardingOptions) {
    this.#options = options;
  }

  /** Forwards a question; returns what an Answerer returns. */
  forward(query: Query, out: Uint8Array, client: Client): number {
    const { forwarder, upstreams } = this.#options;
    const { name, nameLength, trace } = query;
    const group = upstreams.groupFor(name, nameLength, trace);
    if (trace !== undefined && this.#isAbove(name, nameLength)) trace.note(ABOVE_LOCAL, true);
    if (group.servers.length > 0)
      return forwarder.forward(query, out, client, group, this.#inspect);
    // A missing server is a failure, not a policy: SERVFAIL, as the original.
    this.#writer.begin(query, out, query.maxAnswerBytes);
    this.#writer.setRcode(RCODE.SERVFAIL, NO_SERVERS);
    return this.#writer.finish();
  }

  /**
   * Answers with a CNAME of the zone, or of another name of the cluster, whose target is `first` in wire form, and the records
   * of its target, from here or from upstream. `isFederated`: whether the CNAME is; as the zone's name was read unless given. The CNAME is always in the answer; the rcode is the target's (RFC 6604). Returns what an Answerer
   * returns.
   */
  follow(
    first: Uint8Array,
    query: Query,
    out: Uint8Array,
    client: Client,
    isFederated = this.#options.zone.isFederated,
  ): number {
    const { ttlSeconds } = this.#options;
    const chain = { targets: [first], isFederated, ttlSeconds, candidates: undefined };
    return this.#resolve(query, out, client, chain);
  }

  /** Answers with a CNAME to the first of these names that exists, and as `follow`; NXDOMAIN where none exists. */
  search(candidates: Candidates, query: Query, out: Uint8Array, client: Client): number {
    const { ttlSeconds } = this.#options;
    const chain: Chain = { targets: [], isFederated: false, ttlSeconds, candidates };
    if (!tryNext(chain, query)) return this.#deny(query, out, chain);
    return this.#resolve(query, out, client, chain);
  }

  #resolve(query: Query, out: Uint8Array, client: Client, chain: Chain): number {
    const length = this.#walk(query, out, chain);
    return length === ASK_UPSTREAM ? this.#askUpstream(query, out, client, chain) : length;
  }

  /** Follows a chain through the names that are answered here. Returns the length of the answer, or ASK_UPSTREAM. */
  #walk(query: Query, out: Uint8Array, chain: Chain): number {
    const { zone, localNames } = this.#options;
    const { targets } = chain;
    for (;;) {
      const target = targets.at(-1)!;
      const key = target.map(lowerCaseByte);
      query.trace?.note(FOLLOWED, key);
      const isUnknown = chain.candidates?.isUnknown === true;
      // The CNAME is the answer, once it is known to be the right one.
      if (!isFollowed(query.type) && !isUnknown) {
        this.#begin(query, out, chain);
        return this.#finish(out, chain);
      }
      const isOfZone = zone.contains(key, key.length);
      if (isOfZone) zone.read(key, key.length);
      else if (localNames?.find(key, key.length, query.trace) !== true) return ASK_UPSTREAM;
      else if (!localNames.isSynced) return this.#fail(query, out, chain);
      const candidates = isOfZone ? undefined : localNames!.candidates?.();
      const next = isOfZone ? zone.targetOf(query.type) : localNames!.targetOf(query.type);
      if (next === undefined && candidates === undefined) {
        this.#begin(query, out, chain);
        if (isOfZone) zone.answerTarget(target, query, this.#writer);
        else localNames!.answer(query.type, this.#writer, target);
        return this.#finish(out, chain);
      }
      const isLoop = next !== undefined && targets.some((each) => equalNames(each, next));
      if (isLoop) return this.#fail(query, out, chain, LOOP);
      if (targets.length === MAX_OWN_LINKS) return this.#fail(query, out, chain, TOO_MANY_LINKS);
      chain.isFederated ||= isOfZone && zone.isFederated;
      chain.candidates = candidates;
      if (next !== undefined) targets.push(next);
      else if (!tryNext(chain, query)) return this.#deny(query, out, chain);
    }
  }

  /** Asks an upstream server for the end of a chain that is outside of the zone. */
  #askUpstream(query: Query, out: Uint8Array, client: Client, chain: Chain): number {
    const copy = copyQuery(query);
    copy.trace = query.trace;
    copy.hasGoodCookie = query.hasGoodCookie;
    const done: AskCallback = (message, server) => {
      this.#proceed(message, server, copy, chain, reply);
    };
    if (!this.#ask(query, client.address, chain, done)) return this.#fail(query, out, chain);
    // A query that is answered now has no reply path: it would have two answers.
    const reply = client.defer();
    return NO_ANSWER_YET;
  }

  /** False, and no call, where the end of the chain cannot be asked for. */
  #ask(query: Query, client: string, { targets }: Chain, done: AskCallback): boolean {
    const { forwarder, upstreams } = this.#options;
    const target = targets.at(-1)!;
    const key = target.map(lowerCaseByte);
    const group = upstreams.groupFor(key, key.length, query.trace);
    if (group.servers.length === 0) return false;
    return forwarder.ask(buildQuery(target, query.type), group, done, client, query);
  }

  /** Sends the answer that a reply leads to; or tries the next name, where the end of the chain is one that does not exist. */
  #proceed(
    message: Buffer | null,
    server: ServerAddress | undefined,
    query: Query,
    chain: Chain,
    reply: ReplyPath,
  ): void {
    let length: number;
    if (message === null || !this.#isAbsent(message, query.type, chain)) {
      length = this.#answerFrom(message, query, chain);
    } else {
      chain.targets.pop();
      if (!tryNext(chain, query)) length = this.#deny(query, this.#out, chain);
      else length = this.#walk(query, this.#out, chain);
    }
    if (length === ASK_UPSTREAM) {
      const done: AskCallback = (next, of) => this.#proceed(next, of, query, chain, reply);
      if (this.#ask(query, reply.address, chain, done)) return;
      length = this.#fail(query, this.#out, chain);
    }
    reply.send(this.#out, length, SOURCE.UPSTREAM, server);
  }

  /** Whether a reply says that the end of a chain, which may not exist, does not: it is no CNAME either (RFC 6604). */
  #isAbsent(reply: Uint8Array, type: number, { targets, candidates }: Chain): boolean {
    if (candidates?.isUnknown !== true) return false;
    if (rcodeOf(reply) !== RCODE.NXDOMAIN) return false;
    const target = targets.at(-1)!;
    const key = target.map(lowerCaseByte);
    if (this.#isAbove(key, key.length)) return false;
    return upstreamChain(reply, type, target, this.#isOwnName).end === target;
  }

  /** Makes an answer of a chain and of the reply about its end; null when there is none. Returns its length. */
  #answerFrom(reply: Buffer | null, query: Query, chain: Chain): number {
    if (reply === null) return this.#fail(query, this.#out, chain);
    if (chain.candidates?.isUnknown === true) {
      // Of a server that has no answer it is not known whether the name exists.
      if (isFailure(reply)) return this.#fail(query, this.#out, chain);
      chain.candidates = undefined;
    }
    this.#begin(query, this.#out, chain);
    if (!isFollowed(query.type)) return this.#finish(this.#out, chain);
    return this.#addReply(reply, chain.targets.at(-1)!, query)
      ? this.#finish(this.#out, chain)
      : this.#fail(query, this.#out, chain, LED_BACK);
  }

  #fail(query: Query, out: Uint8Array, chain: Chain, reason = NO_TARGET): number {
    if (chain.candidates?.isUnknown === true) chain.targets.pop();
    this.#begin(query, out, chain);
    this.#writer.setRcode(RCODE.SERVFAIL, reason);
    return this.#finish(out, chain);
  }

  /** Answers that none of the names that may exist does. */
  #deny(query: Query, out: Uint8Array, chain: Chain): number {
    this.#begin(query, out, chain);
    chain.candidates!.deny(this.#writer);
    return this.#finish(out, chain);
  }

  #begin(query: Query, out: Uint8Array, chain: Chain): void {
    this.#writer.begin(query, out, query.maxAnswerBytes);
    this.#writer.setAuthoritative();
    const { ttlSeconds } = chain;
    chain.targets.forEach((target, i) => {
      // The first owner is the question's name, in the case that the client sent.
      const owner = i === 0 ? undefined : chain.targets[i - 1];
      this.#writer.add(SECTION.ANSWER, owner, TYPE.CNAME, ttlSeconds, target);
    });
  }

  #finish(out: Uint8Array, { isFederated }: Chain): number {
    this.#options.zone.markSnapshot(this.#writer);
    const length = this.#writer.finish();
    if (!isFederated) return length;
    const cursor = this.#cursor.reset(out, length);
    // The TTL of an OPT record holds its flags.
    while (cursor.next()) if (cursor.type !== TYPE.OPT) writeUint32(out, cursor.ttlAt, 0);
    return length;
  }

  /** Whether no other server speaks for a lower-cased name: it is of the cluster, or of an address of it. */
  #isOwn(name: Uint8Array, length: number): boolean {
    const { zone, reverse, localNames } = this.#options;
    if (zone.contains(name, length) || reverse.find(name, length)) return true;
    return localNames?.find(name, length) === true;
  }

  /**
   * Whether a lower-cased name is above one that is answered here: it exists, and where a server says NXDOMAIN of it that becomes
   * NODATA, as a cache may take NXDOMAIN for all names below (RFC 8020 section 2; dnsmasq rfc1035.c
   * check_for_local_domain).
   */
  #isAbove(name: Uint8Array, length: number): boolean {
    return this.#options.localNames?.isAbove?.(name, length) === true;
  }

  readonly #isOwnName = (name: Uint8Array): boolean => {
    const key = name.map(lowerCaseByte);
    return this.#isOwn(key, key.length);
  };

  /**
   * Adds the records of a reply that lead on from a name; the writer has begun. Where its CNAMEs enter the own zone, the
   * zone's own records follow, whatever the reply says about them. False where they lead to a CNAME of the
   * own zone, which ends the answer: the next way out of the zone may be a loop.
   */
  #addReply(reply: Uint8Array, name: Uint8Array, query: Query): boolean {
    const { zone, reverse, isSynced, localNames } = this.#options;
    const writer = this.#writer;
    const rcode = rcodeOf(reply);
    const hasFailed = isFailure(reply);
    writer.setRcode(rcode, hasFailed ? NO_TARGET : undefined);
    if (hasFailed) return true;
    const { records, end } = upstreamChain(reply, query.type, name, this.#isOwnName);
    const key = end.map(lowerCaseByte);
    // The rcode is that of the end (RFC 6604).
    if (this.#isOwn(key, key.length) || this.#isAbove(key, key.length)) {
      writer.setRcode(RCODE.NOERROR);
    }
    for (const { section, owner, type, ttlSeconds, rdata } of records) {
      writer.add(section, owner, type, ttlSeconds, rdata);
    }
    if (!isSynced()) return true;
    if (!zone.contains(key, key.length)) {
      // A service may have got the address while the question was in flight.
      if (reverse.find(key, key.length)) reverse.answer(query.type, writer, end);
      else if (localNames?.find(key, key.length) === true && localNames.isSynced) {
        if (localNames.targetOf(query.type) !== undefined) return false;
        if (localNames.candidates?.() !== undefined) return false;
        localNames.answer(query.type, writer, end);
      }
      return true;
    }
    zone.read(key, key.length);
    if (zone.targetOf(query.type) !== undefined) return false;
    zone.answerTarget(end, query, writer);
    return true;
  }

  /** Inspects the replies to forwarded questions. */
  readonly #inspect: ReplyInspector = (received, _isCacheable, outline) => {
    const reply = markReasons(received, outline);
    writeUint16(reply, 2, readUint16(reply, 2) & ~FLAG.AA);
    return this.#isClean(reply) ? reply : this.#rewrite(reply);
  };

  /** Whether a reply may be relayed as it is. */
  #isClean(reply: Uint8Array): boolean {
    const cursor = this.#cursor.reset(reply, reply.length);
    this.#nameCount = 0;
    this.#owners.reset(reply);
    let checked = 0;
    if (!this.#addName(reply, QUESTION_OFFSET)) return false;
    const type = readUint16(reply, cursor.end - QUESTION_FIXED_BYTES);
    while (cursor.next()) {
      const length = this.#owners.read(cursor.start, cursor.typeAt);
      if (length < 0) return false;
      if (cursor.section === SECTION.ANSWER) {
        if (cursor.class !== CLASS.IN) return false;
        const isChecked = this.#owners.isSame && cursor.type === checked;
        if (!isChecked && !this.#isOfChain(length, cursor.type)) return false;
        checked = cursor.type;
        const isLink = cursor.type === TYPE.CNAME && isFollowed(type);
        if (isLink && !this.#addName(reply, cursor.rdataStart)) return false;
      } else if (cursor.type !== TYPE.OPT && this.#isOwn(this.#owners.name, length)) return false;
    }
    return true;
  }

  /** Adds a name to the chain; false for one that other servers say nothing about. */
  #addName(reply: Uint8Array, at: number): boolean {
    const name = this.#names[this.#nameCount];
    if (name === undefined) return false;
    const length = expandKey(reply, at, reply.length, name);
    if (length < 0 || this.#isOwn(name, length)) return false;
    if (rcodeOf(reply) === RCODE.NXDOMAIN && this.#isAbove(name, length)) return false;
    this.#lengths[this.#nameCount++] = length;
    return true;
  }

  /** Whether the owner of a record is a name of the chain, or above one with a DNAME. */
  #isOfChain(length: number, type: number): boolean {
    const owner = this.#owners.name.subarray(0, length);
    for (let i = 0; i < this.#nameCount; i++) {
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
    this.#writer.begin(query, this.#out);
    this.#addReply(reply, query.name.slice(0, query.nameLength), query);
    this.#writer.setAuthoritative(false);
    return Buffer.from(this.#out.subarray(0, this.#writer.finish()));
  }
}

/** Sets the next name that may exist as the end of a chain; false where there is none. */
function tryNext(chain: Chain, query: Query): boolean {
  const candidates = chain.candidates!;
  const next = candidates.next(query.trace);
  if (next === undefined) return false;
  chain.targets.push(next);
  chain.ttlSeconds = Math.min(chain.ttlSeconds, candidates.ttlSeconds);
  return true;
}

/** A server that had no answer says nothing about any name. */
function isFailure(reply: Uint8Array): boolean {
  const rcode = rcodeOf(reply);
  return rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN;
}

/** A record of a reply for our answer, and its section there. */
interface ChainRecord extends ResourceRecord {
  readonly section: Section;
}

/** What a reply adds to a CNAME chain: records in the order of the chain, and the name it ends at. */
interface UpstreamChain {
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
/** The rdata of a record while its names are expanded. */
const expanded = new Uint8Array(MAX_MESSAGE_BYTES);

/** Whether a question of a type is about what a CNAME leads to, and not about the CNAME itself. */
function isFollowed(type: number): boolean {
  return type !== TYPE.CNAME && type !== TYPE.ANY;
}

/**
 * The records of a reply that the question for `target` leads to: its CNAMEs, the records of the type
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
  while (isFollowed(type) && !isOwn(end) && records.length < MAX_CHAIN_NAMES) {
    const owner = end;
    const link = found.find((each) => each.type === TYPE.CNAME && equalNames(each.owner, owner));
    // A chain that leads back to itself is taken once: an answer holds no record twice (RFC 2181 section 5).
    if (link === undefined || records.includes(link)) break;
    records.push(link);
    end = link.rdata;
  }
  if (isOwn(end)) return { records, end };
  const wanted = found.filter((each) => answersType(each, type) && equalNames(each.owner, end));
  const isAbove = ({ section, owner }: ChainRecord) =>
    section === SECTION.AUTHORITY && !isOwn(owner) && isAtOrBelow(end, owner);
  records.push(...(wanted.length > 0 ? wanted : found.filter(isAbove)));
  return { records, end };
}

/** Whether a record is in the answer to a question of a type; ANY asks for each. */
function answersType({ section, type: found }: ChainRecord, type: number): boolean {
  return section === SECTION.ANSWER && (found === type || type === TYPE.ANY);
}

function isAtOrBelow(name: Uint8Array, apex: Uint8Array): boolean {
  return isInZone(name.map(lowerCaseByte), name.length, apex.map(lowerCaseByte));
}

/** The CNAMEs and the records of a type in the answer section, and the SOAs in the authority section. */
function chainRecords(reply: Uint8Array, type: number): ChainRecord[] {
  const records: ChainRecord[] = [];
  const cursor = new RecordCursor().reset(reply, reply.length);
  const owners = new OwnerNames(false);
  owners.reset(reply);
  let cnames = 0;
  let owner: Uint8Array | undefined;
  while (cursor.next() && cursor.section !== SECTION.ADDITIONAL) {
    const { section } = cursor;
    if (cursor.class !== CLASS.IN || !isWanted(section, cursor.type, type)) continue;
    if (cursor.type === TYPE.CNAME && ++cnames > MAX_CNAMES) continue;
    const length = owners.read(cursor.start, cursor.typeAt);
    if (!owners.isSame) owner = length < 0 ? undefined : owners.name.slice(0, length);
    const rdata = movableRdata(reply, cursor);
    if (owner === undefined || rdata === undefined) continue;
    records.push({ section, owner, type: cursor.type, ttlSeconds: cursor.ttlSeconds, rdata });
  }
  return records;
}

function isWanted(section: Section, found: number, type: number): boolean {
  if (section === SECTION.AUTHORITY) return found === TYPE.SOA;
  return found === TYPE.CNAME || found === type || type === TYPE.ANY;
}

/** The rdata of a cursor's record without compression; undefined when it cannot be expanded. */
function movableRdata(
  reply: Uint8Array,
  { type, rdataStart, end }: RecordCursor,
): Uint8Array | undefined {
  if (!MOVABLE.has(type) && type < FIRST_UNCOMPRESSED) return undefined;
  const length = expandRdata(reply, type, rdataStart, end, expanded, 0);
  return length < 0 ? undefined : expanded.slice(0, length);
}
