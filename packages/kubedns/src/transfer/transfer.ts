import type { ReplyStream } from '@kube-dns/transport';
import {
  type AnswerSigner,
  AnswerWriter,
  MAX_NAME_BYTES,
  type Query,
  type ResourceRecord,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import type { ZoneView } from './transferable-zone.js';

/** Of one message: beyond this names cannot be compressed (RFC 1035 section 4.1.4). */
const MESSAGE_BYTES = 16 * 1024;
/** For the signature, with the longest name of a key, see signMessage. */
const TSIG_ROOM = 400 + MAX_NAME_BYTES;
/** So many records, or pieces of work without one, between two looks at the clock: some tens of microseconds. */
const RECORDS_PER_LOOK = 16;

export interface TransferParts {
  /** A copy. */
  readonly query: Query;
  readonly stream: ReplyStream;
  readonly view: ZoneView;
  readonly ttlSeconds: number;
  /** Signs each message, where there is a key. */
  readonly signer: AnswerSigner | undefined;
  readonly now: () => number;
  /** Seconds since the epoch, for signatures. */
  readonly wallSeconds: () => number;
}

/** One answer to AXFR, or to an IXFR as RFC 1995 section 4 allows it: the SOA, every other record, the SOA. */
export class Transfer {
  readonly startedMs: number;
  /** Since when its client reads nothing; undefined while there is nothing to read. */
  waitingSinceMs: number | undefined;
  records = 0;
  bytes = 0;
  readonly #parts: TransferParts;
  readonly #writer = new AnswerWriter();
  readonly #out = new Uint8Array(MESSAGE_BYTES + TSIG_ROOM);
  readonly #records: Iterator<ResourceRecord | undefined, void>;
  /** What did not fit into the last message, and is first in the next one. */
  #pending: ResourceRecord | undefined;
  #isLast = false;
  #hasBegun = false;

  constructor(parts: TransferParts) {
    this.#parts = parts;
    this.#records = parts.view.records();
    this.#pending = this.#soa;
    this.startedMs = parts.now();
  }

  get stream(): ReplyStream {
    return this.#parts.stream;
  }

  /** Whether it can go on: the client reads. */
  get isReady(): boolean {
    return this.waitingSinceMs === undefined;
  }

  /** Writes and sends until a time, until the client has enough to read, or until all is sent; then it returns true. */
  goOn(untilMs: number): boolean {
    const { now, stream } = this.#parts;
    while (this.isReady) {
      if (!this.#hasBegun) this.#begin();
      // A message that is not full goes on in a later turn.
      if (!this.#fill(untilMs)) return false;
      if (!stream.write(this.#out, this.#finish())) this.waitingSinceMs = now();
      if (this.#isLast && this.#pending === undefined) return true;
      if (now() >= untilMs) return false;
    }
    return false;
  }

  /** The client has read. */
  resume(): void {
    this.waitingSinceMs = undefined;
  }

  close(): void {
    this.#parts.view.close();
  }

  #begin(): void {
    const { query } = this.#parts;
    this.#writer.begin(query, this.#out, MESSAGE_BYTES);
    this.#writer.setAuthoritative();
    this.#hasBegun = true;
  }

  /** Adds records until the message is full, or has the last one; false when the time has ended before. */
  #fill(untilMs: number): boolean {
    for (let count = 0; ; count++) {
      const record = this.#pending;
      if (record !== undefined) {
        const { owner, type, ttlSeconds, rdata } = record;
        if (!this.#writer.add(SECTION.ANSWER, owner, type, ttlSeconds, rdata)) return true;
        this.records++;
        this.#pending = undefined;
      }
      if (this.#isLast) return true;
      if (count % RECORDS_PER_LOOK === RECORDS_PER_LOOK - 1 && this.#parts.now() >= untilMs)
        return false;
      const next = this.#records.next();
      this.#isLast = next.done === true;
      this.#pending = next.done === true ? this.#soa : next.value;
    }
  }

  #finish(): number {
    const { signer, wallSeconds } = this.#parts;
    this.#hasBegun = false;
    this.#writer.setTruncated(false);
    const length = this.#writer.finish();
    const sent = signer?.sign(this.#out, length, wallSeconds()) ?? length;
    this.bytes += sent;
    return sent;
  }

  get #soa(): ResourceRecord {
    const { query, view, ttlSeconds } = this.#parts;
    const owner = query.name.slice(0, query.nameLength);
    return { owner, type: TYPE.SOA, ttlSeconds, rdata: view.soaRdata };
  }
}
