import {
  type AnswerSource,
  type Client,
  NO_ANSWER_YET,
  type ReplyPath,
  type ServerAddress,
  SOURCE,
} from '@kube-dns/transport';
import {
  AnswerWriter,
  buildQuery,
  CLASS,
  copyQuery,
  encodeReverseName,
  EXTENDED_ERROR,
  expandKey,
  expandName,
  expandRdata,
  extendedErrorOption,
  FLAG,
  hasPrefix,
  HEADER_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  NO_EDNS_OPTIONS,
  Query,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  rcodeOf,
  readUint16,
  readUint32,
  RecordCursor,
  ReverseAddress,
  SECTION,
  type Section,
  soundTtl,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { type RecordPredicate, withoutRecords } from '../without-records.js';
import { InnerClient, type OnFound } from './inner-client.js';
import {
  type AddressRange,
  embedIpv4,
  hasZeroOctet,
  ipv4In,
  isInRanges,
  type Nat64Prefix,
  parseAddressRange,
} from './nat64-prefix.js';

/** What is translated, and for whom. */
export interface Dns64Rules {
  readonly prefix: Nat64Prefix;
  /** AAAA records with one of these count as absent, and A records with one of these are not translated. */
  readonly excluded: readonly AddressRange[];
  /** A name with AAAA records gets those of its A records instead. */
  readonly translatesAll: boolean;
  /** Clients that ask over IPv4 get such records, too. */
  readonly servesIpv4: boolean;
}

export interface Dns64Options extends Dns64Rules {
  /** Whether nothing is made for a name: it is of the cluster. */
  isExempt(name: NameOf): boolean;
}

type NameOf = Pick<Query, 'name' | 'nameLength'>;

/** Answers what an answer needs besides, as an Answerer does. */
export interface InnerAnswerer {
  answerInner(query: Query, out: Uint8Array, client: Client): number;
}

/** What a Dns64 needs of its resolver. */
export interface Dns64Host extends InnerAnswerer {
  /** Counts what has changed since: an answer that was made of older ones is not cached. */
  readonly epoch: number;
  /** Stores a whole answer, for as long as its records last. */
  storeMade(message: Buffer, reasons: Uint8Array): void;
}

/** Writes the answer to a query, of that to an inner question; returns its length. */
type WriteFound = (
  query: Query,
  to: Uint8Array,
  found: Uint8Array | undefined,
  epoch: number,
) => number;

/** IPv4-mapped addresses, which lead nowhere as AAAA records (RFC 6147 section 5.1.4). */
const MAPPED = parseAddressRange('::ffff:0:0/96');
/** The TTL where the negative answer has no SOA, at most (RFC 6147 section 5.1.7). */
const NO_SOA_SECONDS = 600;
/** The TTL of the CNAME of a reverse name without a target that has one. */
const REVERSE_SECONDS = 60;
const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
const SOA_MINIMUM_BYTES = 4;
/** The name of an IPv6 address: 32 labels of one digit, and `ip6.arpa`. */
const REVERSE_NAME_BYTES = 74;
/** `ip6.arpa`. */
const REVERSE_SUFFIX_BYTES = 10;

/** An answer while it is sent, which copies it, where the client has no memory for it. */
const ownOut = new Uint8Array(MAX_MESSAGE_BYTES);
/** The answer to an inner question that there is at once; and parts of a record that is copied. */
const innerOut = new Uint8Array(MAX_MESSAGE_BYTES);
const rdata = new Uint8Array(MAX_MESSAGE_BYTES);
const owner = new Uint8Array(MAX_NAME_BYTES);
/** What a CNAME that is asked for itself has from its target. */
const NO_RECORDS = new Uint8Array(HEADER_BYTES);

/**
 * Makes AAAA records of the A records of names that have none, for clients without IPv4 behind a NAT64 (RFC 6147), and
 * answers reverse names below its prefix. What it makes is cached in place of the negative answer:
 *
 *     AAAA, cached           the client gets it, as any other
 *     AAAA, absent           A is asked as the client would ask for it: from the cache, or of servers
 *                            with A records    AAAA of them, stored
 *                            without           what was said of AAAA; of A, where that was an error
 *     NXDOMAIN, DO and CD    passed on
 *     below the prefix       for every type a CNAME to the reverse name of the IPv4 address, with its records
 *     NXDOMAIN above these   no data
 */
export class Dns64 {
  readonly #options: Dns64Options;
  readonly #host: Dns64Host;
  readonly #excluded: readonly AddressRange[];
  /** What clients with EDNS learn of an answer that was made (RFC 8914). */
  readonly #reason: Uint8Array;
  readonly #cursor = new RecordCursor();
  readonly #reverse = new ReverseAddress();
  readonly #writer = new AnswerWriter();
  readonly #client = new TranslatedClient(this);
  readonly #isExcluded: RecordPredicate = (record, message) =>
    record.section === SECTION.ANSWER && this.#isAbsent(record, message);

  constructor(options: Dns64Options, host: Dns64Host) {
    this.#options = options;
    this.#host = host;
    this.#excluded = [MAPPED, ...options.excluded];
    this.#reason = extendedErrorOption(EXTENDED_ERROR.SYNTHESIZED, dns64Reason(options.prefix));
  }

  /** Whether an answer to this question may be made: of AAAA, or of a reverse name below the prefix. */
  isFor(query: Query): boolean {
    const { type, class: asked, flags, isDnssecOk, hasOtherRecords } = query;
    if (type !== TYPE.AAAA && !this.isReverse(query)) return false;
    // Who validates itself must get what is signed (RFC 6147 section 5.5).
    const isValidating = isDnssecOk && (flags & FLAG.CD) !== 0;
    return asked === CLASS.IN && (flags & FLAG.RD) !== 0 && !isValidating && !hasOtherRecords;
  }

  /** Whether a client gets addresses that are made. */
  isServed({ address }: Client): boolean {
    return this.#options.servesIpv4 || address.includes(':');
  }

  /** Whether it is the reverse name of an address below the prefix, which has a CNAME. */
  isReverse(name: NameOf): boolean {
    return name.nameLength === REVERSE_NAME_BYTES && this.#ipv4Of(name) !== undefined;
  }

  /** Whether these reasons are those of an answer that was made. */
  isMade(reasons: Uint8Array): boolean {
    const own = this.#reason;
    if (reasons.length !== own.length) return false;
    for (let i = 0; i < own.length; i++) if (reasons[i] !== own[i]) return false;
    return true;
  }

  /** The client of a question, whose answer is completed when it comes later; valid until the next call. */
  clientOf(query: Query, client: Client, inner: InnerAnswerer): Client {
    return this.#client.begin(query, client, inner);
  }

  /** A reply without the AAAA records that count as absent, or that does not deny a name that exists here. */
  correct(reply: Buffer): Buffer {
    this.admitReverse(reply, reply.length);
    const type = readUint16(reply, this.#cursor.reset(reply, reply.length).end - 4);
    if (type !== TYPE.AAAA) return reply;
    return withoutRecords(reply, this.#isExcluded, NO_EDNS_OPTIONS) ?? reply;
  }

  /**
   * NXDOMAIN of a reverse name below the prefix, or of one above these, becomes NODATA, in place: the names below it exist here,
   * and a cache may take NXDOMAIN for all of them (RFC 8020 section 2, RFC 4592 section 2.2.2).
   */
  admitReverse(message: Uint8Array, length: number): void {
    // After a CNAME it is about the target.
    if (rcodeOf(message) !== RCODE.NXDOMAIN || readUint16(message, 6) > 0) return;
    const nameLength = expandKey(message, QUESTION_OFFSET, length, owner);
    if (nameLength < 0 || !this.#isReverseTree({ name: owner, nameLength })) return;
    writeUint16(message, 2, readUint16(message, 2) & ~(RCODE_MASK | FLAG.AD));
  }

  /** Whether it is a reverse name below the prefix, or one above these. */
  #isReverseTree({ name, nameLength }: NameOf): boolean {
    const { address, prefixBits } = this.#options.prefix;
    const { size, bytes } = this.#reverse.read(name, nameLength);
    if (size !== IPV6_BYTES) return false;
    // Two bytes for each label of four bits; bits without a label are 0.
    const bits = (nameLength - REVERSE_SUFFIX_BYTES) * 2;
    return hasPrefix(bytes, 0, address, Math.min(bits, prefixBits)) && hasZeroOctet(bytes);
  }

  /**
   * Completes the answer of `length` bytes in `out` to a question that it is for, at once or later; returns what an Answerer
   * does.
   */
  complete(
    query: Query,
    out: Uint8Array,
    length: number,
    client: Client,
    inner: InnerAnswerer,
  ): number {
    // What this program refuses itself it would refuse again.
    if (rcodeOf(out) === RCODE.REFUSED || !this.#isWanting(query, out, length)) {
      return this.#leaveOut(query, out, length);
    }
    const said = out.slice(0, length);
    return this.#answer(
      query,
      out,
      client,
      inner,
      this.#questionFor(query),
      (asked, to, found, epoch) => {
        to.set(said);
        return this.#finish(asked, to, length, found, epoch);
      },
    );
  }

  /** The same of an answer that comes later, for a reply path. */
  send(
    query: Query,
    message: Uint8Array,
    length: number,
    path: ReplyPath,
    inner: InnerAnswerer,
    source?: AnswerSource,
    server?: ServerAddress,
  ): void {
    if (!this.#isWanting(query, message, length)) {
      if (!this.#hasAbsent(query, message, length)) {
        path.send(message, length, source, server);
        return;
      }
      const to = path.out ?? ownOut;
      to.set(message.subarray(0, length));
      path.send(to, this.#leaveOut(query, to, length), source, server);
      return;
    }
    const said = message.slice(0, length);
    const { epoch } = this.#host;
    this.#ask(this.#questionFor(query), path, inner, (found) => {
      const to = path.out ?? ownOut;
      to.set(said);
      path.send(to, this.#finish(query, to, length, found, epoch), source, server);
    });
  }

  /** Answers a question of any type for a name that `isReverse`, at once or later, as an Answerer does. */
  answerReverse(query: Query, out: Uint8Array, client: Client, inner: InnerAnswerer): number {
    const target = encodeReverseName(this.#ipv4Of(query)!);
    // The CNAME itself is asked for (RFC 1034 section 3.6.2).
    if (query.type === TYPE.CNAME || query.type === TYPE.ANY) {
      return this.#writeReverse(query, out, target, NO_RECORDS, this.#host.epoch);
    }
    const question = questionFor(target, query.type, query);
    return this.#answer(query, out, client, inner, question, (asked, to, found, epoch) =>
      this.#writeReverse(asked, to, target, found, epoch),
    );
  }

  /** Answers a query with what `write` makes of the answer to an inner question, at once or later. */
  #answer(
    query: Query,
    out: Uint8Array,
    client: Client,
    inner: InnerAnswerer,
    question: Query,
    write: WriteFound,
  ): number {
    const { epoch } = this.#host;
    const later: { path?: ReplyPath; asked: Query } = { asked: query };
    let length: number | undefined;
    this.#ask(question, client, inner, (found) => {
      const { path, asked } = later;
      const to = path === undefined ? out : (path.out ?? ownOut);
      length = write(asked, to, found, epoch);
      path?.send(to, length, SOURCE.UPSTREAM);
    });
    if (length !== undefined) return length;
    later.asked = copyQuery(query);
    later.path = client.defer();
    return NO_ANSWER_YET;
  }

  /** Asks an inner question; calls back now or later. */
  #ask(
    question: Query,
    { address, port }: Pick<Client, 'address' | 'port'>,
    inner: InnerAnswerer,
    onFound: OnFound,
  ): void {
    const asker = new InnerClient(address, port, onFound);
    const length = inner.answerInner(question, innerOut, asker);
    if (length !== NO_ANSWER_YET) onFound(innerOut.subarray(0, length));
  }

  /** Whether an answer has no AAAA records, and A records of the name are to be asked for. */
  #isWanting(query: Query, message: Uint8Array, length: number): boolean {
    if (query.type !== TYPE.AAAA || length === 0) return false;
    const flags = readUint16(message, 2);
    if ((flags & FLAG.TC) !== 0 || (flags & RCODE_MASK) === RCODE.NXDOMAIN) return false;
    const cursor = this.#cursor.reset(message, length);
    let hasAddress = false;
    while (!hasAddress && cursor.next() && cursor.section === SECTION.ANSWER) {
      hasAddress = cursor.type === TYPE.AAAA && !this.#isAbsent(cursor, message);
    }
    if (hasAddress && (!this.#options.translatesAll || this.#isOwn(message, length))) return false;
    return !this.#options.isExempt(query);
  }

  #hasAbsent(query: Query, message: Uint8Array, length: number): boolean {
    if (query.type !== TYPE.AAAA || length === 0) return false;
    const cursor = this.#cursor.reset(message, length);
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      if (this.#isAbsent(cursor, message)) return true;
    }
    return false;
  }

  /**
   * Writes an answer anew without the AAAA records that count as absent (RFC 6147 section 5.1.4), where it has one: a reply to
   * a question with CD was not corrected, nor one with a record that cannot be read. Returns its length.
   */
  #leaveOut(query: Query, to: Uint8Array, length: number): number {
    if (!this.#hasAbsent(query, to, length)) return length;
    const said = to.slice(0, length);
    this.#writer.begin(query, to);
    this.#copy(said, SECTION.ANSWER);
    this.#copy(said, SECTION.AUTHORITY);
    this.#writer.setRcode(rcodeOf(said));
    if ((readUint16(said, 2) & FLAG.TC) !== 0) this.#writer.setTruncated();
    return this.#writer.finish();
  }

  #isAbsent({ type, rdataStart, end }: RecordCursor, message: Uint8Array): boolean {
    return type === TYPE.AAAA && isInRanges(this.#excluded, message, rdataStart, end - rdataStart);
  }

  /** Whether the addresses of an answer are all made: with `translatesAll` it is not made again. */
  #isOwn(message: Uint8Array, length: number): boolean {
    const { prefix } = this.#options;
    const cursor = this.#cursor.reset(message, length);
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      if (cursor.type !== TYPE.AAAA) continue;
      if (!isInRanges([prefix], message, cursor.rdataStart, cursor.end - cursor.rdataStart)) {
        return false;
      }
    }
    return true;
  }

  #questionFor(query: Query): Query {
    return questionFor(query.name.subarray(0, query.nameLength), TYPE.A, query);
  }

  /** Puts the answer for the client in place of what `to` has, and returns its length. */
  #finish(
    query: Query,
    to: Uint8Array,
    length: number,
    found: Uint8Array | undefined,
    epoch: number,
  ): number {
    if (found === undefined) return this.#leaveOut(query, to, length);
    const made = this.#write(query, to, length, found);
    if (made > 0) {
      this.#store(query, to, made, epoch);
      return made;
    }
    // What is said of A, where an error was said of AAAA, or is said now (RFC 6147 section 5.1.6).
    const rcode = rcodeOf(found);
    const isFailure = rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN;
    if (rcodeOf(to) === RCODE.NOERROR && !isFailure) return this.#leaveOut(query, to, length);
    this.#writer.begin(query, to);
    this.#copy(found, SECTION.AUTHORITY);
    this.#writer.setRcode(rcode);
    return this.#writer.finish();
  }

  /** Writes AAAA records of the A records in `found`, and its CNAMEs; 0 where it has none that is translated. */
  #write(query: Query, out: Uint8Array, length: number, found: Uint8Array): number {
    if (rcodeOf(found) !== RCODE.NOERROR) return 0;
    const cursor = this.#cursor;
    const mostSeconds = this.#negativeTtl(out, length);
    const { prefix } = this.#options;
    const writer = this.#writer;
    if (!this.#hasIpv4(found)) return 0;
    writer.begin(query, out);
    cursor.reset(found, found.length);
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      const { type, rdataStart, ttlSeconds } = cursor;
      if (type === TYPE.CNAME || type === TYPE.DNAME) this.#add(found, SECTION.ANSWER);
      if (!this.#isTranslated(found)) continue;
      if (expandName(found, cursor.start, found.length, owner) < 0) break;
      embedIpv4(prefix, found, rdataStart, rdata);
      const ttl = Math.min(ttlSeconds, mostSeconds);
      writer.add(SECTION.ANSWER, owner, TYPE.AAAA, ttl, rdata, IPV6_BYTES);
    }
    if ((readUint16(found, 2) & FLAG.TC) !== 0) writer.setTruncated();
    writer.explain(this.#reason);
    return writer.finish();
  }

  #hasIpv4(found: Uint8Array): boolean {
    const cursor = this.#cursor.reset(found, found.length);
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      if (!this.#isTranslated(found)) continue;
      const length = expandKey(found, cursor.start, found.length, owner);
      // A CNAME may lead into the cluster.
      return length > 0 && !this.#options.isExempt({ name: owner, nameLength: length });
    }
    return false;
  }

  /** Whether the record of the cursor is an A record that is translated. */
  #isTranslated(found: Uint8Array): boolean {
    const { type, class: itsClass, rdataStart, end } = this.#cursor;
    if (type !== TYPE.A || itsClass !== CLASS.IN || end - rdataStart !== IPV4_BYTES) return false;
    return !isInRanges(this.#options.excluded, found, rdataStart, IPV4_BYTES);
  }

  /** The TTL that the negative answer in `message` may be cached with: the ceiling on those that are made. */
  #negativeTtl(message: Uint8Array, length: number): number {
    const cursor = this.#cursor.reset(message, length);
    while (cursor.next()) {
      if (cursor.section !== SECTION.AUTHORITY || cursor.type !== TYPE.SOA) continue;
      const minimum = soundTtl(readUint32(message, cursor.end - SOA_MINIMUM_BYTES));
      return Math.min(cursor.ttlSeconds, minimum);
    }
    return NO_SOA_SECONDS;
  }

  /** Stores an answer that was made, unless what it is made of has changed since: it is one to plain questions. */
  #store(query: Query, out: Uint8Array, length: number, epoch: number): void {
    const isPlain = !query.isDnssecOk && (query.flags & FLAG.CD) === 0;
    if (!isPlain || epoch !== this.#host.epoch) return;
    this.#host.storeMade(Buffer.from(out.buffer, out.byteOffset, length), this.#reason);
  }

  #ipv4Of({ name, nameLength }: NameOf): Uint8Array | undefined {
    const { size, isWhole, bytes } = this.#reverse.read(name, nameLength);
    return size === IPV6_BYTES && isWhole ? ipv4In(this.#options.prefix, bytes) : undefined;
  }

  /** RFC 6147 section 5.3.1: a CNAME to the name of the IPv4 address, and what that has. */
  #writeReverse(
    query: Query,
    out: Uint8Array,
    target: Uint8Array,
    found: Uint8Array | undefined,
    epoch: number,
  ): number {
    const writer = this.#writer;
    const rcode = found === undefined ? RCODE.SERVFAIL : rcodeOf(found);
    writer.begin(query, out);
    if (found === undefined || (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN)) {
      writer.setRcode(rcode);
      return writer.finish();
    }
    const ttl = this.#ttlOf(found);
    writer.add(SECTION.ANSWER, undefined, TYPE.CNAME, ttl, target);
    this.#copy(found, SECTION.ANSWER);
    this.#copy(found, SECTION.AUTHORITY);
    writer.setRcode(rcode, this.#reason);
    const length = writer.finish();
    this.#store(query, out, length, epoch);
    return length;
  }

  /** The smallest TTL of the answer section; of a negative answer, that of its SOA. */
  #ttlOf(found: Uint8Array): number {
    if (readUint16(found, 6) === 0) {
      return Math.min(REVERSE_SECONDS, this.#negativeTtl(found, found.length));
    }
    const cursor = this.#cursor.reset(found, found.length);
    let ttl = Number.POSITIVE_INFINITY;
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      ttl = Math.min(ttl, cursor.ttlSeconds);
    }
    return Number.isFinite(ttl) ? ttl : 0;
  }

  /** Copies the records of a section, of the authority section only a SOA, into the answer that is written. */
  #copy(found: Uint8Array, section: Section): void {
    const cursor = this.#cursor.reset(found, found.length);
    while (cursor.next() && cursor.section <= section) {
      if (cursor.section !== section || cursor.class !== CLASS.IN) continue;
      if (this.#isAbsent(cursor, found)) continue;
      if (section === SECTION.ANSWER || cursor.type === TYPE.SOA) this.#add(found, section);
    }
  }

  /** Adds the record of the cursor to the answer that is written. */
  #add(found: Uint8Array, section: Section): void {
    const { start, type, ttlSeconds, rdataStart, end } = this.#cursor;
    const bytes = expandRdata(found, type, rdataStart, end, rdata, 0);
    if (bytes < 0 || expandName(found, start, found.length, owner) < 0) return;
    this.#writer.add(section, owner, type, ttlSeconds, rdata, bytes);
  }
}

/** The text of the Extended DNS Error of an answer that is made. */
export function dns64Reason({ text }: Pick<Nat64Prefix, 'text'>): string {
  return `DNS64 ${text}`;
}

/** A question of this program itself for a query, whose trace it has. Over UDP: servers are asked as a client would. */
function questionFor(name: Uint8Array, type: number, { trace }: Query): Query {
  const bytes = buildQuery(name, type);
  const query = new Query();
  query.read(bytes, bytes.length, false, MAX_MESSAGE_BYTES);
  query.trace = trace;
  return query;
}

/** The client of the query that is answered now: an answer that comes later is completed first. */
class TranslatedClient implements Client {
  readonly #dns64: Dns64;
  #query!: Query;
  #client!: Client;
  #inner!: InnerAnswerer;

  constructor(dns64: Dns64) {
    this.#dns64 = dns64;
  }

  begin(query: Query, client: Client, inner: InnerAnswerer): this {
    this.#query = query;
    this.#client = client;
    this.#inner = inner;
    return this;
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
    const query = copyQuery(this.#query);
    query.trace = this.#query.trace;
    return new TranslatedPath(this.#dns64, query, this.#client.defer(), this.#inner);
  }
}

class TranslatedPath implements ReplyPath {
  readonly #dns64: Dns64;
  readonly #query: Query;
  readonly #path: ReplyPath;
  readonly #inner: InnerAnswerer;

  constructor(dns64: Dns64, query: Query, path: ReplyPath, inner: InnerAnswerer) {
    this.#dns64 = dns64;
    this.#query = query;
    this.#path = path;
    this.#inner = inner;
  }

  get address(): string {
    return this.#path.address;
  }
  get port(): number {
    return this.#path.port;
  }
  get out(): Uint8Array | undefined {
    return this.#path.out;
  }

  send(message: Uint8Array, length: number, source?: AnswerSource, server?: ServerAddress): void {
    this.#dns64.send(this.#query, message, length, this.#path, this.#inner, source, server);
  }

  abandon(): void {
    this.#path.abandon();
  }
}
