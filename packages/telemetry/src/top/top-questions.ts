import type { StatusFacts, StatusSections } from '@kube-dns/daemon';
import {
  addressText,
  decodeName,
  MAX_NAME_BYTES,
  RCODE,
  RCODE_MASK,
  readUint16,
} from '@kube-dns/wire';
import type { ObservedAnswer } from '../observed-answer.js';
import { type Random, Sampling } from './sampling.js';
import type { CountedKey } from './space-saving.js';
import { TopList } from './top-list.js';

const HALF_MINUTE_MS = 30_000;
const MAX_ADDRESS_BYTES = 16;
/** Rows of a list that are shown. */
const SHOWN = 20;

/** Of an answer what the lists need. */
type Counted = Pick<ObservedAnswer, 'query' | 'address' | 'addressBytes' | 'message' | 'length'>;

export interface TopQuestionsOptions {
  /** A monotonic clock in milliseconds; `performance.now()` unless given. */
  readonly now?: () => number;
  readonly random?: Random;
}

/**
 * Who asks most, for which names, and for which names that do not exist, in the last half to whole minute. All questions
 * count up to 2,000 a second, a random one in 64 beyond. The memory is the same whatever is asked.
 */
export class TopQuestions {
  readonly #now: () => number;
  readonly #sampling: Sampling;
  readonly #clients = new TopList(MAX_ADDRESS_BYTES);
  readonly #names = new TopList(MAX_NAME_BYTES);
  readonly #nxdomainNames = new TopList(MAX_NAME_BYTES);
  #sinceMs: number;

  constructor({ now = () => performance.now(), random }: TopQuestionsOptions = {}) {
    this.#now = now;
    this.#sampling = new Sampling(random);
    this.#sinceMs = now();
  }

  /** For how many questions the next one is to be noted; 0 when it is not. */
  take(): number {
    return this.#sampling.take();
  }

  /** Counts a question so many times. */
  note({ query, address, addressBytes, message, length }: Counted, times: number): void {
    this.#rotate();
    this.#clients.add(address, addressBytes, times);
    this.#names.add(query.name, query.nameLength, times);
    const hasNoName = length > 0 && (readUint16(message, 2) & RCODE_MASK) === RCODE.NXDOMAIN;
    if (hasNoName) this.#nxdomainNames.add(query.name, query.nameLength, times);
  }

  /** The lists for a status page. `questions` may be too many by `error`, and by what is left to chance above 2,000 a second. */
  sections(): StatusSections {
    this.#rotate();
    const nameOf = (key: Uint8Array) => ({ name: decodeName(key) });
    return {
      'Top clients': rowsOf(this.#clients, (key) => ({ client: addressText(key) })),
      'Top names': rowsOf(this.#names, nameOf),
      'Top NXDOMAIN names': rowsOf(this.#nxdomainNames, nameOf),
    };
  }

  close(): void {
    this.#sampling.close();
  }

  #rotate(): void {
    const nowMs = this.#now();
    const isLong = nowMs - this.#sinceMs >= 2 * HALF_MINUTE_MS;
    if (nowMs - this.#sinceMs < HALF_MINUTE_MS) return;
    this.#sinceMs = isLong ? nowMs : this.#sinceMs + HALF_MINUTE_MS;
    for (const list of [this.#clients, this.#names, this.#nxdomainNames]) {
      list.rotate();
      if (isLong) list.rotate();
    }
  }
}

function rowsOf(list: TopList, about: (key: Uint8Array) => StatusFacts): StatusFacts[] {
  return list
    .first(SHOWN)
    .map(({ key, count, error }: CountedKey) => ({ ...about(key), questions: count, error }));
}
