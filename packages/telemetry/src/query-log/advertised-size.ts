import { HEADER_BYTES, type Query, readUint16, RecordCursor, SECTION, TYPE } from '@kube-dns/wire';

const CLASSIC_UDP_BYTES = 512;
const MAX_TCP_BYTES = 65_535;
const cursor = new RecordCursor();

/** What CoreDNS calls the buffer size of a query: what its OPT record asks for, 512 at least; over TCP all of a message. */
export function advertisedSize({ bytes, length, isOverTcp, hasEdns, questionEnd }: Query): number {
  if (isOverTcp) return MAX_TCP_BYTES;
  if (!hasEdns) return CLASSIC_UDP_BYTES;
  // Nearly always it follows the question: a root name, and the type.
  const isNext = readUint16(bytes, questionEnd + 1) === TYPE.OPT && bytes[questionEnd] === 0;
  if (isNext && questionEnd > HEADER_BYTES) {
    return Math.max(CLASSIC_UDP_BYTES, readUint16(bytes, questionEnd + 3));
  }
  cursor.reset(bytes, length);
  while (cursor.next()) {
    if (cursor.section === SECTION.ADDITIONAL && cursor.type === TYPE.OPT) {
      return Math.max(CLASSIC_UDP_BYTES, cursor.class);
    }
  }
  return CLASSIC_UDP_BYTES;
}
