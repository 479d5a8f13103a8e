import type { AnswerSource, Client, ReplyPath } from '@kube-dns/transport';
import { FLAG, RCODE_MASK, readUint16 } from '@kube-dns/wire';
import type { QueryStatistics, System } from './query-statistics.js';

/** The client of the current question; a deferred answer is counted when it is sent. */
export class CountedClient implements Client {
  readonly #statistics: QueryStatistics;
  #client!: Client;
  #system: System = 'auth';
  #startedMs = 0;

  constructor(statistics: QueryStatistics) {
    this.#statistics = statistics;
  }

  /** Sets the client of the next question. */
  start(client: Client, system: System, startedMs: number): void {
    this.#client = client;
    this.#system = system;
    this.#startedMs = startedMs;
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
    const reply = this.#client.defer();
    const system = this.#system;
    const startedMs = this.#startedMs;
    return {
      get address() {
        return reply.address;
      },
      get port() {
        return reply.port;
      },
      send: (message, length, source, server) => {
        reply.send(message, length, source, server);
        const flags = readUint16(message, 2);
        const seconds = (performance.now() - startedMs) / 1000;
        const isTruncated = (flags & FLAG.TC) !== 0;
        this.#statistics.count(system, seconds, length, flags & RCODE_MASK, isTruncated);
      },
      abandon: () => reply.abandon(),
    };
  }
}
