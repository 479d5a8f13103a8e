import {
  CLASS,
  expandKey,
  FLAG,
  OwnerNames,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  SECTION,
  soundTtl,
  suffixOffset,
  TYPE,
} from '@kube-dns/wire';
import { EVERY_TYPE, CacheableAnswer } from './cacheable-answer.js';

/** Which replies of upstream servers are cached, and for how long. */
export interface CachingRules {
  /** Types that are cached in addition to A, AAAA, PTR and SRV. */
  isExtraType(type: number): boolean;
  /** Whether negative answers are cached. */
  readonly cachesNegatives: boolean;
  /** Those of servers that announce when they change. */
  readonly cachesAnnouncedNegatives: boolean;
  /** How long a negative answer without SOA is cached; 0 is not at all. */
  readonly negativeTtlSeconds: number;
  /** Bounds of a cached TTL; 0 is none. The floor takes precedence over the ceiling. */
  readonly minTtlSeconds: number;
  readonly maxTtlSeconds: number;
  /** Whether answers with a TTL of 0 are cached: they are served stale. */
  readonly cachesZeroTtls: boolean;
}

/** A longer CNAME chain is returned and not cached (dnsmasq src/config.h, CNAME_CHAIN). */
const MAX_CNAMES = 10;
const NOWHERE = -1;

/**
 * Extracts the cacheable part of a reply (dnsmasq src/rfc1035.c, extract_addresses): the CNAME chain from
 * the question to a name, that name's records of the requested type, and of a negative answer the SOA of
 * the name's zone. Other records of the reply are ignored, and nothing is inferred: a CNAME whose target
 * is not in the reply is not a negative answer.
 */
export class ReplyReader {
  /** The result of the last `read`; valid when that returned true. */
  readonly answer = new CacheableAnswer();
  /** The type of the last reply's question; 0 when it could not be read. */
  questionType = 0;
  /** Whether the last reply had malformed names or data. */
  isMalformed = false;
  readonly rules: CachingRules;
  #isAnnounced = false;
  #isExtended: boolean | undefined;
  readonly #cursor = new RecordCursor();
  readonly #owners = new OwnerNames(true);
  /** Whether the last owner is the target's. */
  #isTargets = false;
  #reply: Uint8Array = new Uint8Array(0);

  constructor(rules: CachingRules) {
    this.rules = rules;
  }

  /**
   * Reads the reply to a question of class IN; false when nothing of it is cacheable. `isAnnounced`: its server announces
   * when its answers change. `hasExtendedRcode`: what OPT says, where that is known.
   */
  read(reply: Uint8Array, isAnnounced = false, hasExtendedRcode?: boolean): boolean {
    const { answer } = this;
    this.#isAnnounced = isAnnounced;
    this.#isExtended = hasExtendedRcode;
    if (!this.#readQuestion(reply)) return false;
    for (let cnameAt = this.#readSet(); cnameAt >= 0; cnameAt = this.#readSet()) {
      if (answer.cnames === MAX_CNAMES || !this.#readCname(cnameAt)) return false;
    }
    if (this.isMalformed) return false;
    if (answer.setSize === 0) return this.#readNegative() && this.#isLasting();
    answer.endSet();
    if (answer.rcode !== RCODE.NOERROR || this.#hasExtendedRcode()) return false;
    return this.#isCachedType() && this.#isLasting();
  }

  /** Reads the reply to a question of class IN as NXDOMAIN of its name, with this TTL. */
  readAsNxdomain(reply: Uint8Array, ttlSeconds: number): boolean {
    const { answer } = this;
    if (!this.#readQuestion(reply)) return false;
    answer.type = EVERY_TYPE;
    answer.rcode = RCODE.NXDOMAIN;
    answer.limitLifetime(this.#cachedTtl(ttlSeconds));
    return this.#isLasting();
  }

  #readQuestion(reply: Uint8Array): boolean {
    const { answer } = this;
    this.#reply = reply;
    this.#owners.reset(reply);
    this.isMalformed = false;
    this.questionType = 0;
    const cursor = this.#cursor.reset(reply, reply.length);
    if (cursor.isMalformed() || readUint16(reply, 4) !== 1) return false;
    const { end } = cursor;
    this.questionType = readUint16(reply, end - QUESTION_FIXED_BYTES);
    const flags = readUint16(reply, 2);
    const rcode = flags & RCODE_MASK;
    if ((flags & (FLAG.TC | FLAG.CD)) !== 0 || readUint16(reply, end - 2) !== CLASS.IN)
      return false;
    if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN) return false;
    const length = expandKey(reply, QUESTION_OFFSET, reply.length, answer.name);
    // With a pointer in the question the offsets after it would differ in the next answer.
    if (length !== end - QUESTION_FIXED_BYTES - QUESTION_OFFSET) return false;
    answer.nameLength = length;
    answer.begin(this.questionType, rcode);
    return true;
  }

  /**
   * Reads the target name's records of the requested type. Without any, returns the offset of its CNAME in
   * the reply; NOWHERE when there is none or the reply is malformed.
   */
  #readSet(): number {
    const { answer, questionType } = this;
    let cnameAt = NOWHERE;
    let isFirst = true;
    const cursor = this.#cursor.reset(this.#reply, this.#reply.length);
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      const isWanted = cursor.type === questionType;
      if (!isWanted && (cursor.type !== TYPE.CNAME || cnameAt >= 0)) continue;
      if (cursor.class !== CLASS.IN) continue;
      if (!this.#isOwnedByTarget(isFirst)) {
        if (this.isMalformed) break;
        isFirst = false;
        continue;
      }
      isFirst = false;
      if (!isWanted) cnameAt = cursor.start;
      else if (!this.#isAdded(answer.addRecord(this.#reply, cursor, this.#cursorTtl()))) break;
    }
    if (cursor.isMalformed()) this.isMalformed = true;
    return this.isMalformed || answer.setSize > 0 ? NOWHERE : cnameAt;
  }

  #readCname(at: number): boolean {
    const cursor = this.#cursor.reset(this.#reply, this.#reply.length);
    while (cursor.next() && cursor.start !== at) {
      // Continue with the CNAME.
    }
    return this.#isAdded(this.answer.addCname(this.#reply, cursor, this.#cursorTtl()));
  }

  #readNegative(): boolean {
    const { cachesNegatives, cachesAnnouncedNegatives, negativeTtlSeconds } = this.rules;
    const { answer } = this;
    if (!cachesNegatives && !(this.#isAnnounced && cachesAnnouncedNegatives)) return false;
    if (answer.rcode === RCODE.NXDOMAIN) answer.type = EVERY_TYPE;
    else if (!this.#isCachedType()) return false;
    if (this.#hasExtendedRcode()) return false;
    const soaTtl = this.#readSoa();
    const ttl = soaTtl === NOWHERE ? negativeTtlSeconds : soaTtl;
    // 0 means that it must not be cached, and no floor raises it.
    if (this.isMalformed || ttl === 0) return false;
    answer.limitLifetime(this.#cachedTtl(ttl));
    return true;
  }

  /**
   * Reads the SOA of the target name's zone and returns the TTL of the negative answer
   * (RFC 2308 section 5); NOWHERE when there is none.
   */
  #readSoa(): number {
    const { answer } = this;
    const cursor = this.#cursor.reset(this.#reply, this.#reply.length);
    while (cursor.next() && cursor.section !== SECTION.ADDITIONAL) {
      if (cursor.section !== SECTION.AUTHORITY || cursor.type !== TYPE.SOA) continue;
      const length = cursor.class === CLASS.IN ? this.#readOwner() : 0;
      if (length <= 0) continue;
      // By labels: dnsmasq compares the end of the text.
      const zone = this.#owners.name.subarray(0, length);
      const offset = suffixOffset(answer.target, answer.targetLength, zone);
      if (offset < 0) continue;
      const ttl = this.#cursorTtl();
      if (!this.#isAdded(answer.addSoa(this.#reply, cursor, offset, ttl))) return NOWHERE;
      return Math.min(cursor.ttlSeconds, soundTtl(answer.soaMinimumSeconds));
    }
    if (cursor.isMalformed()) this.isMalformed = true;
    return NOWHERE;
  }

  /** Whether OPT extends the header's rcode: an error then, whatever the header says (RFC 6891 section 6.1.3). */
  #hasExtendedRcode(): boolean {
    if (this.#isExtended !== undefined) return this.#isExtended;
    const cursor = this.#cursor.reset(this.#reply, this.#reply.length);
    while (cursor.next()) {
      const isOpt = cursor.section === SECTION.ADDITIONAL && cursor.type === TYPE.OPT;
      if (isOpt && this.#reply[cursor.ttlAt] !== 0) return true;
    }
    return false;
  }

  /** `isFirst`: no owner was compared with this target yet. */
  #isOwnedByTarget(isFirst: boolean): boolean {
    const { target, targetLength } = this.answer;
    const length = this.#readOwner();
    if (!isFirst && this.#owners.isSame) return this.#isTargets;
    const { name } = this.#owners;
    let same = 0;
    if (length === targetLength) while (same < length && name[same] === target[same]) same++;
    this.#isTargets = same === targetLength;
    return this.#isTargets;
  }

  /** The owner of the cursor's record, lower-cased, and its length. */
  #readOwner(): number {
    const length = this.#owners.read(this.#cursor.start, this.#cursor.typeAt);
    if (length < 0) this.isMalformed = true;
    return length;
  }

  #isAdded(isAdded: boolean): boolean {
    if (!isAdded) this.isMalformed = true;
    return isAdded;
  }

  #isCachedType(): boolean {
    const type = this.questionType;
    if (type === TYPE.A || type === TYPE.AAAA || type === TYPE.SRV || type === TYPE.PTR)
      return true;
    return type !== TYPE.ANY && type !== EVERY_TYPE && this.rules.isExtraType(type);
  }

  #isLasting(): boolean {
    return this.answer.lifetimeSeconds > 0 || this.rules.cachesZeroTtls;
  }

  #cursorTtl(): number {
    return this.#cachedTtl(this.#cursor.ttlSeconds);
  }

  #cachedTtl(ttlSeconds: number): number {
    const { minTtlSeconds, maxTtlSeconds } = this.rules;
    const lowered = maxTtlSeconds > 0 ? Math.min(ttlSeconds, maxTtlSeconds) : ttlSeconds;
    return Math.max(lowered, minTtlSeconds);
  }
}
