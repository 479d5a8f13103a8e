import {
  addressBytes,
  CLASS,
  encodeQuery,
  HEADER_BYTES,
  RCODE,
  readUint16,
  skipName,
  TYPE,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';

/** What a reply says besides the question. */
export interface ReplyFields {
  readonly rcode?: number;
  readonly address?: string;
  readonly ttlSeconds?: number;
  /** A referral to the root by a server that does not ask others (RA=0), as of a delegation gone wrong. */
  readonly isLame?: boolean;
}

const QR_RD = 0x8100;
const RA = 0x0080;
const POINTER_TO_QUESTION = 0xc000 | HEADER_BYTES;
const QUESTION_FIXED_BYTES = 4;
const RECORD_FIXED_BYTES = 10;
const REFERRAL_TTL_SECONDS = 3_600;
/** Nobody's address: who hears it has believed a lie (RFC 5737). */
const LIE_ADDRESS = '203.0.113.66';

/** Where the question of a query ends; -1 for what is none. */
export function questionEnd(query: Buffer): number {
  if (query.length < HEADER_BYTES) return -1;
  const end = skipName(query, HEADER_BYTES, query.length);
  return end < 0 || end + QUESTION_FIXED_BYTES > query.length ? -1 : end + QUESTION_FIXED_BYTES;
}

/** A reply with the ID and question of a query. */
export function encodeReply(query: Buffer, end: number, fields: ReplyFields): Buffer {
  const { rcode = RCODE.NOERROR, address, ttlSeconds = 0, isLame = false } = fields;
  const head = Buffer.from(query.subarray(0, end));
  head.fill(0, 6, HEADER_BYTES);
  writeUint16(head, 2, QR_RD | (isLame ? 0 : RA) | rcode);
  const owner = Buffer.alloc(2);
  writeUint16(owner, 0, POINTER_TO_QUESTION);
  if (isLame) {
    writeUint16(head, 8, 1);
    // Both the owner and its server are the root.
    return Buffer.concat([head, record(Buffer.of(0), TYPE.NS, REFERRAL_TTL_SECONDS, Buffer.of(0))]);
  }
  if (address === undefined) return head;
  writeUint16(head, 6, 1);
  return Buffer.concat([
    head,
    record(owner, TYPE.A, ttlSeconds, Buffer.from(addressBytes(address))),
  ]);
}

/** An answer to the query whose last record ends too early. */
export function encodeBroken(query: Buffer, end: number): Buffer {
  const lie = encodeReply(query, end, { address: LIE_ADDRESS, ttlSeconds: 300 });
  return lie.subarray(0, lie.length - 3);
}

/** Each is a message that is no answer to the query, though it looks like one. */
export const LIES: readonly ((query: Buffer, end: number) => Buffer)[] = [
  // Another ID.
  (query, end) => {
    const lie = encodeReply(query, end, { address: LIE_ADDRESS, ttlSeconds: 300 });
    writeUint16(lie, 0, readUint16(query, 0) ^ 0x5555);
    return lie;
  },
  // Another name.
  (query) => {
    const other = encodeQuery({ id: readUint16(query, 0), name: 'other.example', type: 'A' });
    return encodeReply(other, questionEnd(other), { address: LIE_ADDRESS, ttlSeconds: 300 });
  },
  // Another type.
  (query, end) => {
    const lie = encodeReply(query, end, { address: LIE_ADDRESS, ttlSeconds: 300 });
    writeUint16(lie, end - QUESTION_FIXED_BYTES, TYPE.AAAA);
    return lie;
  },
  // The query itself.
  (query) => query,
  // A header that promises what does not follow, without the question.
  (query) => {
    const lie = Buffer.alloc(HEADER_BYTES);
    query.copy(lie, 0, 0, 2);
    writeUint16(lie, 2, QR_RD | RA);
    lie.fill(0xff, 4);
    return lie;
  },
  // Bytes.
  (query) => Buffer.concat([query.subarray(0, 2), Buffer.alloc(40, 0xc0)]),
  () => Buffer.of(0),
];

function record(owner: Buffer, type: number, ttlSeconds: number, rdata: Buffer): Buffer {
  const fixed = Buffer.alloc(RECORD_FIXED_BYTES);
  writeUint16(fixed, 0, type);
  writeUint16(fixed, 2, CLASS.IN);
  writeUint32(fixed, 4, ttlSeconds);
  writeUint16(fixed, 8, rdata.length);
  return Buffer.concat([owner, fixed, rdata]);
}
