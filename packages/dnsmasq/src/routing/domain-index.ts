import { NameTable } from '@kube-dns/wire';
import type { WildcardDomain } from '../options/server-value.js';

interface WildcardValue<T> {
  readonly labelEnd: Uint8Array;
  readonly value: T;
}

/**
 * Values by domain; a name finds that of its longest suffix (dnsmasq src/domain-match.c). A name is
 * walked once from its first label: at each label first the exact domain is tried, then the wildcards
 * below its parent. The root is never matched.
 */
export class DomainIndex<T> {
  readonly #exact = new NameTable<T>();
  /** By parent; the longest label end first. */
  readonly #wildcards = new NameTable<WildcardValue<T>[]>();

  /** The value of a domain; created where there is none. */
  domain(domain: Uint8Array, create: () => T): T {
    const existing = this.#exact.get(domain, 0, domain.length);
    if (existing !== undefined) return existing;
    const value = create();
    this.#exact.set(domain, value);
    return value;
  }

  /** The value of a wildcard; created where there is none. */
  wildcard({ labelEnd, parent }: WildcardDomain, create: () => T): T {
    const list = this.#wildcards.get(parent, 0, parent.length) ?? [];
    const existing = list.find((one) => Buffer.compare(one.labelEnd, labelEnd) === 0);
    if (existing !== undefined) return existing.value;
    const value = create();
    list.push({ labelEnd, value });
    list.sort((left, right) => right.labelEnd.length - left.labelEnd.length);
    this.#wildcards.set(parent, list);
    return value;
  }

  /**
   * The value of the longest matching suffix of a lower-cased name that is wanted for a type; undefined
   * when there is none. Allocates nothing.
   */
  find(
    name: Uint8Array,
    length: number,
    isWanted: (value: T, type: number) => boolean,
    type: number,
  ): T | undefined {
    for (let at = 0; at + 1 < length;) {
      const next = at + name[at]! + 1;
      const exact = this.#exact.get(name, at, length);
      if (exact !== undefined && isWanted(exact, type)) return exact;
      const wildcards =
        this.#wildcards.size === 0 ? undefined : this.#wildcards.get(name, next, length);
      if (wildcards !== undefined) {
        for (const { labelEnd, value } of wildcards) {
          if (endsWith(name, at + 1, next, labelEnd) && isWanted(value, type)) return value;
        }
      }
      at = next;
    }
    return undefined;
  }
}

/** Whether a name has one label; the root has none. */
export function isUnqualified(name: Uint8Array, length: number): boolean {
  return length > 1 && name[0]! + 2 === length;
}

function endsWith(bytes: Uint8Array, start: number, end: number, tail: Uint8Array): boolean {
  const from = end - tail.length;
  if (from < start) return false;
  for (let i = 0; i < tail.length; i++) if (bytes[from + i] !== tail[i]) return false;
  return true;
}
