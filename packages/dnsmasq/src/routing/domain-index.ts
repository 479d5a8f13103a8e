import { NameTable, type Query } from '@kube-dns/wire';
import type { WildcardDomain } from '../options/server-value.js';
import { type DomainRoutes, type Route, routeIn } from './route.js';

interface WildcardRoutes {
  readonly labelEnd: Uint8Array;
  readonly routes: DomainRoutes;
}

/**
 * Finds the rule of the longest text that a name ends in. A name is walked once from its first label: at
 * each stands the domain itself, and then, one label further, what wildcards say about its end.
 */
export class DomainIndex {
  readonly #exact = new NameTable<DomainRoutes>();
  /** By parent; the longest label end first. */
  readonly #wildcards = new NameTable<WildcardRoutes[]>();

  addDomain(domain: Uint8Array, routes: DomainRoutes): void {
    this.#exact.set(domain, routes);
  }

  addWildcard({ labelEnd, parent }: WildcardDomain, routes: DomainRoutes): void {
    const known = this.#wildcards.get(parent, 0, parent.length) ?? [];
    known.push({ labelEnd, routes });
    known.sort((left, right) => right.labelEnd.length - left.labelEnd.length);
    this.#wildcards.set(parent, known);
  }

  /** Undefined when the question is no rule's. Allocates nothing. */
  find(query: Query): Route | undefined {
    const { name, nameLength } = query;
    for (let at = 0; at + 1 < nameLength;) {
      const next = at + name[at]! + 1;
      const exact = this.#exact.get(name, at, nameLength);
      const route = exact === undefined ? undefined : routeIn(exact, query);
      if (route !== undefined) return route;
      if (this.#wildcards.size > 0) {
        const wildcard = this.#findWildcard(query, at + 1, next);
        if (wildcard !== undefined) return wildcard;
      }
      at = next;
    }
    return undefined;
  }

  /** The label from `start` up to `end`, and what follows it, against the wildcards. */
  #findWildcard(query: Query, start: number, end: number): Route | undefined {
    const { name, nameLength } = query;
    const candidates = this.#wildcards.get(name, end, nameLength);
    if (candidates === undefined) return undefined;
    for (const { labelEnd, routes } of candidates) {
      if (!endsWith(name, start, end, labelEnd)) continue;
      const route = routeIn(routes, query);
      if (route !== undefined) return route;
    }
    return undefined;
  }
}

function endsWith(bytes: Uint8Array, start: number, end: number, tail: Uint8Array): boolean {
  const from = end - tail.length;
  if (from < start) return false;
  for (let i = 0; i < tail.length; i++) if (bytes[from + i] !== tail[i]) return false;
  return true;
}
