import type { RecordCursor } from '@kube-dns/wire';
import type { AttemptRules } from './attempt-list.js';
import type { Flight } from './flight.js';
import type { QueryForwarderOptions } from './query-forwarder-options.js';

/** What a flight needs of its forwarder. */
export interface FlightOwner extends AttemptRules {
  readonly cursor: RecordCursor;
  readonly options: Pick<QueryForwarderOptions, 'onFailure'>;
  /** The flight is over: it has a reply, or `null` for SERVFAIL. */
  finish(flight: Flight, reply: Buffer | null): void;
}
