import type { TLSSocket } from 'node:tls';
import { buildQuery, encodeKey, TYPE, writeUint16 } from '@kube-dns/wire';
import { FrameReader } from '../frame-reader.js';
import { randomId } from '../random-id.js';
import type { Carrier, CarrierOwner } from './carrier.js';
import { paddedLength, writePadded } from './padding.js';

/** One TLS record (RFC 8446 section 5.1): the queries of a turn of the event loop usually fit. */
const BLOCK_BYTES = 16_384;
const PREFIX_BYTES = 2;
const NOTHING = Buffer.alloc(0);

/** What the carriers of a process share. */
export interface CarrierTurn {
  /** Calls `flush` at the end of this turn of the event loop. */
  flushLater(carrier: { flush(): void }): void;
  /** Runs `work`, which answers clients; the answers leave together where possible. */
  together(work: () => void): void;
}

/**
 * DNS over TLS (RFC 7858): messages with a length in front, answers in any order (RFC 7766). The queries of one turn of
 * the event loop are written together, each into its place in a block of memory that is used once.
 */
export class DotCarrier implements Carrier {
  readonly limit = Number.POSITIVE_INFINITY;
  readonly #owner: CarrierOwner;
  readonly #turn: CarrierTurn;
  readonly #socket: TLSSocket;
  readonly #frames = new FrameReader();
  readonly #readAll = () => this.#read();
  #block = NOTHING;
  #begin = 0;
  #end = 0;

  constructor(owner: CarrierOwner, turn: CarrierTurn, socket: TLSSocket) {
    this.#owner = owner;
    this.#turn = turn;
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#frames.push(chunk);
      turn.together(this.#readAll);
    });
  }

  send(id: number, query: Buffer): void {
    const length = paddedLength(query);
    if (this.#begin === this.#end) this.#turn.flushLater(this);
    if (this.#end + PREFIX_BYTES + length > this.#block.length) this.#renew(PREFIX_BYTES + length);
    const at = this.#end + PREFIX_BYTES;
    writeUint16(this.#block, this.#end, length);
    writePadded(query, this.#block, at, length);
    writeUint16(this.#block, at, id);
    this.#end = at + length;
  }

  cancel(): void {
    // The reply will be ignored.
  }

  /** Any name server has a reply to this, if only a refusal. */
  ping(): void {
    this.send(randomId(), Buffer.from(buildQuery(encodeKey('.'), TYPE.SOA)));
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
    this.#socket.removeAllListeners('data').resume().destroySoon();
  }

  #renew(bytes: number): void {
    this.flush();
    this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, bytes));
    this.#begin = this.#end = 0;
    this.#turn.flushLater(this);
  }

  #read(): void {
    for (let message = this.#frames.next(); message !== undefined; message = this.#frames.next()) {
      this.#owner.onMessage(message);
    }
  }
}
