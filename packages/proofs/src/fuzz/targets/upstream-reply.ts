import {
  FLAG,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  readUint16,
  skipName,
  writeUint16,
} from '@kube-dns/wire';
import type { SentUpstream } from '../memory-engine.js';

/**
 * A reply that matches a query: its ID and question, and the bytes after the question from
 * `body`, a whole message. It is never cut, as what follows then is a TCP connection.
 */
export function replyWith(query: Buffer, body: Buffer): Buffer {
  const questionEnd = endOfQuestion(query);
  const bodyEnd = endOfQuestion(body);
  const rest = bodyEnd < 0 ? body.subarray(QUESTION_OFFSET) : body.subarray(bodyEnd);
  const reply = Buffer.concat([query.subarray(0, questionEnd), rest]);
  if (body.length >= QUESTION_OFFSET) body.copy(reply, 6, 6, QUESTION_OFFSET);
  const flags = body.length >= QUESTION_OFFSET ? readUint16(body, 2) : 0;
  writeUint16(reply, 2, (flags | FLAG.QR) & ~FLAG.TC);
  writeUint16(reply, 4, 1);
  return reply;
}

/** A copy of `body` as it came, which is no reply to the query: its ID is another one. */
export function strangeReply(query: Buffer, body: Buffer): Buffer {
  const reply = Buffer.from(body);
  // By chance it is the same, once in 65,536 queries.
  if (reply.length >= 2 && readUint16(reply, 0) === readUint16(query, 0)) reply[0]! ^= 0xff;
  return reply;
}

/** A plain reply: no error and no records. */
export function plainReply({ query }: SentUpstream): Buffer {
  const reply = Buffer.from(query.subarray(0, endOfQuestion(query)));
  writeUint16(reply, 2, FLAG.QR | FLAG.RA);
  reply.fill(0, 6, QUESTION_OFFSET);
  return reply;
}

function endOfQuestion(message: Buffer): number {
  const end = skipName(message, QUESTION_OFFSET, message.length);
  return end < 0 || end + QUESTION_FIXED_BYTES > message.length ? -1 : end + QUESTION_FIXED_BYTES;
}
