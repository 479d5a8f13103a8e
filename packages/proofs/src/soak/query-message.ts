import { encodeQuery, writeUint16 } from '@kube-dns/wire';
import type { Asking } from './question-mix.js';

/** OPT with room for 1,232 bytes, and a client's cookie (RFC 7873). */
const OPT = Buffer.from('00002904d000000000000c000a00080123456789abcdef', 'hex');
const ADDITIONAL_COUNT_OFFSET = 10;

/** The query in wire form; its ID is for the sender to set. */
export function encodeAsking({ question, hasEdns }: Asking): Buffer {
  const query = encodeQuery({ id: 0, name: question.name, type: question.type });
  if (!hasEdns) return query;
  writeUint16(query, ADDITIONAL_COUNT_OFFSET, 1);
  return Buffer.concat([query, OPT]);
}
