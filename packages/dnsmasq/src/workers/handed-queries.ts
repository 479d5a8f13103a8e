import {
  type Answerer,
  type Client,
  Intake,
  type ListenerCounters,
  type Reply,
} from '@kube-dns/transport';
import { MAX_MESSAGE_BYTES } from '@kube-dns/wire';
import { Parcel, ParcelReader } from './parcel.js';
import type { HandedBack } from './worker-messages.js';

export interface HandedQueriesOptions {
  readonly answerer: Answerer;
  /** Only its failures mean something: all else the worker has counted. */
  readonly counters: ListenerCounters;
  readonly maxUdpBytes: number;
  readonly onFailure: (error: unknown) => void;
  /** Brings answers to the worker. */
  readonly say: (back: HandedBack) => void;
}

const NONE = new Uint8Array(0);

/** The leader's side of what one worker hands over: answers it as if it had come to its own socket. */
export class HandedQueries implements Client {
  address = '';
  port = 0;
  readonly #intake: Intake;
  readonly #say: (back: HandedBack) => void;
  readonly #out = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #parcel = new Parcel();
  #number = 0;
  /** Ways back that were taken for the query in hand. */
  #deferred = 0;
  #next: NodeJS.Immediate | undefined;

  constructor({ say, ...options }: HandedQueriesOptions) {
    this.#intake = new Intake(options);
    this.#say = say;
  }

  /** Takes a parcel; the answers that are there at once go back together. */
  take(parcel: Uint8Array): void {
    const reader = new ParcelReader(parcel);
    while (!reader.isAtEnd) {
      this.#number = reader.uint32();
      this.port = reader.uint16();
      this.address = reader.text();
      this.#answer(reader.bytes());
    }
    this.#send(true);
  }

  defer(): Reply {
    this.#deferred++;
    return new HandedReply(this, this.#number, this.address, this.port);
  }

  /** For a reply: puts an answer, or none of no bytes, among those that go back. */
  put(number: number, message: Uint8Array, length: number): void {
    this.#parcel.putUint32(number);
    this.#parcel.putBytes(message, length);
    // Replies of name servers come many at a time.
    this.#next ??= setImmediate(() => this.flush());
  }

  /** Sends what waits; may be called at any time. */
  flush(): void {
    if (this.#parcel.length > 0) this.#send(false);
  }

  #answer(query: Uint8Array): void {
    this.#deferred = 0;
    const length = this.#intake.take(query, query.length, false, this, this.#out);
    // Silence is told, too: the worker keeps the way back until then.
    if (length > 0 || this.#deferred === 0) this.put(this.#number, this.#out, length);
  }

  #send(isTaken: boolean): void {
    clearImmediate(this.#next);
    this.#next = undefined;
    this.#say({ isTaken, answers: this.#parcel.take() });
  }
}

/** The way back to a client of a worker. */
class HandedReply implements Reply {
  readonly address: string;
  readonly port: number;
  readonly #number: number;
  /** Undefined once the answer is sent or given up. */
  #queries: HandedQueries | undefined;

  constructor(queries: HandedQueries, number: number, address: string, port: number) {
    this.#queries = queries;
    this.#number = number;
    this.address = address;
    this.port = port;
  }

  send(message: Uint8Array, length: number): void {
    this.#queries?.put(this.#number, message, length);
    this.#queries = undefined;
  }

  abandon(): void {
    this.send(NONE, 0);
  }
}
