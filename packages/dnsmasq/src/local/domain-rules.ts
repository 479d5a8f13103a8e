import { type Query, ROOT_NAME, TYPE } from '@kube-dns/wire';
import type { AddressRule, RuleDomains, ServerRule } from '../options/server-value.js';
import { DomainIndex, isUnqualified } from '../routing/domain-index.js';

/** The merged rules of one domain. */
interface DomainVerdict {
  /** Addresses in wire form, the latest given first. */
  readonly ipv4: readonly Uint8Array[];
  readonly ipv6: readonly Uint8Array[];
  /** It is never forwarded, and has no servers. */
  readonly isLocal: boolean;
}

interface Entry extends DomainVerdict {
  readonly ipv4: Uint8Array[];
  readonly ipv6: Uint8Array[];
  hasZeros: boolean;
  isLocal: boolean;
  /** It has servers, or uses the servers of no domain. */
  leadsOut: boolean;
}

type Wanted = (entry: Entry, type: number) => boolean;

const ZEROS_IPV4 = new Uint8Array(4);
const ZEROS_IPV6 = new Uint8Array(16);

/**
 * The domains of `--address`, among those of `--server`, because the longest domain decides
 * (dnsmasq src/domain-match.c). In one domain an address of the requested family takes precedence over servers, and
 * servers take precedence over "local only". Where a domain has no rule for the question, a shorter one applies.
 */
export class DomainRules {
  readonly #index = new DomainIndex<Entry>();
  readonly #unqualified = emptyEntry();
  readonly #root = emptyEntry();
  readonly #hasDomains: boolean;

  constructor(addresses: readonly AddressRule[], servers: readonly ServerRule[]) {
    const entries = new Set<Entry>();
    for (const rule of addresses) {
      for (const entry of this.#entriesOf(rule)) {
        addAddress(entry, rule.address);
        entries.add(entry);
      }
    }
    for (const rule of servers) {
      for (const entry of this.#entriesOf(rule)) {
        if (rule.target.kind === 'local') entry.isLocal = true;
        else entry.leadsOut = true;
        entries.add(entry);
      }
    }
    for (const entry of entries) finish(entry);
    this.#hasDomains =
      addresses.length > 0 || servers.some(({ target }) => target.kind === 'local');
  }

  /** The rule that answers the question; undefined when it is to be forwarded. */
  find(query: Query): DomainVerdict | undefined {
    if (!this.#hasDomains) return undefined;
    const { name, nameLength, type } = query;
    const entry = this.#search(name, nameLength, decides, type);
    return entry === undefined || !answers(entry, type) ? undefined : entry;
  }

  /** Whether a name is in a domain that has an address. */
  hasAddressFor(name: Uint8Array, length: number): boolean {
    return this.#hasDomains && this.#search(name, length, hasAddress, TYPE.ANY) !== undefined;
  }

  /** Whether a domain other than the root has a rule for the name. */
  hasServerFor(name: Uint8Array, length: number): boolean {
    return this.#searchBelowRoot(name, length, leadsOut, TYPE.ANY) !== undefined;
  }

  /** The entry of the longest domain that the name is in and that is wanted. */
  #search(name: Uint8Array, length: number, isWanted: Wanted, type: number): Entry | undefined {
    const found = this.#searchBelowRoot(name, length, isWanted, type);
    if (found !== undefined) return found;
    return isWanted(this.#root, type) ? this.#root : undefined;
  }

  #searchBelowRoot(
    name: Uint8Array,
    length: number,
    isWanted: Wanted,
    type: number,
  ): Entry | undefined {
    const found = this.#index.find(name, length, isWanted, type);
    if (found !== undefined) return found;
    const isPlain = isUnqualified(name, length) && isWanted(this.#unqualified, type);
    return isPlain ? this.#unqualified : undefined;
  }

  *#entriesOf({ domains, wildcards = [], isUnqualified }: RuleDomains): Generator<Entry> {
    for (const domain of domains) {
      if (domain.length === ROOT_NAME.length) yield this.#root;
      else yield this.#index.domain(domain, emptyEntry);
    }
    for (const wildcard of wildcards) yield this.#index.wildcard(wildcard, emptyEntry);
    if (isUnqualified === true) yield this.#unqualified;
  }
}

function emptyEntry(): Entry {
  return { ipv4: [], ipv6: [], hasZeros: false, isLocal: false, leadsOut: false };
}

function addAddress(entry: Entry, address: AddressRule['address']): void {
  if (address === 'zeros') {
    entry.hasZeros = true;
    return;
  }
  const list = address.length === 4 ? entry.ipv4 : entry.ipv6;
  if (!list.some((existing) => Buffer.compare(existing, address) === 0)) list.unshift(address);
}

/** A family without addresses gets zeros; servers take precedence over "local only". */
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

function leadsOut(entry: Entry): boolean {
  return entry.leadsOut;
}

function decides(entry: Entry, type: number): boolean {
  return entry.leadsOut || answers(entry, type);
}
