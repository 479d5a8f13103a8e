import type { AnswerSource, Client, ReplyPath, ServerAddress } from '@kube-dns/transport';
import { type Query, RCODE_MASK, readUint16 } from '@kube-dns/wire';
import type { AskedWords, QueryLines } from './query-line.js';
import type { ZoneCounters } from './zone-counters.js';

const MS_PER_SECOND = 1_000;

/** What is kept of a query until it is answered: its answer is counted and logged then. */
class Timing {
  counters!: ZoneCounters;
  isOverTcp = false;
  startedMs = 0;
  /** Undefined where the answer is not logged. */
  lines: QueryLines | undefined;
  words: AskedWords | undefined;

  copy(): Timing {
    const copy = new Timing();
    copy.counters = this.counters;
    copy.isOverTcp = this.isOverTcp;
    copy.startedMs = this.startedMs;
    copy.lines = this.lines;
    copy.words = this.words;
    return copy;
  }

  note(message: Uint8Array, length: number): void {
    const seconds = (performance.now() - this.startedMs) / MS_PER_SECOND;
    const rcode = readUint16(message, 2) & RCODE_MASK;
    this.counters.countResponse(this.isOverTcp, rcode, length, seconds);
    this.lines?.write(this.words!, message, length, seconds);
  }
}

/** The client of the current query; its answer is counted and logged when it is sent, now or later. */
export class TimedClient implements Client {
  readonly #timing = new Timing();
  #client!: Client;

  /** Begins a query. */
  start(client: Client, query: Query, counters: ZoneCounters, lines: QueryLines | undefined): void {
    const timing = this.#timing;
    this.#client = client;
    timing.counters = counters;
    timing.isOverTcp = query.isOverTcp;
    timing.startedMs = performance.now();
    timing.lines = lines?.isLogged(query) === true ? lines : undefined;
    timing.words = timing.lines?.wordsOf(query, client);
  }

  get address(): string {
    return this.#client.address;
  }

  get port(): number {
    return this.#client.port;
  }

  answersFrom(source: AnswerSource): void {
    this.#client.answersFrom(source);
  }

  defer(): ReplyPath {
    return new TimedAnswer(this.#timing.copy(), this.#client.defer());
  }

  /** The query is answered at once. */
  note(message: Uint8Array, length: number): void {
    this.#timing.note(message, length);
  }
}

/** An answer that comes later. */
class TimedAnswer implements ReplyPath {
  readonly #timing: Timing;
  readonly #reply: ReplyPath;

  constructor(timing: Timing, reply: ReplyPath) {
    this.#timing = timing;
    this.#reply = reply;
  }

  get address(): string {
    return this.#reply.address;
  }

  get port(): number {
    return this.#reply.port;
  }

  get out(): Uint8Array | undefined {
    return this.#reply.out;
  }

  send(message: Uint8Array, length: number, source?: AnswerSource, server?: ServerAddress): void {
    this.#timing.note(message, length);
    this.#reply.send(message, length, source, server);
  }

  abandon(): void {
    this.#reply.abandon();
  }
}
