import type { Client, ReplyPath } from '@kube-dns/transport';

/** Called with the answer, which is valid during the call; undefined where there is none. */
export type OnFound = (message: Uint8Array | undefined) => void;

/** Who asks: an answer of this program, for a client. */
export class InnerClient implements Client, ReplyPath {
  readonly address: string;
  readonly port: number;
  readonly #onFound: OnFound;

  constructor(address: string, port: number, onFound: OnFound) {
    this.address = address;
    this.port = port;
    this.#onFound = onFound;
  }

  answersFrom(): void {
    // The answer that it becomes a part of is made here.
  }

  defer(): ReplyPath {
    return this;
  }

  send(message: Uint8Array, length: number): void {
    this.#onFound(message.subarray(0, length));
  }

  abandon(): void {
    this.#onFound(undefined);
  }
}
