import type { Client, Reply } from '@kube-dns/transport';
import type { Query } from '@kube-dns/wire';
import { Parcel, ParcelReader } from './parcel.js';
import type { HandedBack } from './worker-messages.js';

/** So much waits for a leader that is busy; what comes then is lost, as in the full buffer of a socket. */
const MAX_WAITING_BYTES = 256 * 1024;

/**
 * A worker's side of the queries that the leader answers. They go in parcels, one of which is under way:
 * while the leader is busy the next one grows. The clients' ways back stay here, under numbers.
 */
export class HandOver {
  readonly #say: (parcel: Uint8Array<ArrayBuffer>) => void;
  readonly #parcel = new Parcel();
  readonly #replies: (Reply | undefined)[] = [];
  readonly #free: number[] = [];
  #isUnderWay = false;
  #next: NodeJS.Immediate | undefined;

  /** `say` brings a parcel to the leader. */
  constructor(say: (parcel: Uint8Array<ArrayBuffer>) => void) {
    this.#say = say;
  }

  /** Hands a query over; its client is answered later. */
  ask(query: Query, client: Client): void {
    const parcel = this.#parcel;
    if (parcel.length > MAX_WAITING_BYTES) return;
    const number = this.#free.pop() ?? this.#replies.length;
    this.#replies[number] = client.defer();
    parcel.putUint32(number);
    parcel.putUint16(client.port);
    parcel.putText(client.address);
    parcel.putBytes(query.bytes, query.length);
    // Behind all that was received together.
    if (!this.#isUnderWay) this.#next ??= setImmediate(() => this.#send());
  }

  /** Passes the leader's answers on. */
  take({ isTaken, answers }: HandedBack): void {
    const reader = new ParcelReader(answers);
    while (!reader.isAtEnd) {
      const number = reader.uint32();
      const message = reader.bytes();
      const reply = this.#replies[number];
      this.#replies[number] = undefined;
      this.#free.push(number);
      if (message.length > 0) reply?.send(message, message.length);
      else reply?.abandon();
    }
    if (!isTaken) return;
    this.#isUnderWay = false;
    if (this.#parcel.length > 0) this.#send();
  }

  /** Hands nothing over any more. */
  close(): void {
    clearImmediate(this.#next);
    this.#isUnderWay = true;
  }

  #send(): void {
    this.#next = undefined;
    this.#isUnderWay = true;
    this.#say(this.#parcel.take());
  }
}
