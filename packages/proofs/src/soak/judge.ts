import type { Question } from './question.js';
import type { Schedule } from './schedule.js';

/** How long an old answer is still right. */
export interface AcceptanceWindow {
  /** From the write in the API, or of the files, until kubedns and dnsmasq have it. */
  readonly settleMs: number;
  /** In addition, how long dnsmasq may cache an answer of kubedns: the TTL of a record. */
  readonly cacheMs: number;
}

/** Finds the answers that are right at a moment: during a change the old and the new one. */
export class Judge {
  readonly #schedule: Schedule;
  readonly #window: AcceptanceWindow;

  constructor(schedule: Schedule, window: AcceptanceWindow) {
    this.#schedule = schedule;
    this.#window = window;
  }

  /** All answers that are right to a question that was sent and answered at these moments. */
  rightAnswers(
    question: Question,
    isCached: boolean,
    sentMs: number,
    answeredMs: number,
  ): readonly string[] {
    const { settleMs, cacheMs } = this.#window;
    const { subject } = question;
    // A change of the configuration takes what it concerns out of the cache.
    const mayBeStale = isCached && subject.kind === 'service';
    const oldest = this.#version(question, sentMs - settleMs - (mayBeStale ? cacheMs : 0));
    const newest = this.#version(question, answeredMs);
    const answers: string[] = [];
    for (let version = newest; version >= oldest; version--) {
      answers.push(question.expected(version));
    }
    return answers;
  }

  #version({ subject }: Question, atMs: number): number {
    switch (subject.kind) {
      case 'service':
        return subject.index < this.#schedule.plan.churned
          ? this.#schedule.serviceVersion(subject.index, atMs)
          : 0;
      case 'config':
        return this.#schedule.configVersion(atMs);
      case 'none':
        return 0;
    }
  }
}
