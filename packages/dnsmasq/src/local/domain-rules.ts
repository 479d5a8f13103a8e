import { NameTable, type Query, ROOT_NAME, TYPE } from '@kube-dns/wire';
import type { AddressRule, RuleDomains, ServerRule } from '../options/server-value.js';

/** What the rules of one domain say, taken together. */
export interface DomainVerdict {
  /** Addresses in wire form, the latest given first. */
  readonly ipv4: readonly Uint8Array[];
  readonly ipv6: readonly Uint8Array[];
  /** Never forwarded, and without servers. */
  readonly isLocal: boolean;
}

interface Entry extends DomainVerdict {
  readonly isRoot: boolean;
  readonly ipv4: Uint8Array[];
  readonly ipv6: Uint8Array[];
  hasZeros: boolean;
  isLocal: boolean;
  /** Has servers, or goes to those of no domain. */
  leadsOut: boolean;
}

type Wanted = (entry: Entry, type: number) => boolean;

interface WildcardEntry {
  readonly labelEnd: Uint8Array;
  readonly entry: Entry;
}

const ZEROS_IPV4 = new Uint8Array(4);
const ZEROS_IPV6 = new Uint8Array(16);

/**
 * The domains of `--address`, among those of `--server`, because the longest domain decides
 * (dnsmasq src/domain-match.c). In one domain an address of the family asked for beats servers, and
 * they beat "local only"; a domain that has nothing for the question leaves it to a shorter one.
 */
export class DomainRules {
  readonly #domains = new NameTable<Entry>();
  /** By their parents; the longest end of a label first. */
  readonly #wildcards = new NameTable<WildcardEntry[]>();
  readonly #unqualified = emptyEntry();
  readonly #hasDomains: boolean;

  constructor(addresses: readonly AddressRule[], servers: readonly ServerRule[]) {
    for (const rule of addresses) {
      for (const entry of this.#entriesOf(rule)) addAddress(entry, rule.address);
    }
    for (const rule of servers) {
      for (const entry of this.#entriesOf(rule)) {
        if (rule.target.kind === 'local') entry.isLocal = true;
        else entry.leadsOut = true;
      }
    }
    for (const [, entry] of this.#domains.entries()) finish(entry);
    for (const [, list] of this.#wildcards.entries()) {
      list.sort((one, other) => other.labelEnd.length - one.labelEnd.length);
      for (const { entry } of list) finish(entry);
    }
    finish(this.#unqualified);
    this.#hasDomains =
      addresses.length > 0 || servers.some(({ target }) => target.kind === 'local');
  }

  /** What answers the question here; undefined when it is to be forwarded. */
  find(query: Query): DomainVerdict | undefined {
    if (!this.#hasDomains) return undefined;
    const { name, nameLength, type } = query;
    const entry = this.#search(name, nameLength, decides, type);
    return entry === undefined || !answers(entry, type) ? undefined : entry;
  }

  /** Tells whether a name is in a domain that has an address. */
  hasAddressFor(name: Uint8Array, length: number): boolean {
    return this.#hasDomains && this.#search(name, length, hasAddress, TYPE.ANY) !== undefined;
  }

  /** Tells whether a domain other than the root has a rule for the name. */
  hasServerFor(name: Uint8Array, length: number): boolean {
    return this.#search(name, length, leadsOutBelowRoot, TYPE.ANY) !== undefined;
  }

  /** The entry of the longest domain that the name is in and that is wanted. */
  #search(name: Uint8Array, length: number, isWanted: Wanted, type: number): Entry | undefined {
    const rootAt = length - 1;
    for (let at = 0; at < rootAt; at += name[at]! + 1) {
      const exact = this.#domains.get(name, at, length);
      if (exact !== undefined && isWanted(exact, type)) return exact;
      const wildcard = this.#searchWildcards(name, at, length, isWanted, type);
      if (wildcard !== undefined) return wildcard;
    }
    const isUnqualified = rootAt > 0 && name[0]! + 1 === rootAt;
    if (isUnqualified && isWanted(this.#unqualified, type)) return this.#unqualified;
    const root = this.#domains.get(name, rootAt, length);
    return root !== undefined && isWanted(root, type) ? root : undefined;
  }

  #searchWildcards(
    name: Uint8Array,
    at: number,
    length: number,
    isWanted: Wanted,
    type: number,
  ): Entry | undefined {
    const parentAt = at + name[at]! + 1;
    const list = this.#wildcards.get(name, parentAt, length);
    if (list === undefined) return undefined;
    for (const { labelEnd, entry } of list) {
      if (endsWith(name, at + 1, parentAt, labelEnd) && isWanted(entry, type)) return entry;
    }
    return undefined;
  }

  *#entriesOf({ domains, wildcards = [], isUnqualified }: RuleDomains): Generator<Entry> {
    for (const domain of domains) {
      const known = this.#domains.get(domain, 0, domain.length);
      const entry = known ?? emptyEntry(domain.length === ROOT_NAME.length);
      this.#domains.set(domain, entry);
      yield entry;
    }
    for (const { labelEnd, parent } of wildcards) {
      const list = this.#wildcards.get(parent, 0, parent.length) ?? [];
      this.#wildcards.set(parent, list);
      let known = list.find((wildcard) => Buffer.compare(wildcard.labelEnd, labelEnd) === 0);
      if (known === undefined) list.push((known = { labelEnd, entry: emptyEntry() }));
      yield known.entry;
    }
    if (isUnqualified === true) yield this.#unqualified;
  }
}

function emptyEntry(isRoot = false): Entry {
  return { isRoot, ipv4: [], ipv6: [], hasZeros: false, isLocal: false, leadsOut: false };
}

function addAddress(entry: Entry, address: AddressRule['address']): void {
  if (address === 'zeros') {
    entry.hasZeros = true;
    return;
  }
  const list = address.length === 4 ? entry.ipv4 : entry.ipv6;
  if (!list.some((known) => Buffer.compare(known, address) === 0)) list.unshift(address);
}

/** Zeros stand in for a family without addresses; servers beat "local only". */
function finish(entry: Entry): void {
  if (entry.hasZeros) {
    if (entry.ipv4.length === 0) entry.ipv4.push(ZEROS_IPV4);
    if (entry.ipv6.length === 0) entry.ipv6.push(ZEROS_IPV6);
  }
  if (entry.leadsOut) entry.isLocal = false;
}

function hasAddress({ ipv4, ipv6 }: DomainVerdict): boolean {
  return ipv4.length > 0 || ipv6.length > 0;
}

function answersAddress({ ipv4, ipv6 }: DomainVerdict, type: number): boolean {
  const isAny = type === TYPE.ANY;
  return (
    (ipv4.length > 0 && (isAny || type === TYPE.A)) ||
    (ipv6.length > 0 && (isAny || type === TYPE.AAAA))
  );
}

function answers(entry: Entry, type: number): boolean {
  return entry.isLocal || answersAddress(entry, type);
}

function leadsOutBelowRoot({ leadsOut, isRoot }: Entry): boolean {
  return leadsOut && !isRoot;
}

function decides(entry: Entry, type: number): boolean {
  return entry.leadsOut || answers(entry, type);
}

function endsWith(name: Uint8Array, start: number, end: number, tail: Uint8Array): boolean {
  const from = end - tail.length;
  if (from < start) return false;
  for (let i = 0; i < tail.length; i++) if (name[from + i] !== tail[i]) return false;
  return true;
}
