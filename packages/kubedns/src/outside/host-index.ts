import { encodeKey, NameTable } from '@kube-dns/wire';
import { type HostRecords, isSameHost } from '../watch/projections.js';

/** An object that takes host names. */
export interface HostOwner {
  /** As `Ingress shop/web`. */
  readonly id: string;
  /** When it was made, in seconds since 1970; 0 where that is not known. */
  readonly created: number;
}

/** A host name that an object takes, and what it leads to. */
export interface HostClaim {
  readonly owner: HostOwner;
  readonly records: HostRecords;
}

/** A host name, or a name above some. */
export interface HostNode {
  /** As the objects have it, perhaps with `*` first; '' for a name that only stands above others. */
  host: string;
  /** The oldest first: it has the name. */
  claims: readonly HostClaim[];
  /** The wildcard directly below it. */
  wildcard: HostNode | undefined;
  /** The names directly below it, the wildcard among them. */
  children: number;
}

const WILDCARD = '*.';

/**
 * Host names of objects, found by the name of a question: exactly, or else by the wildcard below its closest encloser, the longest
 * name above it that exists (RFC 4592 section 3.3.1). So the longest wildcard wins, none matches the name that it is below, and
 * none matches a name that exists or is below one. Of several objects with one name the oldest has it, as with Gateway routes.
 *
 * A node for each host name and for each name above one; a lookup allocates nothing.
 */
export class HostIndex {
  readonly #nodes = new NameTable<HostNode>();
  readonly #conflicts = new Map<string, HostNode>();
  #size = 0;

  /** Host names that lead to something. */
  get size(): number {
    return this.#size;
  }

  /** The names that several objects take, with different records, by the name. */
  get conflicts(): ReadonlyMap<string, HostNode> {
    return this.#conflicts;
  }

  /** The host names, in any order. */
  *hosts(): Generator<HostNode> {
    for (const [, node] of this.#nodes.entries()) if (node.claims.length > 0) yield node;
  }

  /** The host name that a lower-cased name in wire form is, or whose wildcard it matches. */
  find(name: Uint8Array, length: number): HostNode | undefined {
    if (this.#size === 0) return undefined;
    const exact = this.#nodes.get(name, 0, length);
    // One that only stands above others exists all the same: no wildcard is for it.
    if (exact !== undefined) return exact.claims.length > 0 ? exact : undefined;
    for (let at = name[0]! + 1; at < length - 1; at += name[at]! + 1) {
      const encloser = this.#nodes.get(name, at, length);
      if (encloser !== undefined) return encloser.wildcard;
    }
    return undefined;
  }

  /** Whether a lower-cased name in wire form exists, as a host name or above one. */
  has(name: Uint8Array, length: number): boolean {
    return this.#nodes.get(name, 0, length) !== undefined;
  }

  /** Adds or replaces what an owner makes of a host name. Returns whether its answers changed. */
  put(host: string, claim: HostClaim): boolean {
    const node = this.#nodeOf(host);
    const before = node.claims[0]?.records;
    if (before === undefined) this.#size++;
    const others = without(node.claims, claim.owner);
    const at = others.findIndex(({ owner }) => isOlder(claim.owner, owner));
    // A literal: an array that grew has memory for 16 more claims.
    node.claims =
      others.length === 0 ? [claim] : others.toSpliced(at < 0 ? others.length : at, 0, claim);
    this.#noteConflict(node);
    return !isSameHost(before, node.claims[0]!.records);
  }

  /** Returns whether the answers of the host name changed. */
  remove(host: string, owner: HostOwner): boolean {
    const name = encodeKey(host);
    const node = this.#nodes.get(name, 0, name.length);
    const before = node?.claims[0]?.records;
    if (node === undefined || before === undefined) return false;
    const others = without(node.claims, owner);
    if (others.length === node.claims.length) return false;
    node.claims = others;
    this.#noteConflict(node);
    const [first] = node.claims;
    if (first === undefined) {
      this.#size--;
      node.host = '';
      this.#dropUnused(name, node);
    }
    return !isSameHost(before, first?.records);
  }

  #nodeOf(host: string): HostNode {
    const name = encodeKey(host);
    const found = this.#nodes.get(name, 0, name.length);
    const node = found ?? this.#create(name);
    node.host = host;
    if (found !== undefined || !host.startsWith(WILDCARD)) return node;
    const above = name.subarray(1 + name[0]!);
    this.#nodes.get(above, 0, above.length)!.wildcard = node;
    return node;
  }

  /** Creates a node, and those of the names above it. */
  #create(name: Uint8Array): HostNode {
    const created = emptyNode(0);
    this.#nodes.set(name, created);
    for (let above = name.subarray(1 + name[0]!); above.length > 1;) {
      const found = this.#nodes.get(above, 0, above.length);
      if (found !== undefined) {
        found.children++;
        break;
      }
      this.#nodes.set(above, emptyNode(1));
      above = above.subarray(1 + above[0]!);
    }
    return created;
  }

  #dropUnused(name: Uint8Array, node: HostNode): void {
    let below = node;
    for (let at = name; at.length > 1 && below.claims.length === 0 && below.children === 0;) {
      this.#nodes.delete(at);
      at = at.subarray(1 + at[0]!);
      const above = this.#nodes.get(at, 0, at.length);
      if (above === undefined) return;
      above.children--;
      if (above.wildcard === below) above.wildcard = undefined;
      below = above;
    }
  }

  /** Objects that lead to the same share the name: one host has several Ingress objects, one for each path. */
  #noteConflict(node: HostNode): void {
    const [first, ...others] = node.claims;
    const areSame = others.every(({ records }) => isSameHost(first!.records, records));
    if (areSame) this.#conflicts.delete(node.host);
    else this.#conflicts.set(node.host, node);
  }
}

const NO_CLAIMS: readonly HostClaim[] = [];

function emptyNode(children: number): HostNode {
  return { host: '', claims: NO_CLAIMS, wildcard: undefined, children };
}

function without(claims: readonly HostClaim[], owner: HostOwner): readonly HostClaim[] {
  const others = claims.filter((each) => each.owner.id !== owner.id);
  return others.length === 0 ? NO_CLAIMS : others;
}

/** An object of unknown age counts as new; of two of one second the name decides. */
function isOlder(one: HostOwner, other: HostOwner): boolean {
  const oneAge = one.created || Number.MAX_VALUE;
  const otherAge = other.created || Number.MAX_VALUE;
  return oneAge === otherAge ? one.id < other.id : oneAge < otherAge;
}
