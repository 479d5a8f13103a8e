import type { Unread } from './json-text.js';
import { type ObjectHead, readObjectHead } from './object-head.js';
import type { WatchLog } from './watch-log.js';

/** Objects that were logged once are known up to this number. */
const MAX_LOGGED = 1_000;

/** Counts and logs what one resource leaves out: what is not valid, and objects that are too large. */
export class LeftOut {
  rejected = 0;
  passedOver = 0;
  readonly #log: WatchLog;
  readonly #logged = new Set<string>();

  constructor(log: WatchLog) {
    this.#log = log;
  }

  /** An object, or a line of a watch, is not valid. */
  reject(what: string, reason: string): void {
    this.rejected++;
    this.#log.rejected(what, reason);
  }

  /** An object was not read; returns what its beginning tells. Each is logged once, also in later lists. */
  passOver({ reason, head }: Unread): ObjectHead {
    this.passedOver++;
    const found = readObjectHead(head);
    const { namespace = '', name = 'an object without a readable name' } =
      found.object.metadata ?? {};
    const key = namespace === '' ? name : `${namespace}/${name}`;
    const message = `${found.kind === undefined ? '' : `${found.kind} `}${key}: ${reason}; passed over`;
    if (this.#logged.has(message) || this.#logged.size >= MAX_LOGGED) this.#log.detail(message);
    else this.#log.error(message);
    if (this.#logged.size < MAX_LOGGED) this.#logged.add(message);
    return found;
  }
}
