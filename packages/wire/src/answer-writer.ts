import { readUint16, writeUint16, writeUint32 } from './bytes.js';
import { lowerCaseByte, nameBytes } from './name.js';
import { appendOpt, NO_EDNS_OPTIONS, OPT_BYTES } from './opt-record.js';
import {
  CLASS,
  FLAG,
  HEADER_BYTES,
  OPCODE_MASK,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  TYPE,
} from './protocol.js';
import type { Query } from './query.js';
import { SECTION, type Section } from './record-cursor.js';
import { CLUSTER_ZONE_VERSION_BYTES, ZONE_VERSION_BYTES } from './zone-version.js';

/** One resource record of class IN; names in `owner` and `rdata` are in wire form, uncompressed. */
export interface ResourceRecord {
  readonly owner: Uint8Array;
  readonly type: number;
  readonly ttlSeconds: number;
  readonly rdata: Uint8Array;
}

const MAX_POINTER_OFFSET = 0x3fff;
const POINTER_BYTES = 2;
/** Type, class, TTL and length of rdata. */
const FIXED_BYTES = 10;
const MAX_REMEMBERED_NAMES = 128;
const UNREAD = -1;

/**
 * Writes one answer at a time into a buffer of the caller's: the header and the question echoed from
 * the query, then records with compressed names, then OPT when the query had one. The first record
 * that does not fit is omitted with all after it; TC is set unless it was an additional
 * one (RFC 2181 section 9). A writer is reused, and writing allocates nothing.
 */
export class AnswerWriter {
  #query!: Query;
  #out: Uint8Array = new Uint8Array(0);
  /** How much of `#out` may be used. */
  #maxBytes = 0;
  /** Left for OPT, and for a version of the zone that is appended to it later. */
  #optBytes = 0;
  #at = 0;
  #flags = 0;
  /** The class of the records: the question's where it is CH, else IN. */
  #class: number = CLASS.IN;
  #isFull = false;
  #rcode: number = RCODE.NOERROR;
  #options = NO_EDNS_OPTIONS;
  readonly #counts = new Uint16Array(3);
  /** Offsets of names in the message that a later name may point to. */
  readonly #names = new Uint16Array(MAX_REMEMBERED_NAMES);
  /** Their lengths without pointers, in bytes. */
  readonly #lengths = new Uint8Array(MAX_REMEMBERED_NAMES);
  /** UNREAD until the first name is written: most answers have no other name than the question's. */
  #nameCount = UNREAD;

  /**
   * Starts the answer: RA set, opcode, RD and CD as asked, no error, no record. It uses at most `maxBytes` of
   * `out`. Throws a RangeError when the question and OPT do not fit; 512 bytes are always enough.
   */
  begin(query: Query, out: Uint8Array, maxBytes = out.length): void {
    this.#maxBytes = Math.min(maxBytes, out.length);
    if (query.questionEnd + (query.hasEdns ? OPT_BYTES : 0) > this.#maxBytes) {
      throw new RangeError(`${this.#maxBytes} bytes are too few for an answer`);
    }
    this.#query = query;
    const asked = query.knowsClusterVersion ? CLUSTER_ZONE_VERSION_BYTES : ZONE_VERSION_BYTES;
    const versionBytes = query.asksZoneVersion ? asked : 0;
    this.#optBytes = query.hasEdns ? OPT_BYTES + versionBytes : 0;
    this.#class = query.class === CLASS.CH ? CLASS.CH : CLASS.IN;
    this.#out = out;
    this.#flags = FLAG.QR | FLAG.RA | (query.flags & (FLAG.RD | FLAG.CD | OPCODE_MASK));
    this.#rcode = RCODE.NOERROR;
    this.#options = NO_EDNS_OPTIONS;
    this.#isFull = false;
    this.#counts[SECTION.ANSWER] = 0;
    this.#counts[SECTION.AUTHORITY] = 0;
    this.#counts[SECTION.ADDITIONAL] = 0;
    for (let i = QUESTION_OFFSET; i < query.questionEnd; i++) out[i] = query.bytes[i]!;
    this.#at = query.questionEnd;
    this.#nameCount = UNREAD;
  }

  /** Sets AA, or clears it for an answer that other servers have a part in. */
  setAuthoritative(isAuthoritative = true): void {
    if (isAuthoritative) this.#flags |= FLAG.AA;
    else this.#flags &= ~FLAG.AA;
  }

  /** Sets TC: there is more than the answer has; or clears it for a client that has no way to get more. */
  setTruncated(isTruncated = true): void {
    if (isTruncated) this.#flags |= FLAG.TC;
    else this.#flags &= ~FLAG.TC;
  }

  /** Sets the response code and, for clients with EDNS, encoded options: an Extended DNS Error (RFC 8914). */
  setRcode(rcode: number, options = NO_EDNS_OPTIONS): void {
    this.#rcode = rcode;
    this.#options = options;
  }

  /** Sets encoded options for clients with EDNS, and leaves the response code. */
  explain(options: Uint8Array): void {
    this.#options = options;
  }

  /** Whether options are set. */
  get isExplained(): boolean {
    return this.#options.length > 0;
  }

  /** Whether a record did not fit: no other is added then. */
  get isFull(): boolean {
    return this.#isFull;
  }

  answerCount(): number {
    return this.#counts[SECTION.ANSWER]!;
  }

  /**
   * Adds a record; sections are written in their order. False when it did not fit.
   * The owner is `undefined` where it is the question's name. Both `owner` and `rdata` may be longer than
   * their content: a name ends at its root label, and rdata after `rdataBytes`.
   */
  add(
    section: Section,
    owner: Uint8Array | undefined,
    type: number,
    ttlSeconds: number,
    rdata: Uint8Array,
    rdataBytes = rdata.length,
  ): boolean {
    // The uncompressed size is the upper bound; space for OPT is reserved.
    const ownerBytes = owner === undefined ? POINTER_BYTES : nameBytes(owner);
    if (!this.#hasRoom(ownerBytes + rdataBytes)) return this.#leaveOut(section);
    const start = this.#at;
    const nameCount = this.#nameCount;
    if (owner === undefined) this.#putPointer(QUESTION_OFFSET);
    else this.#putName(owner, ownerBytes);
    return this.#addFields(section, type, ttlSeconds, rdata, rdataBytes, start, nameCount);
  }

  /** As `add`, for the owner that begins at an offset of the question's name. */
  addAbove(
    section: Section,
    ownerAt: number,
    type: number,
    ttlSeconds: number,
    rdata: Uint8Array,
  ): boolean {
    if (!this.#hasRoom(POINTER_BYTES + rdata.length)) return this.#leaveOut(section);
    const start = this.#at;
    this.#putPointer(QUESTION_OFFSET + ownerAt);
    const nameCount = this.#nameCount;
    return this.#addFields(section, type, ttlSeconds, rdata, rdata.length, start, nameCount);
  }

  #hasRoom(nameAndRdataBytes: number): boolean {
    const most = nameAndRdataBytes + FIXED_BYTES + this.#optBytes;
    return !this.#isFull && this.#at + most <= this.#out.length;
  }

  /** Writes what follows the owner; takes the record back, from `start` on, when it does not fit. */
  #addFields(
    section: Section,
    type: number,
    ttlSeconds: number,
    rdata: Uint8Array,
    rdataBytes: number,
    start: number,
    nameCount: number,
  ): boolean {
    const out = this.#out;
    writeUint16(out, this.#at, type);
    writeUint16(out, this.#at + 2, this.#class);
    writeUint32(out, this.#at + 4, ttlSeconds);
    this.#at += FIXED_BYTES;
    const rdataStart = this.#at;
    this.#putRdata(type, rdata, rdataBytes);
    writeUint16(out, rdataStart - 2, this.#at - rdataStart);
    if (this.#at + this.#optBytes > this.#maxBytes) {
      this.#at = start;
      this.#nameCount = nameCount;
      return this.#leaveOut(section);
    }
    this.#counts[section]!++;
    return true;
  }

  /** Writes what comes last (OPT, header) and returns the length of the message. */
  finish(): number {
    const out = this.#out;
    writeUint16(out, 0, this.#query.id);
    writeUint16(out, 2, this.#flags | (this.#rcode & RCODE_MASK));
    writeUint16(out, 4, this.#query.questionEnd > HEADER_BYTES ? 1 : 0);
    writeUint16(out, 6, this.#counts[SECTION.ANSWER]!);
    writeUint16(out, 8, this.#counts[SECTION.AUTHORITY]!);
    writeUint16(out, 10, this.#counts[SECTION.ADDITIONAL]!);
    // Records take precedence over options.
    const fits = this.#at + OPT_BYTES + this.#options.length <= this.#maxBytes;
    const options = fits ? this.#options : NO_EDNS_OPTIONS;
    this.#at = appendOpt(this.#query, out, this.#at, this.#rcode, options);
    return this.#at;
  }

  #leaveOut(section: Section): boolean {
    this.#isFull = true;
    if (section !== SECTION.ADDITIONAL) this.#flags |= FLAG.TC;
    return false;
  }

  /** Names in rdata are compressed for the types of RFC 1035 only (RFC 3597 section 4). */
  #putRdata(type: number, rdata: Uint8Array, length: number): void {
    if (type === TYPE.CNAME || type === TYPE.PTR || type === TYPE.NS) {
      this.#putName(rdata, nameBytes(rdata));
      return;
    }
    const out = this.#out;
    const at = this.#at;
    for (let i = 0; i < length; i++) out[at + i] = rdata[i]!;
    this.#at += length;
    // An SRV target stays whole (RFC 2782) but later address records may point to it.
    if (type === TYPE.SRV) this.#rememberLabels(at + 6, length - 6);
  }

  #putPointer(offset: number): void {
    writeUint16(this.#out, this.#at, 0xc000 | offset);
    this.#at += 2;
  }

  /** `length`: of the name, in bytes. */
  #putName(name: Uint8Array, length: number): void {
    const start = this.#at;
    let from = 0;
    while (name[from] !== 0) {
      const offset = this.#findName(name, from, length - from);
      if (offset >= 0) {
        this.#putPointer(offset);
        this.#rememberLabels(start, length);
        return;
      }
      for (let left = name[from]! + 1; left > 0; left--) this.#out[this.#at++] = name[from++]!;
    }
    this.#out[this.#at++] = 0;
    this.#rememberLabels(start, length);
  }

  /** The offset of a remembered name that equals `name` from `from` on; -1 when there is none. */
  #findName(name: Uint8Array, from: number, length: number): number {
    this.#readQuestion();
    for (let i = 0; i < this.#nameCount; i++) {
      // Of names of equal labels, `a.a.a`, each would be compared to its end: the cube of their number.
      if (this.#lengths[i] !== length) continue;
      if (this.#isNameAt(this.#names[i]!, name, from)) return this.#names[i]!;
    }
    return -1;
  }

  #isNameAt(at: number, name: Uint8Array, from: number): boolean {
    const out = this.#out;
    for (;;) {
      const length = out[at]!;
      if (length >= 0xc0) {
        at = readUint16(out, at) & MAX_POINTER_OFFSET;
        continue;
      }
      if (length !== name[from]) return false;
      if (length === 0) return true;
      for (let i = 1; i <= length; i++) {
        if (lowerCaseByte(out[at + i]!) !== lowerCaseByte(name[from + i]!)) return false;
      }
      at += length + 1;
      from += length + 1;
    }
  }

  /** Remembers the labels of the question, as the first ones. */
  #readQuestion(): void {
    if (this.#nameCount !== UNREAD) return;
    this.#nameCount = 0;
    // The name of a question has no pointer.
    const length = this.#query.questionEnd - QUESTION_FIXED_BYTES - QUESTION_OFFSET;
    if (length > 0) this.#rememberLabels(QUESTION_OFFSET, length);
  }

  /** `length`: of the whole name at `at`, in bytes, where it is written without a pointer. */
  #rememberLabels(at: number, length: number): void {
    this.#readQuestion();
    const out = this.#out;
    while (out[at] !== 0 && out[at]! < 0xc0 && this.#nameCount < MAX_REMEMBERED_NAMES) {
      if (at > MAX_POINTER_OFFSET) return;
      this.#lengths[this.#nameCount] = length;
      this.#names[this.#nameCount++] = at;
      length -= out[at]! + 1;
      at += out[at]! + 1;
    }
  }
}
