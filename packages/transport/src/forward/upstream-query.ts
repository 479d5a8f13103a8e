import {
  FLAG,
  OPT_BYTES,
  type Query,
  QUESTION_OFFSET,
  type RecordCursor,
  SECTION,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { type QuestionVariant, UNSHARED } from './question-key.js';

/** EDNS options that a question is sent with. */
export interface AddedOptions {
  /** The options one after the other, as in an OPT record; not changed later. */
  readonly bytes: Uint8Array;
  /** The client's own subnet is among them: it gets the server's. */
  readonly hasClientSubnet: boolean;
}

/** None. */
export const NO_OPTIONS: AddedOptions = { bytes: new Uint8Array(0), hasClientSubnet: false };

/** Header bits that a question is sent with. */
const FLAGS = FLAG.RD | FLAG.CD | FLAG.AD;
/** The bit of an OPT record (RFC 3225 section 3). */
const DNSSEC_OK = 0x8000;

/** The header bits of a client that its question is sent with; AD only where the answer's AD is passed on. */
export function sentFlags(query: Query, passesAd: boolean): number {
  return query.flags & (passesAd ? FLAGS : FLAGS & ~FLAG.AD);
}

/** How long the message is that a query is sent upstream as, with the options of its key. */
export function upstreamBytes(query: Query, { variant, options }: QuestionVariant): number {
  return variant === UNSHARED ? query.length : query.questionEnd + OPT_BYTES + options.length;
}

/** Writes that message, which has the length above; its ID is the sender's to set. The cursor is the caller's. */
export function writeUpstream(
  message: Uint8Array,
  query: Query,
  { variant, options }: QuestionVariant,
  maxUdpBytes: number,
  cursor: RecordCursor,
): void {
  if (variant === UNSHARED) writeUnchanged(message, query, maxUdpBytes, cursor);
  else writeQuery(message, query, variant & FLAGS, maxUdpBytes, options);
}

/**
 * The query for upstream servers: the client's question with an OPT record of ours, because OPT is hop by hop
 * (RFC 6891 section 6.1.1): UDP answers of at most `maxUdpBytes`, DO as the client set it, and these
 * options.
 */
function writeQuery(
  message: Uint8Array,
  query: Query,
  flags: number,
  maxUdpBytes: number,
  options: Uint8Array,
): void {
  const { bytes, questionEnd } = query;
  const optionsAt = questionEnd + OPT_BYTES;
  writeUint16(message, 2, flags);
  for (let i = 4; i < QUESTION_OFFSET; i++) message[i] = 0;
  message[5] = message[11] = 1;
  for (let i = QUESTION_OFFSET; i < questionEnd; i++) message[i] = bytes[i]!;
  message[questionEnd] = 0;
  writeUint16(message, questionEnd + 1, TYPE.OPT);
  writeUint16(message, questionEnd + 3, maxUdpBytes);
  writeUint16(message, questionEnd + 5, 0);
  writeUint16(message, questionEnd + 7, query.isDnssecOk ? DNSSEC_OK : 0);
  writeUint16(message, optionsAt - 2, options.length);
  for (let i = 0; i < options.length; i++) message[optionsAt + i] = options[i]!;
}

/**
 * A query with other records than OPT: unchanged, because it may be signed (RFC 8945 section 5.5), but for
 * the size of UDP answers. The cursor is the caller's.
 */
function writeUnchanged(
  message: Uint8Array,
  query: Query,
  maxUdpBytes: number,
  cursor: RecordCursor,
): void {
  message.set(query.bytes.subarray(0, query.length));
  cursor.reset(message, message.length);
  while (cursor.next()) {
    if (cursor.section !== SECTION.ADDITIONAL || cursor.type !== TYPE.OPT) continue;
    // The class of an OPT record is the size (RFC 6891 section 6.1.2).
    if (cursor.class > maxUdpBytes) writeUint16(message, cursor.typeAt + 2, maxUdpBytes);
  }
}
