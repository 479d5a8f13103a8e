import type { Forwarder, ListenerCounters } from '@kube-dns/transport';
import type { QueryFigures } from '../answer/query-statistics.js';

/** What a listener counts, as plain data. */
export type ListenerFigures = Pick<ListenerCounters, keyof ListenerCounters>;

/** Everything that one thread counts, as plain data that only grows but for `inFlight`. */
export interface Figures {
  readonly queries: QueryFigures;
  readonly listener: ListenerFigures;
  readonly forwarder: Pick<Forwarder, 'forwarded' | 'failures' | 'overflows' | 'inFlight'>;
  readonly unexpectedErrors: number;
}
