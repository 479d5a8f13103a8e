import {
  type AnswerWriter,
  lowerCaseByte,
  type Query,
  RCODE,
  RCODE_MASK,
  readUint16,
} from '@kube-dns/wire';
import type { ReverseAnswerer } from './reverse-answerer.js';
import { upstreamChain } from './upstream-chain.js';
import type { ZoneAnswerer } from './zone-answerer.js';

export interface UpstreamRecordsOptions {
  readonly zone: ZoneAnswerer;
  readonly reverse: Pick<ReverseAnswerer, 'find' | 'answer'>;
  /** Whether every object of the cluster was listed once. */
  readonly isSynced: () => boolean;
}

/**
 * Writes what a reply says about a name into an answer: the records that the name leads to. Where its CNAMEs
 * enter the own zone, the zone's own records follow, whatever the reply says about them.
 */
export class UpstreamRecords {
  readonly #options: UpstreamRecordsOptions;
  readonly #isOwnName = (name: Uint8Array): boolean => {
    const key = name.map(lowerCaseByte);
    return this.isOwn(key, key.length);
  };

  constructor(options: UpstreamRecordsOptions) {
    this.#options = options;
  }

  /** Whether no other server speaks for a lower-cased name: it is of the zone, or of an address of the cluster. */
  isOwn(name: Uint8Array, nameLength: number): boolean {
    const { zone, reverse } = this.#options;
    return zone.contains(name, nameLength) || reverse.find(name, nameLength);
  }

  /**
   * Adds the records of a reply about a name; the writer has begun. False where they lead to a CNAME of the
   * own zone, which ends the answer: the next way out of the zone may be a loop.
   */
  add(reply: Uint8Array, name: Uint8Array, query: Query, writer: AnswerWriter): boolean {
    const { zone, reverse, isSynced } = this.#options;
    const rcode = readUint16(reply, 2) & RCODE_MASK;
    writer.setAuthoritative(false);
    writer.setRcode(rcode);
    // A server that had no answer says nothing about any name.
    if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN) return true;
    const { records, end } = upstreamChain(reply, query.type, name, this.#isOwnName);
    const key = end.map(lowerCaseByte);
    const isOwnEnd = this.isOwn(key, key.length);
    // The rcode is that of the end (RFC 6604).
    if (isOwnEnd) writer.setRcode(RCODE.NOERROR);
    for (const { section, owner, type, ttlSeconds, rdata } of records) {
      writer.add(section, owner, type, ttlSeconds, rdata);
    }
    if (!isSynced()) return true;
    if (!zone.contains(key, key.length)) {
      // A service may have got the address while the question was in flight.
      if (isOwnEnd) reverse.answer(query.type, writer, end);
      return true;
    }
    zone.read(key, key.length);
    if (zone.targetOf(query.type) !== undefined) return false;
    zone.answerTarget(end, query, writer);
    return true;
  }
}
