import type { Question } from './question.js';

/** At the default rate and over three ways this takes almost an hour. */
export const MAX_QUESTIONS = 500_000;

/** Questions without repetition, in the order in which they came, and no more than a bound. */
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

  /** How many were there already. */
  get repeats(): number {
    return this.#repeats;
  }

  /** How many had no room. */
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
