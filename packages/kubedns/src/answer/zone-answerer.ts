import { type AnswerWriter, type Query, RCODE, SECTION, suffixOffset, TYPE } from '@kube-dns/wire';
import { addressType } from '../zone/address.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { podAddress } from '../zone/pod-name.js';
import type { RecordSet, ZoneNode } from '../zone/record-tree.js';
import { Shuffle } from './shuffle.js';

export interface ZoneAnswererOptions {
  readonly zone: ClusterZone;
  readonly ttlSeconds: number;
  readonly negativeTtlSeconds: number;
  readonly random?: () => number;
}

/** Types that are answered at the owner of a CNAME itself, or not at all. */
const NOT_FOLLOWED: ReadonlySet<number> = new Set([TYPE.CNAME, TYPE.ANY, TYPE.AXFR, TYPE.IXFR]);

/**
 * Writes the answers to questions about one zone and the reverse names that its cluster owns. Where an
 * owner is asked for, `undefined` is the question's name.
 */
export class ZoneAnswerer {
  readonly #zone: ClusterZone;
  readonly #ttlSeconds: number;
  readonly #negativeTtlSeconds: number;
  readonly #shuffle: Shuffle;

  constructor(options: ZoneAnswererOptions) {
    this.#zone = options.zone;
    this.#ttlSeconds = options.ttlSeconds;
    this.#negativeTtlSeconds = options.negativeTtlSeconds;
    this.#shuffle = new Shuffle(options.random);
  }

  /** Tells whether the question's name is the zone or lies below it. */
  owns(query: Query): boolean {
    return suffixOffset(query.name, query.nameLength, this.#zone.apex) >= 0;
  }

  /** Tells whether a lower-cased name is the zone or lies below it. */
  contains(name: Uint8Array): boolean {
    return suffixOffset(name, name.length, this.#zone.apex) >= 0;
  }

  /** The node of a lower-cased name; undefined when there is none. */
  find(name: Uint8Array): ZoneNode | undefined {
    return this.#zone.forward.find(name, 0, name.length);
  }

  /** The node of a question's name; undefined when there is none. */
  findNode(query: Query): ZoneNode | undefined {
    return this.#zone.forward.find(query.name, 0, query.nameLength);
  }

  /** Tells whether a node is an ExternalName service whose target a question of this type follows. */
  isFollowed(node: ZoneNode, type: number): boolean {
    return !NOT_FOLLOWED.has(type) && node.find(TYPE.CNAME) !== undefined;
  }

  /** The node of a reverse name that the cluster owns; undefined for any other name. */
  findReverse(query: Query): ZoneNode | undefined {
    return this.#zone.reverse.find(query.name, 0, query.nameLength);
  }

  /** Answers a question about a name in the zone, `node` being its node; the writer has begun. */
  answer(node: ZoneNode | undefined, query: Query, writer: AnswerWriter): void {
    if (query.type === TYPE.AXFR || query.type === TYPE.IXFR) {
      writer.setRcode(RCODE.REFUSED);
      return;
    }
    writer.setAuthoritative();
    this.#answerName(node, query.name, query.nameLength, undefined, query.type, writer);
  }

  /** Answers a question about a reverse name that `findReverse` found. */
  answerReverse(node: ZoneNode, query: Query, writer: AnswerWriter): void {
    writer.setAuthoritative();
    this.#answerNode(node, undefined, query.type, writer);
  }

  /** Writes what the end of an alias chain inside the zone has; `name` is lower-cased. */
  answerTarget(name: Uint8Array, query: Query, writer: AnswerWriter): void {
    this.#answerName(this.find(name), name, name.length, name, query.type, writer);
  }

  #answerName(
    node: ZoneNode | undefined,
    name: Uint8Array,
    length: number,
    owner: Uint8Array | undefined,
    type: number,
    writer: AnswerWriter,
  ): void {
    if (node !== undefined) this.#answerNode(node, owner, type, writer);
    else if (!this.#answerPod(name, length, owner, type, writer)) {
      this.#deny(writer, RCODE.NXDOMAIN);
    }
  }

  /** Answers with what a node has of a type; a node without it is NODATA. */
  #answerNode(
    node: ZoneNode,
    owner: Uint8Array | undefined,
    type: number,
    writer: AnswerWriter,
  ): void {
    // One set is answer enough to ANY (RFC 8482 section 4.1).
    const set = node.find(TYPE.CNAME) ?? (type === TYPE.ANY ? node.sets[0] : node.find(type));
    if (set !== undefined) this.#writeSet(set, owner, writer);
    else if (node.name === this.#zone.apex && (type === TYPE.SOA || type === TYPE.ANY)) {
      const { soaRdata } = this.#zone;
      writer.add(SECTION.ANSWER, owner, TYPE.SOA, this.#ttlSeconds, soaRdata);
    } else {
      this.#deny(writer, RCODE.NOERROR);
    }
  }

  /**
   * Answers `<address>.<namespace>.pod.<zone>`, a name that is made up from the question and so has no
   * node; false when the name is no such name.
   */
  #answerPod(
    name: Uint8Array,
    length: number,
    owner: Uint8Array | undefined,
    type: number,
    writer: AnswerWriter,
  ): boolean {
    const { pods, forward, knowsNamespaces } = this.#zone;
    const podsAt = suffixOffset(name, length, pods);
    if (podsAt <= 0) return false;
    const namespaceAt = name[0]! + 1;
    if (namespaceAt === podsAt && !knowsNamespaces) {
      // Any namespace may exist then, and NXDOMAIN would deny the pods below it too (RFC 8020).
      this.#deny(writer, RCODE.NOERROR);
      return true;
    }
    if (namespaceAt + name[namespaceAt]! + 1 !== podsAt) return false;
    if (knowsNamespaces && forward.find(name, namespaceAt, length) === undefined) return false;
    const address = podAddress(Buffer.from(name.subarray(1, namespaceAt)).toString('latin1'));
    if (address === undefined) return false;
    const addressOf = addressType(address);
    if (type === addressOf || type === TYPE.ANY) {
      writer.add(SECTION.ANSWER, owner, addressOf, this.#ttlSeconds, address);
    } else {
      this.#deny(writer, RCODE.NOERROR);
    }
    return true;
  }

  #writeSet(set: RecordSet, owner: Uint8Array | undefined, writer: AnswerWriter): void {
    const order = this.#shuffle.order(set.rdata.length, set.type !== TYPE.PTR);
    for (let i = 0; i < set.rdata.length; i++) {
      const rdata = set.rdata[order[i]!]!;
      if (!writer.add(SECTION.ANSWER, owner, set.type, this.#ttlSeconds, rdata)) return;
    }
    for (const target of set.targets) this.#writeAddresses(target, writer);
  }

  /** The addresses of an SRV target, for the additional section. */
  #writeAddresses(target: Uint8Array, writer: AnswerWriter): void {
    const node = this.#zone.forward.find(target, 0, target.length);
    if (node === undefined) return;
    for (const set of node.sets) {
      if (set.type !== TYPE.A && set.type !== TYPE.AAAA) continue;
      for (const rdata of set.rdata) {
        writer.add(SECTION.ADDITIONAL, target, set.type, this.#ttlSeconds, rdata);
      }
    }
  }

  /** NXDOMAIN or NODATA, with the SOA that says how long to believe it (RFC 2308 section 3). */
  #deny(writer: AnswerWriter, rcode: number): void {
    const { apex, soaRdata } = this.#zone;
    writer.setRcode(rcode);
    writer.add(SECTION.AUTHORITY, apex, TYPE.SOA, this.#negativeTtlSeconds, soaRdata);
  }
}
