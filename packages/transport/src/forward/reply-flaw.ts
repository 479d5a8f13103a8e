import { FLAG, RCODE, RCODE_MASK, readUint16, type ReplyOutline } from '@kube-dns/wire';
import type { ExchangeErrorCode } from '../errors.js';

/**
 * Why a reply is no answer: SERVFAIL and REFUSED say so themselves; `lame` is a referral to others by a
 * server that does not ask them; `malformed` does not fit its own length.
 */
export type ReplyFlaw = 'refusal' | 'lame' | 'malformed';

/** Why a server had no answer; a refusal has its rcode. */
export type FailureReason = ExchangeErrorCode | 'servfail' | 'refusal' | 'lame';

/** Why a server had no answer whose reply has a flaw. */
export function failureOf(flaw: ReplyFlaw, reply: Uint8Array): FailureReason {
  return flaw === 'refusal' && rcodeOf(reply) === RCODE.SERVFAIL ? 'servfail' : flaw;
}

/** What is wrong with a reply that has this outline; undefined for one that is an answer. */
export function flawOf(reply: Uint8Array, outline: ReplyOutline): ReplyFlaw | undefined {
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

export function rcodeOf(reply: Uint8Array): number {
  return readUint16(reply, 2) & RCODE_MASK;
}

/** NOERROR without an answer, from a server that neither has the zone nor asks for others. */
function isUnanswered(reply: Uint8Array): boolean {
  const flags = readUint16(reply, 2);
  return (flags & (RCODE_MASK | FLAG.AA | FLAG.RA)) === 0 && readUint16(reply, 6) === 0;
}
