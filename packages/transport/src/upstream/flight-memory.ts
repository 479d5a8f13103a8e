import { type Query, RecordCursor } from '@kube-dns/wire';
import { AttemptList } from './attempt-list.js';
import type { AttemptRules } from './attempt.js';
import { BestReply } from './best-reply.js';
import type { FlightOwner } from './flight-owner.js';
import { LastFailure } from './last-failure.js';
import type { Flight } from './flight.js';
import { AskedQuestion, type QuestionKey } from './question-key.js';
import { RetryClock } from './retry-clock.js';
import { upstreamBytes, writeUpstream } from './upstream-query.js';
import type { ServerGroup } from './server-group.js';
import type { Waiter } from './waiter.js';

/** The longest name, its question and an OPT record with small options fit; a longer query is a rare one. */
const MAX_QUERY_BYTES = 512;

/** What a flight is made of that the next one may use again. */
export class FlightMemory {
  readonly asked = new AskedQuestion();
  readonly attempts: AttemptList;
  readonly waiters: Waiter[] = [];
  readonly best = new BestReply();
  readonly clock: RetryClock;
  readonly lastFailure = new LastFailure();
  /** Not a part of a pool of Node's, the whole of which it would keep. */
  readonly #bytes = Buffer.allocUnsafeSlow(MAX_QUERY_BYTES);
  #query: Buffer = this.#bytes;

  constructor(rules: AttemptRules) {
    this.attempts = new AttemptList(rules);
    this.clock = new RetryClock(rules.plan);
  }

  /** Room for a query of this length, until the next one. */
  queryOf(bytes: number): Buffer {
    if (bytes > MAX_QUERY_BYTES) return Buffer.allocUnsafe(bytes);
    if (this.#query.length !== bytes) this.#query = this.#bytes.subarray(0, bytes);
    return this.#query;
  }

  /** For a question to these servers, which is in `asked`. */
  begin(group: ServerGroup, flight: Flight): void {
    this.clock.begin(group);
    this.attempts.begin(group, this.asked.query, flight);
  }

  /** Lets go of what its flight had. */
  clear(): void {
    this.attempts.clear();
    this.best.set(null);
    this.lastFailure.clear();
  }
}

/** This much is kept for the next questions: a few batches of replies end as many flights. */
const MAX_SPARE = 256;

/**
 * The memory of flights that have ended: a new one for each question is much garbage. A late reply does not find it:
 * it is for what was sent, which is never used again, as the flight itself.
 */
export class SpareMemory {
  readonly #owner: FlightOwner;
  readonly #cursor = new RecordCursor();
  readonly #spare: FlightMemory[] = [];

  constructor(owner: FlightOwner) {
    this.#owner = owner;
  }

  /** For one flight, with the question of a client's query, which has this key. */
  take(query: Query, key: QuestionKey): FlightMemory {
    const memory = this.#spare.pop() ?? new FlightMemory(this.#owner);
    const message = memory.queryOf(upstreamBytes(query, key));
    writeUpstream(message, query, key, this.#owner.options.maxUdpBytes, this.#cursor);
    memory.asked.set(message, key);
    return memory;
  }

  /** Takes that of a flight that has ended, once, unless something may still refer to it. */
  give({ isPlain, memory }: Flight): void {
    if (!isPlain || memory.waiters.length > 0 || this.#spare.length >= MAX_SPARE) return;
    memory.clear();
    this.#spare.push(memory);
  }
}
