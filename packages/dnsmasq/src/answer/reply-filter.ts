import { addOption, type Hit, type RecordPredicate, withoutRecords } from '@kube-dns/resolver';
import {
  CLASS,
  expandKey,
  FLAG,
  hasPrefix,
  MAX_NAME_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  readUint32,
  RecordCursor,
  SECTION,
  skipName,
  isInZone,
  TYPE,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';
import { FILTERED_TYPE, REBINDING } from '../explanations.js';
import { type AddressAlias, type AddressRange, isInRange } from '../options/values.js';

/** Types and keys of RFC 9460. */
const SVCB = 64;
const HTTPS = 65;
const IPV4_HINT = 4;
const IPV6_HINT = 6;
const IPV4_BYTES = 4;
const IPV6_BYTES = 16;

/** The rules for addresses in replies. */
export interface ReplyRules {
  /** Whether private addresses are an attack (`--stop-dns-rebind`). */
  readonly stopsRebind: boolean;
  /** Whether loopback addresses are allowed nevertheless. */
  readonly allowsLocalhostRebind: boolean;
  /** Names that may have private addresses. */
  readonly rebindDomains: ExemptDomains;
  /** Replies with one of these mean that the name does not exist. */
  readonly bogusNxdomain: readonly AddressRange[];
  /** Replies with one of these are ignored. */
  readonly ignoredAddresses: readonly AddressRange[];
  readonly aliases: readonly AddressAlias[];
}

/** Names that are exempt from the protection against rebinding. */
interface ExemptDomains {
  /** Lower-cased names in wire form, each with all below it. */
  readonly domains: readonly Uint8Array[];
  /** Whether names of one label are exempt, too. */
  readonly isUnqualified?: boolean;
}

/** Checks and changes the addresses in replies by the rules. */
export class ReplyFilter {
  readonly #rules: ReplyRules;
  readonly #cursor = new RecordCursor();
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  readonly #isPrivateTarget: RecordPredicate = (record, reply) =>
    record.section !== SECTION.ANSWER &&
    isPrivateRecord(reply, record, this.#rules.allowsLocalhostRebind);

  constructor(rules: ReplyRules) {
    this.#rules = rules;
  }

  /** Whether a reply is to be ignored. */
  isIgnored(reply: Uint8Array): boolean {
    return this.#findIn(reply, this.#rules.ignoredAddresses) >= 0;
  }

  /** The TTL of the address that makes a reply mean "no such name"; -1 when it has none. */
  bogusTtl(reply: Uint8Array): number {
    return this.#findIn(reply, this.#rules.bogusNxdomain);
  }

  /** Whether a reply gives a public name a private address (DNS rebinding). */
  isRebinding(reply: Uint8Array): boolean {
    const { stopsRebind, allowsLocalhostRebind } = this.#rules;
    if (!stopsRebind) return false;
    const cursor = this.#cursor.reset(reply, reply.length);
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      if (isPrivateRecord(reply, cursor, allowsLocalhostRebind)) return !this.#isExempt(reply);
    }
    return false;
  }

  /**
   * A reply without the private addresses that were not asked for, those of the targets of SRV, MX and HTTPS, which
   * clients take from there, too (RFC 9460 section 4.1); the reply itself when it has none. Undefined when it is malformed.
   */
  withoutPrivateTargets(reply: Buffer): Buffer | undefined {
    if (!this.#rules.stopsRebind) return reply;
    const rest = withoutRecords(reply, this.#isPrivateTarget, REBINDING);
    return rest !== reply && this.#isExempt(reply) ? reply : rest;
  }

  /** Replaces addresses by the rules of `--alias`, if any; the reply is then not authoritative (no AA). */
  replaceAddresses(reply: Uint8Array): boolean {
    const { aliases } = this.#rules;
    if (aliases.length === 0) return false;
    let isReplaced = false;
    const cursor = this.#cursor.reset(reply, reply.length);
    while (nextAddress(cursor, SECTION.ADDITIONAL)) {
      if (cursor.type !== TYPE.A || cursor.section === SECTION.AUTHORITY) continue;
      const address = readUint32(reply, cursor.rdataStart);
      const alias = aliases.find((candidate) => isAliased(candidate, address));
      if (alias === undefined) continue;
      const { to, mask } = alias;
      writeUint32(reply, cursor.rdataStart, ((to & mask) | (address & ~mask)) >>> 0);
      writeUint16(reply, 2, readUint16(reply, 2) & ~FLAG.AA);
      isReplaced = true;
    }
    return isReplaced;
  }

  #findIn(reply: Uint8Array, ranges: readonly AddressRange[]): number {
    if (ranges.length === 0 || (readUint16(reply, 2) & RCODE_MASK) === RCODE.NXDOMAIN) return -1;
    const cursor = this.#cursor.reset(reply, reply.length);
    while (nextAddress(cursor, SECTION.ANSWER)) {
      const length = cursor.end - cursor.rdataStart;
      for (const range of ranges) {
        if (isInRange(range, reply, cursor.rdataStart, length)) return cursor.ttlSeconds;
      }
    }
    return -1;
  }

  #isExempt(reply: Uint8Array): boolean {
    const { domains, isUnqualified = false } = this.#rules.rebindDomains;
    const name = this.#name;
    const length = expandKey(reply, QUESTION_OFFSET, reply.length, name);
    if (length < 0) return false;
    if (isUnqualified && length > 1 && length === name[0]! + 2) return true;
    return domains.some((domain) => isInZone(name, length, domain));
  }
}

/** The types in an answer to ANY with `--filter-rr=ANY` (dnsmasq src/rrfilter.c). */
const ALLOWED_IN_ANY: ReadonlySet<number> = new Set([TYPE.A, TYPE.AAAA, TYPE.MX, TYPE.CNAME]);

/** The types of `--filter-A`, `--filter-AAAA` and `--filter-rr`, which are removed from answers from upstream. */
export class FilteredTypes {
  readonly #types: ReadonlySet<number>;
  readonly #cursor = new RecordCursor();
  /** A CNAME leads to the requested records, so it is removed only when it was asked for itself. */
  readonly #isUnwanted: RecordPredicate = ({ section, type }) =>
    section === SECTION.ANSWER && type !== TYPE.CNAME && this.#types.has(type);
  readonly #isUnwantedCname: RecordPredicate = ({ section, type }) =>
    section === SECTION.ANSWER && this.#types.has(type);
  readonly #isUnwantedInAny: RecordPredicate = ({ section, type }) =>
    section === SECTION.ANSWER && (this.#types.has(type) || !ALLOWED_IN_ANY.has(type));

  constructor(types: readonly number[]) {
    this.#types = new Set(types);
  }

  /** Whether no records are removed. */
  get isEmpty(): boolean {
    return this.#types.size === 0;
  }

  /** Whether records of this type are removed. */
  has(type: number): boolean {
    return this.#types.has(type);
  }

  /**
   * Cuts a cached answer to a question of this type after its CNAMEs, in place, if the type is one of these; a negative
   * answer stays unchanged. Returns the reason; undefined for an answer that is whole.
   */
  cut(hit: Pick<Hit, 'length'>, answer: Uint8Array, questionType: number): Uint8Array | undefined {
    if (!this.#types.has(questionType)) return undefined;
    const cursor = this.#cursor.reset(answer, hit.length);
    let { end } = cursor;
    let cnames = 0;
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      if (cursor.type === questionType) {
        writeUint16(answer, 6, cnames);
        hit.length = end;
        return FILTERED_TYPE;
      }
      ({ end } = cursor);
      cnames++;
    }
    return undefined;
  }

  /** A reply to a question of this type without the unwanted records; undefined when it is malformed. */
  apply(reply: Buffer, questionType: number): Buffer | undefined {
    if (this.isEmpty) return reply;
    const isAny = questionType === TYPE.ANY && this.#types.has(TYPE.ANY);
    const isUnwanted = isAny ? this.#isUnwantedInAny : this.#isUnwanted;
    const isCname = questionType === TYPE.CNAME;
    return withoutRecords(reply, isCname ? this.#isUnwantedCname : isUnwanted, FILTERED_TYPE);
  }
}

/** Moves to the next complete A or AAAA record of class IN up to a section. */
function nextAddress(cursor: RecordCursor, lastSection: number): boolean {
  while (cursor.next() && cursor.section <= lastSection) {
    if (cursor.class === CLASS.IN && isAddress(cursor)) return true;
  }
  return false;
}

function isAddress({ type, rdataStart, end }: RecordCursor): boolean {
  const length = end - rdataStart;
  return (
    (type === TYPE.A && length === IPV4_BYTES) || (type === TYPE.AAAA && length === IPV6_BYTES)
  );
}

/** RFC 9460: HTTPS and SVCB records, and the keys of the addresses in them. */
function isServiceBinding(type: number): boolean {
  return type === SVCB || type === HTTPS;
}

/** Whether an address, or a service binding with hints, leads to a network that is not on the internet. */
function isPrivateRecord(
  reply: Uint8Array,
  cursor: RecordCursor,
  allowsLocalhost: boolean,
): boolean {
  const { type, rdataStart, end } = cursor;
  if (cursor.class !== CLASS.IN) return false;
  if (isServiceBinding(type)) return hasPrivateHint(reply, rdataStart, end, allowsLocalhost);
  if (!isAddress(cursor)) return false;
  return type === TYPE.A
    ? isPrivateIpv4(reply, rdataStart, allowsLocalhost)
    : isPrivateIpv6(reply, rdataStart, allowsLocalhost);
}

/** A priority, the name of a target, then keys with their values (RFC 9460 section 2.2). */
function hasPrivateHint(
  reply: Uint8Array,
  start: number,
  end: number,
  allowsLocalhost: boolean,
): boolean {
  let at = skipName(reply, start + 2, end);
  if (at < 0) return false;
  while (at + 4 <= end) {
    const key = readUint16(reply, at);
    const valueEnd = at + 4 + readUint16(reply, at + 2);
    if (valueEnd > end) return false;
    const bytes = key === IPV4_HINT ? IPV4_BYTES : IPV6_BYTES;
    const isHint = key === IPV4_HINT || key === IPV6_HINT;
    for (at += 4; isHint && at + bytes <= valueEnd; at += bytes) {
      const isPrivate =
        key === IPV4_HINT
          ? isPrivateIpv4(reply, at, allowsLocalhost)
          : isPrivateIpv6(reply, at, allowsLocalhost);
      if (isPrivate) return true;
    }
    at = valueEnd;
  }
  return false;
}

/** dnsmasq src/rfc1035.c, do_doctor: one address with a mask, or a range without. */
function isAliased({ first, last, mask }: AddressAlias, address: number): boolean {
  if (first !== last) return address >= first && address <= last;
  return ((address ^ first) & mask) === 0;
}

/**
 * A copy of a reply without its records: header and question, another rcode, OPT if it had one, with a further
 * option.
 */
export function emptyReply(reply: Uint8Array, rcode: number, option: Uint8Array): Buffer {
  const cursor = new RecordCursor().reset(reply, reply.length);
  const questionEnd = cursor.end;
  let opt = reply.subarray(0, 0);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT || cursor.section !== SECTION.ADDITIONAL) continue;
    opt = reply.subarray(cursor.start, cursor.end);
    break;
  }
  const hasOpt = opt.length > 0;
  const optionBytes = hasOpt ? option.length : 0;
  const empty = Buffer.alloc(questionEnd + opt.length + optionBytes);
  empty.set(reply.subarray(0, questionEnd));
  writeUint16(empty, 2, (readUint16(reply, 2) & ~(FLAG.TC | FLAG.AA | RCODE_MASK)) | rcode);
  empty.fill(0, 6, 12);
  if (!hasOpt) return empty;
  writeUint16(empty, 10, 1);
  empty.set(opt, questionEnd);
  addOption(empty, questionEnd, empty.length - optionBytes, option);
  return empty;
}

/** A copy of a reply with a further option in its OPT record; the reply itself when it has none. */
export function withReason(reply: Buffer, option: Uint8Array): Buffer {
  const cursor = new RecordCursor().reset(reply, reply.length);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT || cursor.section !== SECTION.ADDITIONAL) continue;
    const { start, end } = cursor;
    const copy = Buffer.concat([reply.subarray(0, end), option, reply.subarray(end)]);
    addOption(copy, start, end, option);
    return copy;
  }
  return reply;
}

/** A prefix of addresses: this many bits of these bytes. */
interface Prefix {
  readonly bytes: Uint8Array;
  readonly bits: number;
}

const prefix = (bits: number, ...bytes: number[]): Prefix => ({
  bytes: Uint8Array.from(bytes),
  bits,
});

/** "This network" and loopback, which `--rebind-localhost-ok` exempts. */
const LOCAL_IPV4 = [prefix(8, 0), prefix(8, 127)];
/** dnsmasq src/rfc1035.c, private_net. */
const PRIVATE_IPV4 = [
  prefix(8, 10),
  prefix(12, 172, 16),
  prefix(16, 192, 168),
  prefix(16, 169, 254),
  prefix(24, 192, 0, 2),
  prefix(24, 198, 51, 100),
  prefix(24, 203, 0, 113),
  prefix(32, 255, 255, 255, 255),
];
/** dnsmasq src/rfc1035.c, private_net6. */
const PRIVATE_IPV6 = [
  prefix(10, 0xfe, 0x80),
  prefix(10, 0xfe, 0xc0),
  prefix(8, 0xfd),
  prefix(32, 0x20, 0x01, 0x0d, 0xb8),
];
/** Before the IPv4 address in an IPv6 one. */
const EMBEDDED_AT = 12;
/** Where the last bytes are an IPv4 address, which is what is reached. */
const WITH_IPV4 = [
  // Compatible and mapped (RFC 4291 section 2.5.5); `::` and `::1` are in "this network", too.
  prefix(96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
  prefix(96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff),
  // Translated (RFC 2765 section 2.1).
  prefix(96, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0),
  // NAT64, the well-known prefix and the local one (RFC 6052 section 2.1, RFC 8215).
  prefix(96, 0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0),
  prefix(96, 0x00, 0x64, 0xff, 0x9b, 0, 1, 0, 0, 0, 0, 0, 0),
];

/** Whether the IPv4 address at an offset belongs to a network that is not on the internet. */
export function isPrivateIpv4(bytes: Uint8Array, at: number, allowsLocalhost: boolean): boolean {
  if (startsWithAny(bytes, at, LOCAL_IPV4)) return !allowsLocalhost;
  return startsWithAny(bytes, at, PRIVATE_IPV4);
}

/** The same for an IPv6 address; of one for an IPv4 address (`::ffff:10.0.0.1`, `64:ff9b::10.0.0.1`) that counts. */
export function isPrivateIpv6(bytes: Uint8Array, at: number, allowsLocalhost: boolean): boolean {
  if (startsWithAny(bytes, at, WITH_IPV4)) {
    return isPrivateIpv4(bytes, at + EMBEDDED_AT, allowsLocalhost);
  }
  return startsWithAny(bytes, at, PRIVATE_IPV6);
}

function startsWithAny(bytes: Uint8Array, at: number, prefixes: readonly Prefix[]): boolean {
  return prefixes.some((prefix) => hasPrefix(bytes, at, prefix.bytes, prefix.bits));
}
