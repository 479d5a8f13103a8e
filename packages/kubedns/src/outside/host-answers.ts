import { type AnswerWriter, SECTION, type Section, TYPE } from '@kube-dns/wire';
import { addAddress } from '../answer/service-answerer.js';
import { Shuffle } from '../answer/shuffle.js';
import type { HostRecords, PackedAddresses } from '../watch/projections.js';

/** Types for which a CNAME is not followed. */
const NOT_FOLLOWED: ReadonlySet<number> = new Set([TYPE.CNAME, TYPE.ANY]);

/** The target of a name's CNAME; undefined where it has none for this type. */
export function targetFor(records: HostRecords, type: number): Uint8Array | undefined {
  return NOT_FOLLOWED.has(type) ? undefined : records.target;
}

/** Writes the records of names beside the zone, addresses in random order. */
export class HostAnswers {
  readonly #ttlSeconds: number;
  readonly #shuffle: Shuffle;

  constructor(ttlSeconds: number, random: () => number = Math.random) {
    this.#ttlSeconds = ttlSeconds;
    this.#shuffle = new Shuffle(random);
  }

  /** Adds the records of a type; false when there are none. ANY gets one RRset (RFC 8482 section 4.1). */
  add(
    records: HostRecords,
    type: number,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
    section: Section = SECTION.ANSWER,
  ): boolean {
    const { ipv4, ipv6, target } = records;
    if (target !== undefined) {
      if (type !== TYPE.CNAME && type !== TYPE.ANY) return false;
      writer.add(section, owner, TYPE.CNAME, this.#ttlSeconds, target);
      return true;
    }
    if (type === TYPE.A) return this.#addAll(ipv4, owner, writer, section);
    if (type === TYPE.AAAA) return this.#addAll(ipv6, owner, writer, section);
    if (type !== TYPE.ANY) return false;
    return this.#addAll(ipv4, owner, writer, section) || this.#addAll(ipv6, owner, writer, section);
  }

  /** Adds the addresses of both families to the additional section. */
  addGlue(records: HostRecords, owner: Uint8Array, writer: AnswerWriter): void {
    this.#addAll(records.ipv4, owner, writer, SECTION.ADDITIONAL);
    this.#addAll(records.ipv6, owner, writer, SECTION.ADDITIONAL);
  }

  #addAll(
    addresses: PackedAddresses,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
    section: Section,
  ): boolean {
    const { size, bytes } = addresses;
    const drawn = this.#shuffle.start(bytes.length / size);
    for (let left = drawn; left > 0; left--) {
      const at = this.#shuffle.next() * size;
      if (!addAddress(writer, section, owner, addresses, at, this.#ttlSeconds)) break;
    }
    return drawn > 0;
  }
}
