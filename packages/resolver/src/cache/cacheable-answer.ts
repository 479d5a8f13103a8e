import {
  expandRdata,
  lowerCaseByte,
  MAX_NAME_BYTES,
  MAX_TTL_SECONDS,
  NO_EDNS_OPTIONS,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  RCODE,
  readUint32,
  type RecordCursor,
} from '@kube-dns/wire';
import {
  RECORD_HEAD_BYTES,
  setOwner,
  setTtl,
  skipRecords,
  ttlOf,
  writeRecordHead,
} from './record-block.js';

/** The type of an NXDOMAIN, which applies to every type; a question of type 0 is never cached. */
export const EVERY_TYPE = 0;

/** An answer has 16 bits for its length, and the longest question precedes it. */
const MAX_RECORD_BYTES = 0xffff - QUESTION_OFFSET - MAX_NAME_BYTES - 4;
const POINTER = 0xc000;

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
    for (let at = start; at < this.length; at = skipRecords(bytes, at, 1)) {
      setTtl(bytes, at, ttl);
    }
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
    const behind = skipRecords(bytes, 0, 1);
    this.nameLength = behind - RECORD_HEAD_BYTES;
    copyLowerCased(bytes, RECORD_HEAD_BYTES, this.nameLength, this.name);
    bytes.copyWithin(0, behind, this.length);
    this.length -= behind;
    this.cnames--;
    this.isAuthoritative = false;
    this.#pointOwners();
    return true;
  }

  /** Where the question of this name ends. */
  get #questionEnd(): number {
    return QUESTION_OFFSET + this.nameLength + QUESTION_FIXED_BYTES;
  }

  /** Updates the pointers of all owners; the lifetime is that of the remaining records. */
  #pointOwners(): void {
    const { bytes, cnames } = this;
    const questionEnd = this.#questionEnd;
    this.lifetimeSeconds = this.#targetLifetimeSeconds;
    let pointer = POINTER | QUESTION_OFFSET;
    let at = 0;
    for (let i = 0; i < cnames + this.setSize; i++) {
      setOwner(bytes, at, pointer);
      if (i < cnames) {
        pointer = POINTER | (questionEnd + at + RECORD_HEAD_BYTES);
        this.lifetimeSeconds = Math.min(this.lifetimeSeconds, ttlOf(bytes, at));
      }
      at = skipRecords(bytes, at, 1);
    }
    if (this.authorities > 0) setOwner(bytes, at, pointer + this.#zoneOffset);
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
    writeRecordHead(bytes, length, ownerPointer, type, ttlSeconds, rdataLength);
    this.length = rdataAt + rdataLength;
    return true;
  }
}

function copyLowerCased(from: Uint8Array, at: number, length: number, to: Uint8Array): void {
  for (let i = 0; i < length; i++) to[i] = lowerCaseByte(from[at + i]!);
}
