import {
  FLAG,
  MAX_NAME_BYTES,
  OPT_BYTES,
  type Query,
  readUint16,
  SAFE_UDP_BYTES,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';

/** Type, class, header bits and the byte of our flags. */
const FIXED_BYTES = 7;
/** The header bits that change an answer. */
const RELEVANT_FLAGS = FLAG.RD | FLAG.CD | FLAG.AD;
const HAS_EDNS = 1;
const IS_DNSSEC_OK = 2;
const IS_OVER_TCP = 4;

/** A query with more than this after its question is not merged with others. */
const MAX_EXTRA_BYTES = SAFE_UDP_BYTES;

/**
 * What makes two queries the same question: name in any case, type, class, all that changes an
 * answer, and every byte of OPT options or other records in it.
 */
export class QuestionKey {
  readonly bytes = new Uint8Array(MAX_NAME_BYTES + FIXED_BYTES + MAX_EXTRA_BYTES);
  /** 0 for a query that must not be merged. */
  length = 0;

  /** Builds the key of a query; false when the query must not be merged. */
  fill(query: Query): boolean {
    const { bytes } = this;
    const { name, nameLength } = query;
    for (let i = 0; i < nameLength; i++) bytes[i] = name[i]!;
    writeUint16(bytes, nameLength, query.type);
    writeUint16(bytes, nameLength + 2, query.class);
    writeUint16(bytes, nameLength + 4, query.flags & RELEVANT_FLAGS);
    bytes[nameLength + 6] =
      (query.hasEdns ? HAS_EDNS : 0) |
      (query.isDnssecOk ? IS_DNSSEC_OK : 0) |
      (query.isOverTcp ? IS_OVER_TCP : 0);
    this.length = nameLength + FIXED_BYTES;
    if (isPlain(query)) return true;
    const extra = query.length - query.questionEnd;
    if (extra > MAX_EXTRA_BYTES) {
      this.length = 0;
      return false;
    }
    for (let i = 0; i < extra; i++) bytes[this.length++] = query.bytes[query.questionEnd + i]!;
    return true;
  }

  /** A copy of the key of the last query; undefined for one that must not be merged. */
  copy(): Uint8Array | undefined {
    return this.length === 0 ? undefined : this.bytes.slice(0, this.length);
  }
}

/** Nothing after the question, or an OPT record without options. */
function isPlain({ bytes, length, questionEnd, hasEdns }: Query): boolean {
  const extra = length - questionEnd;
  if (extra === 0) return true;
  return (
    hasEdns &&
    extra === OPT_BYTES &&
    bytes[questionEnd] === 0 &&
    readUint16(bytes, questionEnd + 1) === TYPE.OPT
  );
}
