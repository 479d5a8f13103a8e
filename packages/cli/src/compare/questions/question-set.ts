import type { Question } from './question.js';

/** At the default rate and over three ways these take almost an hour. */
export const MAX_QUESTIONS = 500_000;

/** Questions without repetition, in order of arrival, at most `max`. */
export class QuestionSet implements Iterable<Question> {
  readonly #byKey = new Map<string, Question>();
  readonly #max: number;
  #repeats = 0;
  #leftOut = 0;

  constructor(max = MAX_QUESTIONS) {
    this.#max = max;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** How many were repetitions. */
  get repeats(): number {
    return this.#repeats;
  }

  /** How many exceeded the limit. */
  get leftOut(): number {
    return this.#leftOut;
  }

  add(question: Question): void {
    const key = `${question.name} ${question.type}`;
    if (this.#byKey.has(key)) this.#repeats++;
    else if (this.#byKey.size >= this.#max) this.#leftOut++;
    else this.#byKey.set(key, question);
  }

  [Symbol.iterator](): Iterator<Question> {
    return this.#byKey.values();
  }
}
