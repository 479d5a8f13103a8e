import { EXTENDED_ERROR, extendedErrorOption } from '@kube-dns/wire';
import { addressText, type ServerAddress } from '../server-address.js';
import type { FailureReason } from './reply-flaw.js';

/** Why a question has no answer. */
export interface Failure {
  /** An Extended DNS Error (RFC 8914), and the same as an option with a text. */
  readonly code: number;
  readonly option: Uint8Array;
  /** Whether that is because no server replied. */
  readonly isSilence: boolean;
}

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
export const NOT_SENT = failure(NETWORK_ERROR, 'cannot send', true);
/** The reply cannot be relayed. */
export const UNREADABLE = failure(INVALID_DATA, 'malformed reply');
/** The question came back from the servers that it was sent to. */
export const LOOP = failure(OTHER, 'forwarding loop');
/** Too many different queries of one name and type wait for servers. */
export const TOO_MANY_VARIANTS = failure(OTHER, 'too many different queries for this name');
/** Too many queries wait for servers. */
export const TOO_MANY_WAITING = failure(OTHER, 'too many queries wait for servers');
