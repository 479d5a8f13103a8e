import { FLAG, HEADER_BYTES, lowerCaseByte, RCODE, readUint16, skipName } from '@kube-dns/wire';

/**
 * Tells whether `reply` answers `query`: same ID, a response, and the same question (letters of any
 * case). A server that could not read the question may send its refusal without one.
 */
export function isReplyTo(query: Uint8Array, reply: Uint8Array): boolean {
  if (reply.length < HEADER_BYTES || readUint16(reply, 0) !== readUint16(query, 0)) return false;
  const flags = readUint16(reply, 2);
  if ((flags & FLAG.QR) === 0) return false;
  const questions = readUint16(reply, 4);
  if (questions === 0) {
    const rcode = flags & 0xf;
    return rcode === RCODE.FORMERR || rcode === RCODE.NOTIMP;
  }
  const nameEnd = skipName(query, HEADER_BYTES, query.length);
  const questionEnd = nameEnd + 4;
  if (questions !== 1 || nameEnd < 0 || questionEnd > query.length) return false;
  if (questionEnd > reply.length) return false;
  for (let i = HEADER_BYTES; i < nameEnd; i++) {
    if (lowerCaseByte(query[i]!) !== lowerCaseByte(reply[i]!)) return false;
  }
  for (let i = nameEnd; i < questionEnd; i++) {
    if (query[i] !== reply[i]) return false;
  }
  return true;
}
