import {
  CLASS,
  expandKey,
  FLAG,
  MAX_NAME_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  readUint32,
  RecordCursor,
  SECTION,
  suffixOffset,
  TYPE,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';
import { type AddressAlias, type AddressRange, isInRange } from '../options/values.js';
import { isPrivateIpv4, isPrivateIpv6 } from '../local/private-address.js';

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
export interface ExemptDomains {
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
    while (nextAddress(cursor, SECTION.ANSWER)) {
      const isPrivate =
        cursor.type === TYPE.A
          ? isPrivateIpv4(reply, cursor.rdataStart, allowsLocalhostRebind)
          : isPrivateIpv6(reply, cursor.rdataStart, allowsLocalhostRebind);
      if (isPrivate) return !this.#isExempt(reply);
    }
    return false;
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
    return domains.some((domain) => suffixOffset(name, length, domain) >= 0);
  }
}

/** Moves to the next complete A or AAAA record of class IN up to a section. */
function nextAddress(cursor: RecordCursor, lastSection: number): boolean {
  while (cursor.next() && cursor.section <= lastSection) {
    const { type } = cursor;
    const length = cursor.end - cursor.rdataStart;
    const isAddress = (type === TYPE.A && length === 4) || (type === TYPE.AAAA && length === 16);
    if (isAddress && cursor.class === CLASS.IN) return true;
  }
  return false;
}

/** dnsmasq src/rfc1035.c, do_doctor: one address with a mask, or a range without. */
function isAliased({ first, last, mask }: AddressAlias, address: number): boolean {
  if (first !== last) return address >= first && address <= last;
  return ((address ^ first) & mask) === 0;
}
