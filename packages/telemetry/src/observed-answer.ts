import {
  type AnswerSource,
  type ExchangeObserver,
  type ServerAddress,
  SOURCE,
} from '@kube-dns/transport';
import { Query } from '@kube-dns/wire';

const NO_MESSAGE = new Uint8Array(0);
const MAX_ADDRESS_BYTES = 16;

/**
 * A query and its answer, as every sink gets them. There is one of these, used again for the next answer: a sink copies
 * what it keeps.
 */
export class ObservedAnswer {
  /** As it was read, with its `bytes` up to `length`. */
  query = new Query();
  /** The first `addressBytes` bytes, 4 or 16, are the client's address. */
  readonly address = new Uint8Array(MAX_ADDRESS_BYTES);
  addressBytes = 0;
  port = 0;
  /** When the query arrived and was answered, on the clock of performance.now(). */
  startedMs = 0;
  endedMs = 0;
  /** What was sent: the first `length` bytes; 0 when there was no answer. */
  message: Uint8Array = NO_MESSAGE;
  length = 0;
  source: AnswerSource = SOURCE.NONE;
  /** The server that replied, if one did. */
  server: ServerAddress | undefined;
}

/**
 * Gets what happens to the queries of a program, each event for which it has a method, while it is among the sinks of
 * its Telemetry. It is called on the query path.
 */
export interface QuerySink extends ExchangeObserver {
  /** A query has an answer, or has ended without one; see {@link ObservedAnswer}. */
  answered?(answer: ObservedAnswer): void;
}
