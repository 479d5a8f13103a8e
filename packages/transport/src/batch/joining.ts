/** Joining pays when it saves one send of this many. */
const WORTHWHILE_SHARE = 1 / 8;
/** After batches without much to join, at most this many are sent as they are. */
const MAX_PAUSE = 63;

/**
 * Whether the messages of a socket are joined (UDP_SEGMENT). The search costs time: where clients have one query in flight
 * each, there is nothing to find, so it is tried less and less often there.
 */
export class Joining {
  #isRefused = false;
  #pause = 0;
  #batchesLeft = 0;

  /** Called once per batch: whether to look for messages to join. */
  isDue(messages: number): boolean {
    if (messages < 2 || this.#isRefused) return false;
    if (this.#batchesLeft === 0) return true;
    this.#batchesLeft--;
    return false;
  }

  /** So many messages became so many sends. */
  note(messages: number, sends: number): void {
    const isWorthwhile = messages - sends >= messages * WORTHWHILE_SHARE;
    this.#pause = isWorthwhile ? 0 : Math.min(2 * this.#pause + 1, MAX_PAUSE);
    this.#batchesLeft = this.#pause;
  }

  /** The system does not send joined messages from this socket: it is not tried again. */
  refuse(): void {
    this.#isRefused = true;
  }
}
