import { EXTENDED_ERROR } from '@kube-dns/wire';

/** Why a question has no answer: an Extended DNS Error (RFC 8914), with a text where its code does not say it. */
export interface Failure {
  readonly code: number;
  readonly text: string;
}

/** No Extended DNS Error. */
export const UNEXPLAINED: Failure = { code: -1, text: '' };
/** No server answered in time. */
export const NO_REPLY: Failure = { code: EXTENDED_ERROR.NO_REACHABLE_AUTHORITY, text: '' };
/** No server can be reached. */
export const UNREACHABLE: Failure = { code: EXTENDED_ERROR.NETWORK_ERROR, text: '' };
/** The question came back from the servers that it was sent to. */
export const LOOP: Failure = { code: EXTENDED_ERROR.OTHER, text: 'forwarding loop' };
/** Too many different queries of one name and type wait for servers. */
export const TOO_MANY_VARIANTS: Failure = {
  code: EXTENDED_ERROR.OTHER,
  text: 'too many different queries for this name',
};
