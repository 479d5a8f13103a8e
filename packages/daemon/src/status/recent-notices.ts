import type { Log } from '../log.js';

/** An error or a warning of the log. */
export interface Notice {
  readonly level: 'error' | 'warning';
  readonly message: string;
  /** In ms since the epoch, of the last time. */
  atMs: number;
  /** How often it came in a row. */
  times: number;
}

const MAX_NOTICES = 20;
/** In characters. */
const MAX_MESSAGE = 1_000;

/** The last errors and warnings of a log, the latest first. */
export class RecentNotices {
  readonly #now: () => number;
  readonly #notices: Notice[] = [];

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  get all(): readonly Notice[] {
    return this.#notices;
  }

  /** The log, with what it writes as error or warning remembered here. */
  beside(log: Log): Log {
    return {
      ...log,
      warn: (message) => {
        this.#add('warning', message);
        log.warn(message);
      },
      error: (message) => {
        this.#add('error', message);
        log.error(message);
      },
    };
  }

  #add(level: Notice['level'], text: string): void {
    const message = text.slice(0, MAX_MESSAGE);
    const [last] = this.#notices;
    if (last?.level === level && last.message === message) {
      last.atMs = this.#now();
      last.times++;
      return;
    }
    this.#notices.unshift({ level, message, atMs: this.#now(), times: 1 });
    if (this.#notices.length > MAX_NOTICES) this.#notices.pop();
  }
}
