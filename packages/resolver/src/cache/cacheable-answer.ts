import {
  CLASS,
  expandRdata,
  lowerCaseByte,
  MAX_NAME_BYTES,
  MAX_TTL_SECONDS,
  NO_EDNS_OPTIONS,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  RCODE,
  readUint16,
  readUint32,
  type RecordCursor,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';

/** The type of an NXDOMAIN, which applies to every type; a question of type 0 is never cached. */
export const EVERY_TYPE = 0;

/** An answer has 16 bits for its length, and the longest question precedes it. */
const MAX_RECORD_BYTES = 0xffff - QUESTION_OFFSET - MAX_NAME_BYTES - 4;
const POINTER = 0xc000;

/** Owner name (always a pointer), type, class, TTL and length of a record as the cache stores it. */
export const RECORD_HEAD_BYTES = 12;
const TYPE_OFFSET = 2;
const CLASS_OFFSET = 4;
const TTL_OFFSET = 6;
const LENGTH_OFFSET = 10;

/**
 * The part of one reply that is cached, as it follows the question of any client:
 *
 *     CNAME … CNAME │ records of the requested type │ SOA of a negative answer
 *
 * Every owner is a pointer, to the question or to the data of the CNAME before it. No pointer leads into
 * the records of the requested type, because these rotate at each answer; names in data are uncompressed.
 * The object is reused for every reply.
 */
export class CacheableAnswer {
  /** The question's name, lower-cased, in wire form, up to `nameLength`. */
  readonly name = new Uint8Array(MAX_NAME_BYTES);
  nameLength = 0;
  /** The type asked for, or EVERY_TYPE where the name does not exist. */
  type = 0;
  rcode: number = RCODE.NOERROR;
  /** The records, up to `length`. */
  readonly bytes = new Uint8Array(MAX_RECORD_BYTES);
  length = 0;
  cnames = 0;
  setSize = 0;
  /** The number of SOAs of a negative answer: 0 or 1. */
  authorities = 0;
  /** The lifetime of the whole answer in seconds. */
  lifetimeSeconds = 0;
  /** Whether it is of the cluster: set by who stores it. */
  isOfCluster = false;
  /** Whether clients get it with AA: set by who stores it. */
  isAuthoritative = false;
  /** The server's Extended DNS Errors, as options: set by who stores it. */
  reasons = NO_EDNS_OPTIONS;
  /** The last target of the CNAMEs, as `name`. */
  readonly target = new Uint8Array(MAX_NAME_BYTES);
  targetLength = 0;
  #targetPointer = 0;
  /** The lifetime without the CNAMEs. */
  #targetLifetimeSeconds = 0;
  /** Where in the target name that of the SOA starts. */
  #zoneOffset = 0;

  /**
   * How much it counts towards the cache's size, as in dnsmasq: a CNAME counts alone, because its target
   * counts where it is cached under its own name; a zone's SOA is shared by its negative answers, so it
   * does not count.
   */
  get weight(): number {
    return this.cnames > 0 ? 1 : Math.max(this.setSize, 1);
  }

  /** How many insertions dnsmasq would count. */
  get insertions(): number {
    return this.cnames > 0 ? 1 : this.weight + this.authorities;
  }

  /** How much all of it counts, CNAMEs and their target: it is stored whole or not at all. */
  get totalWeight(): number {
    return this.cnames + Math.max(this.setSize, 1);
  }

  /** Empties it for a question; `name` and `nameLength` are the caller's to fill before. */
  begin(type: number, rcode: number): void {
    this.type = type;
    this.rcode = rcode;
    this.length = this.cnames = this.setSize = this.authorities = 0;
    this.lifetimeSeconds = this.#targetLifetimeSeconds = MAX_TTL_SECONDS;
    this.reasons = NO_EDNS_OPTIONS;
    this.isAuthoritative = false;
    this.target.set(this.name);
    this.targetLength = this.nameLength;
    this.#targetPointer = POINTER | QUESTION_OFFSET;
  }

  /** Adds the cursor's record, a CNAME of the target, whose data is the new target. False as addRecord. */
  addCname(message: Uint8Array, record: RecordCursor, ttlSeconds: number): boolean {
    const start = this.length;
    if (!this.#add(message, record, this.#targetPointer, ttlSeconds)) return false;
    this.lifetimeSeconds = Math.min(this.lifetimeSeconds, ttlSeconds);
    this.cnames++;
    const rdataStart = start + RECORD_HEAD_BYTES;
    this.#targetPointer = POINTER | (this.#questionEnd + rdataStart);
    this.targetLength = this.length - rdataStart;
    copyLowerCased(this.bytes, rdataStart, this.targetLength, this.target);
    return true;
  }

  /** Adds the cursor's record under the target name; false when its data is malformed or does not fit. */
  addRecord(message: Uint8Array, record: RecordCursor, ttlSeconds: number): boolean {
    if (!this.#add(message, record, this.#targetPointer, ttlSeconds)) return false;
    this.setSize++;
    return true;
  }

  /** Adds the SOA whose owner is the end of the target name from an offset on; false as addRecord. */
  addSoa(
    message: Uint8Array,
    record: RecordCursor,
    zoneOffset: number,
    ttlSeconds: number,
  ): boolean {
    if (!this.#add(message, record, this.#targetPointer + zoneOffset, ttlSeconds)) return false;
    this.#zoneOffset = zoneOffset;
    this.authorities = 1;
    return true;
  }

  /** The last number of the SOA, which bounds the TTL of a negative answer (RFC 2308 section 5). */
  get soaMinimumSeconds(): number {
    return readUint32(this.bytes, this.length - 4);
  }

  /** Ends the records of the requested type: all have the smallest TTL among them (RFC 2181 section 5.2). */
  endSet(): void {
    const { bytes } = this;
    const start = skipRecords(bytes, 0, this.cnames);
    let ttl = MAX_TTL_SECONDS;
    for (let at = start; at < this.length; at = skipRecords(bytes, at, 1)) {
      ttl = Math.min(ttl, ttlOf(bytes, at));
    }
    setTtls(bytes, start, this.setSize, ttl);
    this.limitLifetime(ttl);
  }

  /** Sets the lifetime of the target of the CNAMEs. */
  limitLifetime(ttlSeconds: number): void {
    this.#targetLifetimeSeconds = ttlSeconds;
    this.lifetimeSeconds = Math.min(this.lifetimeSeconds, ttlSeconds);
  }

  /** Turns it into the answer for the target of its first CNAME; false when there is no CNAME. */
  followCname(): boolean {
    if (this.cnames === 0) return false;
    const { bytes } = this;
    const cnameEnd = skipRecords(bytes, 0, 1);
    this.nameLength = cnameEnd - RECORD_HEAD_BYTES;
    copyLowerCased(bytes, RECORD_HEAD_BYTES, this.nameLength, this.name);
    bytes.copyWithin(0, cnameEnd, this.length);
    this.length -= cnameEnd;
    this.cnames--;
    this.isAuthoritative = false;
    // The lifetime is that of the remaining records; the pointers of all of them are others.
    this.lifetimeSeconds = this.#targetLifetimeSeconds;
    let pointer = POINTER | QUESTION_OFFSET;
    let at = 0;
    for (let i = 0; i < this.cnames + this.setSize; i++) {
      writeUint16(bytes, at, pointer);
      if (i < this.cnames) {
        pointer = POINTER | (this.#questionEnd + at + RECORD_HEAD_BYTES);
        this.lifetimeSeconds = Math.min(this.lifetimeSeconds, ttlOf(bytes, at));
      }
      at = skipRecords(bytes, at, 1);
    }
    if (this.authorities > 0) writeUint16(bytes, at, pointer + this.#zoneOffset);
    return true;
  }

  /** Where the question of this name ends. */
  get #questionEnd(): number {
    return QUESTION_OFFSET + this.nameLength + QUESTION_FIXED_BYTES;
  }

  #add(
    message: Uint8Array,
    { type, rdataStart, end }: RecordCursor,
    ownerPointer: number,
    ttlSeconds: number,
  ): boolean {
    const { bytes, length } = this;
    const rdataAt = length + RECORD_HEAD_BYTES;
    const rdataLength = expandRdata(message, type, rdataStart, end, bytes, rdataAt);
    if (rdataLength < 0) return false;
    writeUint16(bytes, length, ownerPointer);
    writeUint16(bytes, length + TYPE_OFFSET, type);
    writeUint16(bytes, length + CLASS_OFFSET, CLASS.IN);
    setTtl(bytes, length, ttlSeconds);
    writeUint16(bytes, length + LENGTH_OFFSET, rdataLength);
    this.length = rdataAt + rdataLength;
    return true;
  }
}

/** The TTL of the record at an offset, in seconds. */
export function ttlOf(bytes: Uint8Array, at: number): number {
  return readUint32(bytes, at + TTL_OFFSET);
}

export function setTtl(bytes: Uint8Array, at: number, seconds: number): void {
  writeUint32(bytes, at + TTL_OFFSET, seconds);
}

/** Sets the TTLs of so many records from an offset on. */
export function setTtls(bytes: Uint8Array, start: number, count: number, seconds: number): void {
  for (let at = start; count > 0; count--) {
    setTtl(bytes, at, seconds);
    at = skipRecords(bytes, at, 1);
  }
}

/** The offset after this many records. */
export function skipRecords(bytes: Uint8Array, at: number, count: number): number {
  for (; count > 0; count--) at += RECORD_HEAD_BYTES + readUint16(bytes, at + LENGTH_OFFSET);
  return at;
}

/** Copies so many bytes at an offset to the start of another array, in lower case. */
export function copyLowerCased(from: Uint8Array, at: number, length: number, to: Uint8Array): void {
  for (let i = 0; i < length; i++) to[i] = lowerCaseByte(from[at + i]!);
}
