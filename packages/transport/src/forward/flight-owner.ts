import type { RecordCursor, ReplyOutline } from '@kube-dns/wire';
import type { AttemptRules } from './attempt.js';
import type { Flight } from './flight.js';
import type { QueryForwarderOptions } from './query-forwarder-options.js';

/**
 * Inspects a reply before the clients get it and returns what they get: the reply, changed or not;
 * null to ignore it as if it had not arrived. `isCacheable` is false for a reply from servers
 * that no longer serve the question: it must not be cached. The reply is valid during the call, and has this outline, also
 * if it is changed and returned itself.
 */
export type ReplyInspector = (
  reply: Buffer,
  isCacheable: boolean,
  outline: ReplyOutline,
) => Buffer | null | undefined;

/** What a flight needs of its forwarder. */
export interface FlightOwner extends AttemptRules {
  readonly cursor: RecordCursor;
  /** Of the reply that is being handled. */
  readonly outline: ReplyOutline;
  readonly options: Pick<QueryForwarderOptions, 'mixesCase' | 'maxUdpBytes'>;
  /** The flight is over: it has a reply, or `null` for SERVFAIL. `mayBeLate`: a better one may still come. */
  finish(flight: Flight, reply: Buffer | null, mayBeLate?: boolean): void;
}
