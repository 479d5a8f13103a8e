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

/** What a flight is made of that the next one may use again. */
export class FlightMemory {
  readonly asked: AskedQuestion;
  readonly attempts: AttemptList;
  readonly waiters: Waiter[] = [];
  readonly best = new BestReply();
  readonly clock: RetryClock;
  readonly lastFailure = new LastFailure();

  /** Of questions whose queries have this length. */
  constructor(rules: AttemptRules, queryBytes: number) {
    // Memory of its own: a part of a pool of Node would keep the whole of it.
    this.asked = new AskedQuestion(Buffer.allocUnsafeSlow(queryBytes));
    this.attempts = new AttemptList(rules);
    this.clock = new RetryClock(rules.plan);
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

/** This much is kept for the next questions; more flights have ended than began. */
const MAX_SPARE = 128;
/** The longest name, its question and an OPT record with small options fit; a longer query is a rare one. */
const MAX_QUERY_BYTES = 512;

/**
 * The memory of flights that have ended: a new one for each question is much garbage. A late reply does not find it:
 * it is for what was sent, which is never used again, as the flight itself.
 */
export class SpareMemory {
  readonly #owner: FlightOwner;
  readonly #cursor = new RecordCursor();
  /** By the length of their queries. */
  readonly #byBytes: (FlightMemory[] | undefined)[] = [];
  #count = 0;

  constructor(owner: FlightOwner) {
    this.#owner = owner;
  }

  /** For one flight, with the question of a client's query, which has this key. */
  take(query: Query, key: QuestionKey): FlightMemory {
    const memory = this.#find(upstreamBytes(query, key));
    const { maxUdpBytes } = this.#owner.options;
    writeUpstream(memory.asked.query, query, key, maxUdpBytes, this.#cursor);
    memory.asked.set(key);
    return memory;
  }

  #find(queryBytes: number): FlightMemory {
    const memory = this.#byBytes[queryBytes]?.pop();
    if (memory === undefined) return new FlightMemory(this.#owner, queryBytes);
    this.#count--;
    return memory;
  }

  /** Takes that of a flight that has ended, once, unless something may still refer to it. */
  give({ isPlain, memory }: Flight): void {
    const queryBytes = memory.asked.query.length;
    if (!isPlain || memory.waiters.length > 0) return;
    if (queryBytes > MAX_QUERY_BYTES || this.#count >= MAX_SPARE) return;
    this.#count++;
    memory.clear();
    (this.#byBytes[queryBytes] ??= []).push(memory);
  }
}
