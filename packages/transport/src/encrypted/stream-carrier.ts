import type { Socket } from 'node:net';
import { buildQuery, encodeKey, TYPE, writeUint16 } from '@kube-dns/wire';
import { randomId } from '../random-id.js';
import type { Carrier, CarrierOwner } from './carrier.js';
import { FrameBlocks } from './frame-blocks.js';
import { paddable, paddedLength, writePadded } from './padding.js';

/** One TLS record (RFC 8446 section 5.1): the queries of a turn of the event loop usually fit. */
const BLOCK_BYTES = 16_384;
const PREFIX_BYTES = 2;
const NOTHING = Buffer.alloc(0);

/** What the carriers of a process share. */
export interface CarrierTurn {
  /** Calls `flush` at the end of this turn of the event loop. */
  flushLater(carrier: { flush(): void }): void;
  /** Calls `read` at the end of this turn, which answers clients; the answers leave together where possible. */
  readLater(carrier: { read(): void }): void;
}

/**
 * DNS over TLS (RFC 7858) or TCP: messages with a length in front, answers in any order (RFC 7766). The queries of one turn of
 * the event loop are written together, each into its place in a block of memory that is used once. Its replies, each of
 * which may be a TLS record of its own, are read together.
 */
export class StreamCarrier implements Carrier {
  readonly limit = Number.POSITIVE_INFINITY;
  readonly #owner: CarrierOwner;
  readonly #turn: CarrierTurn;
  readonly #socket: Socket;
  readonly #pads: boolean;
  readonly #frames = new FrameBlocks();
  #isUnread = false;
  #block = NOTHING;
  #begin = 0;
  #end = 0;

  constructor(owner: CarrierOwner, turn: CarrierTurn, socket: Socket, pads: boolean) {
    this.#owner = owner;
    this.#turn = turn;
    this.#socket = socket;
    this.#pads = pads;
    const read = () => this.read();
    for (const event of ['end', 'error', 'close']) socket.prependListener(event, read);
  }

  send(id: number, query: Buffer): void {
    const length = this.#pads ? paddedLength(query) : query.length;
    if (this.#begin === this.#end) this.#turn.flushLater(this);
    if (this.#end + PREFIX_BYTES + length > this.#block.length) this.#renew(PREFIX_BYTES + length);
    const at = this.#end + PREFIX_BYTES;
    writeUint16(this.#block, this.#end, length);
    writePadded(query, this.#block, at, length);
    writeUint16(this.#block, at, id);
    this.#end = at + length;
  }

  push(bytes: Buffer, length: number): void {
    this.#frames.push(bytes, length);
    if (!this.#isUnread) this.#turn.readLater(this);
    this.#isUnread = true;
  }

  /** Reads what has arrived. */
  read(): void {
    this.#isUnread = false;
    for (let message = this.#frames.next(); message !== undefined; message = this.#frames.next()) {
      this.#owner.onMessage(message);
    }
  }

  cancel(): void {
    // The reply will be ignored.
  }

  /** Any name server has a reply to this, if only a refusal. */
  ping(): void {
    const query = buildQuery(encodeKey('.'), TYPE.SOA);
    this.send(randomId(), this.#pads ? paddable(query) : Buffer.from(query));
  }

  /** Writes what the queries of this turn have left. */
  flush(): void {
    if (this.#begin === this.#end) return;
    const bytes = this.#block.subarray(this.#begin, this.#end);
    this.#begin = this.#end;
    this.#socket.write(bytes);
  }

  close(): void {
    this.flush();
    this.#socket.resume().destroySoon();
  }

  #renew(bytes: number): void {
    this.flush();
    this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, bytes));
    this.#begin = this.#end = 0;
    this.#turn.flushLater(this);
  }
}
