import {
  FLAG,
  HEADER_BYTES,
  lowerCaseByte,
  OPCODE_MASK,
  RCODE,
  RCODE_MASK,
  readUint16,
  skipName,
} from '@kube-dns/wire';

/** Whether `reply` is a message with the ID of `query`. */
export function hasIdOf(query: Uint8Array, reply: Uint8Array): boolean {
  return reply.length >= HEADER_BYTES && readUint16(reply, 0) === readUint16(query, 0);
}

/** Whether `reply` answers `query`: the same ID, and what `isResponseTo` requires. */
export function isReplyTo(query: Uint8Array, reply: Uint8Array): boolean {
  return hasIdOf(query, reply) && isResponseTo(query, reply);
}

/**
 * Whether `reply`, whatever its ID, is a response with the opcode and the question of `query` (in any case). A server that
 * could not read the question may send its refusal without one.
 */
export function isResponseTo(query: Uint8Array, reply: Uint8Array): boolean {
  if (reply.length < HEADER_BYTES) return false;
  const flags = readUint16(reply, 2);
  if ((flags & FLAG.QR) === 0 || ((flags ^ readUint16(query, 2)) & OPCODE_MASK) !== 0) return false;
  const questions = readUint16(reply, 4);
  if (questions === 0) {
    const rcode = flags & RCODE_MASK;
    return rcode === RCODE.FORMERR || rcode === RCODE.NOTIMP;
  }
  const nameEnd = skipName(query, HEADER_BYTES, query.length);
  const questionEnd = nameEnd + 4;
  if (questions !== 1 || nameEnd < 0 || questionEnd > query.length) return false;
  if (questionEnd > reply.length) return false;
  for (let i = HEADER_BYTES; i < nameEnd; i++) {
    const sent = query[i]!;
    const echoed = reply[i]!;
    if (sent !== echoed && lowerCaseByte(sent) !== lowerCaseByte(echoed)) return false;
  }
  for (let i = nameEnd; i < questionEnd; i++) {
    if (query[i] !== reply[i]) return false;
  }
  return true;
}
