import {
  EXTENDED_ERROR,
  extendedErrorOption,
  fitMessage,
  FLAG,
  markReasons,
  OPT_BYTES,
  RCODE,
  RCODE_MASK,
  rcodeOf,
  readUint16,
  RecordCursor,
  ReplyOutline,
  writeUint16,
} from '@kube-dns/wire';
import type { ExchangeErrorCode } from '../errors.js';
import { addressText, type ServerAddress } from '../server-address.js';

/**
 * Why a reply is no answer: SERVFAIL and REFUSED say so themselves; `lame` is a referral to others by a
 * server that does not ask them; `malformed` does not fit its own length.
 */
export type BadReplyReason = 'refusal' | 'lame' | 'malformed';

/** Why a server had no answer; a refusal has its rcode. */
export type FailureReason = ExchangeErrorCode | 'servfail' | 'refusal' | 'lame';

/** Why a question has no answer. */
export interface Failure {
  /** An Extended DNS Error (RFC 8914), and the same as an option with a text. */
  readonly code: number;
  readonly option: Uint8Array;
  /** Whether that is because no server replied. */
  readonly isSilence: boolean;
}

const cursor = new RecordCursor();
const outlineOfBare = new ReplyOutline();
const { NO_REACHABLE_AUTHORITY, NETWORK_ERROR, INVALID_DATA, OTHER } = EXTENDED_ERROR;

/** The code and the word of each reason. */
const CAUSES: Readonly<Record<FailureReason, readonly [code: number, text: string]>> = {
  timeout: [NO_REACHABLE_AUTHORITY, 'timeout'],
  unreachable: [NETWORK_ERROR, 'unreachable'],
  refused: [NETWORK_ERROR, 'port closed'],
  closed: [NETWORK_ERROR, 'connection closed'],
  certificate: [NETWORK_ERROR, 'wrong certificate'],
  handshake: [NETWORK_ERROR, 'no TLS handshake'],
  servfail: [NO_REACHABLE_AUTHORITY, 'SERVFAIL'],
  refusal: [NO_REACHABLE_AUTHORITY, 'REFUSED'],
  lame: [NO_REACHABLE_AUTHORITY, 'referral'],
  malformed: [INVALID_DATA, 'malformed'],
};
const REPLIES: ReadonlySet<FailureReason> = new Set(['servfail', 'refusal', 'lame', 'malformed']);

const NOT_SENT_TEXT = 'cannot send';

/** A failure with a text of at most 40 bytes. */
export function failure(code: number, text: string, isSilence = false): Failure {
  return { code, option: extendedErrorOption(code, text), isSilence };
}

/** That a server had no answer. */
export function failureFrom(reason: FailureReason, server?: ServerAddress): Failure {
  const [code, text] = CAUSES[reason];
  return failure(
    code,
    server === undefined ? text : `${text} ${addressText(server)}`,
    !REPLIES.has(reason),
  );
}

/** The question cannot be sent: there is no socket for it, or no route. */
export const NOT_SENT = failure(NETWORK_ERROR, NOT_SENT_TEXT, true);
/** The same, to the first of several servers. */
export function notSentTo(server: ServerAddress): Failure {
  return failure(NETWORK_ERROR, `${NOT_SENT_TEXT} ${addressText(server)}`, true);
}
/** The reply cannot be relayed. */
export const UNREADABLE = failure(INVALID_DATA, 'malformed reply');
/** The question came back from the servers that it was sent to. */
export const LOOP = failure(OTHER, 'forwarding loop');
/** Too many different queries of one name and type wait for servers. */
export const TOO_MANY_VARIANTS = failure(OTHER, 'too many different queries for this name');
/** Too many queries of an address wait that may be forged. */
export const TOO_MANY_OF_CLIENT = failure(OTHER, 'too many queries of this client wait');
/** Too many queries wait for servers. */
export const TOO_MANY_WAITING = failure(OTHER, 'too many queries wait for servers');

/** Why a server had no answer whose reply is bad. */
export function failureOf(badReply: BadReplyReason, reply: Uint8Array): FailureReason {
  return badReply === 'refusal' && rcodeOf(reply) === RCODE.SERVFAIL ? 'servfail' : badReply;
}

/** What is wrong with a reply that has this outline; undefined for one that is an answer. */
export function badReplyReason(
  reply: Uint8Array,
  outline: ReplyOutline,
): BadReplyReason | undefined {
  if (isRefusal(reply)) return 'refusal';
  if (outline.isMalformed) return 'malformed';
  const isReferral = outline.nameServers > 0 && outline.owners === 0;
  return isReferral && isUnanswered(reply) ? 'lame' : undefined;
}

/** Whether a server refused or failed: what it says may be passed on when none had a better. */
export function isRefusal(reply: Uint8Array): boolean {
  const rcode = rcodeOf(reply);
  return rcode === RCODE.SERVFAIL || rcode === RCODE.REFUSED;
}

/** NOERROR without an answer, from a server that neither has the zone nor asks for others. */
function isUnanswered(reply: Uint8Array): boolean {
  const flags = readUint16(reply, 2);
  return (flags & (RCODE_MASK | FLAG.AA | FLAG.RA)) === 0 && readUint16(reply, 6) === 0;
}

/** Whether what a question ended with is newer knowledge than an expired answer: records, or that there are none. */
export function isUsable(reply: Uint8Array | null): boolean {
  // A truncated reply is what is left when its rest could not be fetched.
  if (reply === null || isTruncated(reply)) return false;
  const rcode = rcodeOf(reply);
  return rcode === RCODE.NOERROR || rcode === RCODE.NXDOMAIN;
}

/** Whether a reply has TC. */
export function isTruncated(reply: Uint8Array): boolean {
  return (readUint16(reply, 2) & FLAG.TC) !== 0;
}

/**
 * What is left of a cut reply when nothing better comes (dnsmasq src/rfc1035.c, extract_addresses), in the
 * same bytes: no records, and no authority over them.
 */
export function withoutRecords(reply: Buffer): Buffer {
  const { end } = cursor.reset(reply, reply.length);
  writeUint16(reply, 2, readUint16(reply, 2) & ~FLAG.AA);
  return reply.subarray(0, fitMessage(reply, reply.length, end + OPT_BYTES, cursor));
}

/**
 * A refusal as it may be passed on, in the same bytes: the server had no answer, so it has no records and no
 * authority. OPT stays, with the reason, which says that it is the server's. The outline is the reply's.
 */
export function bareRefusal(reply: Buffer, outline: ReplyOutline): Buffer {
  const { questionEnd, optAt, optionsEnd, hasRecords } = outline;
  const flags = readUint16(reply, 2) & ~FLAG.AA;
  const optBytes = optAt < 0 ? 0 : optionsEnd - optAt;
  const length = hasRecords
    ? fitMessage(reply, reply.length, questionEnd + optBytes, cursor)
    : reply.length;
  writeUint16(reply, 2, flags);
  const bare = reply.subarray(0, length);
  return markReasons(bare, outlineOfBare.read(bare));
}
