import { WHOLE_SERVICE } from './service-question.js';

/** The targets of SRV records whose addresses are in the additional section already. */
export class WrittenTargets {
  /** By host, after the whole service: the number of the last answer that has its addresses. */
  #answers = new Float64Array(64);
  #answer = 0;

  /** Begins an answer about a service with this number of hosts. */
  start(hosts: number): void {
    this.#answer++;
    const length = hosts - WHOLE_SERVICE;
    if (length > this.#answers.length) this.#answers = new Float64Array(length * 2);
  }

  /** Adds a host, or WHOLE_SERVICE; returns whether it was added before. */
  add(host: number): boolean {
    const at = host - WHOLE_SERVICE;
    const isThere = this.#answers[at] === this.#answer;
    this.#answers[at] = this.#answer;
    return isThere;
  }
}
