import type { Client, ReplyPath } from '@kube-dns/transport';
import { type Query, RCODE_MASK, readUint16 } from '@kube-dns/wire';
import type { AskedWords, QueryLines } from './query-line.js';
import type { ZoneCounters } from './zone-counters.js';

const MS_PER_SECOND = 1_000;

/** The client of the current query; its answer is counted and logged when it is sent, now or later. */
export class TimedClient implements Client {
  #client!: Client;
  #counters!: ZoneCounters;
  #isOverTcp = false;
  #startedMs = 0;
  /** Undefined where the answer is not logged. */
  #lines: QueryLines | undefined;
  #words: AskedWords | undefined;

  /** Begins a query. */
  start(client: Client, query: Query, counters: ZoneCounters, lines: QueryLines | undefined): void {
    this.#client = client;
    this.#counters = counters;
    this.#isOverTcp = query.isOverTcp;
    this.#startedMs = performance.now();
    this.#lines = lines?.isLogged(query) === true ? lines : undefined;
    this.#words = this.#lines?.wordsOf(query, client);
  }

  get address(): string {
    return this.#client.address;
  }

  get port(): number {
    return this.#client.port;
  }

  defer(): ReplyPath {
    const answer = new TimedAnswer(
      this.#counters,
      this.#isOverTcp,
      this.#startedMs,
      this.#client.defer(),
    );
    answer.lines = this.#lines;
    answer.words = this.#words;
    return answer;
  }

  /** The query is answered at once. */
  note(message: Uint8Array, length: number): void {
    const seconds = (performance.now() - this.#startedMs) / MS_PER_SECOND;
    const rcode = readUint16(message, 2) & RCODE_MASK;
    this.#counters.countResponse(this.#isOverTcp, rcode, length, seconds);
    this.#lines?.write(this.#words!, message, length, seconds);
  }
}

/** An answer that comes later. */
class TimedAnswer implements ReplyPath {
  lines: QueryLines | undefined;
  words: AskedWords | undefined;
  readonly #counters: ZoneCounters;
  readonly #isOverTcp: boolean;
  readonly #startedMs: number;
  readonly #reply: ReplyPath;

  constructor(counters: ZoneCounters, isOverTcp: boolean, startedMs: number, reply: ReplyPath) {
    this.#counters = counters;
    this.#isOverTcp = isOverTcp;
    this.#startedMs = startedMs;
    this.#reply = reply;
  }

  get address(): string {
    return this.#reply.address;
  }

  get port(): number {
    return this.#reply.port;
  }

  send(message: Uint8Array, length: number): void {
    const seconds = (performance.now() - this.#startedMs) / MS_PER_SECOND;
    const rcode = readUint16(message, 2) & RCODE_MASK;
    this.#counters.countResponse(this.#isOverTcp, rcode, length, seconds);
    this.lines?.write(this.words!, message, length, seconds);
    this.#reply.send(message, length);
  }

  abandon(): void {
    this.#reply.abandon();
  }
}
