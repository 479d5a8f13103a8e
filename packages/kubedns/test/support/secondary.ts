import { ClientNetworks } from '@kube-dns/base';
import type { Answerer, Client, ReplyStream } from '@kube-dns/transport';
import {
  decodeMessage,
  type DecodedMessage,
  encodeKey,
  encodeRdata,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  Query,
  readUint16,
  readUint32,
  RecordCursor,
  signMessage,
  type TsigKey,
  TYPE,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';
import type { PtrMode } from '../../src/config/flags.js';
import { ClusterZones } from '../../src/transfer/cluster-zones.js';
import type { TransferableZone } from '../../src/transfer/transferable-zone.js';
import { Transfers } from '../../src/transfer/transfers.js';
import type { ClusterZone } from '../../src/zone/cluster-zone.js';
import { FakeClient, queryBytes, readAnswer } from './messages.js';

/** An answer of several messages, read only while it `reads`. */
export class FakeStream implements ReplyStream {
  readonly address = '192.0.2.1';
  readonly port = 4_000;
  onDrain: (() => void) | undefined;
  onClose: (() => void) | undefined;
  readonly messages: Buffer[] = [];
  /** After so many messages it reads no more. */
  readsMessages = Number.POSITIVE_INFINITY;
  ended: 'end' | 'abort' | undefined;

  write(message: Uint8Array, length: number): boolean {
    this.messages.push(Buffer.from(message.subarray(0, length)));
    return this.messages.length < this.readsMessages;
  }

  end(): void {
    this.ended = 'end';
  }

  abort(): void {
    this.ended = 'abort';
  }

  /** `owner TYPE data`, in their order. */
  get records(): string[] {
    return this.messages.flatMap((message) => readAnswer(message).answers);
  }

  /** All but the SOA at both ends, sorted. */
  get content(): string[] {
    return this.records.slice(1, -1).sort();
  }

  /** The serials of the SOA records, in their order. */
  get serials(): number[] {
    return this.messages.flatMap(serialsOf);
  }
}

/** The serials of the SOA records in a message. */
export function serialsOf(message: Uint8Array): number[] {
  const cursor = new RecordCursor().reset(message, message.length);
  const serials: number[] = [];
  while (cursor.next())
    if (cursor.type === TYPE.SOA) serials.push(readUint32(message, cursor.end - 20));
  return serials;
}

export interface SecondaryOptions {
  readonly zone: ClusterZone;
  readonly key?: TsigKey;
  readonly to?: string;
  readonly ptr?: PtrMode;
  /** Zones beside that of the cluster. */
  readonly beside?: readonly TransferableZone[];
  /** Who answers all else. */
  readonly others?: Answerer;
}

const NO_OTHERS: Answerer = {
  answer: () => {
    throw new Error('the question is passed on');
  },
};

export interface Request {
  readonly isOverUdp?: boolean;
  /** Of the SOA in an IXFR; none without it. */
  readonly serial?: number;
  readonly key?: TsigKey;
  readonly signedAt?: number;
  readonly stream?: FakeStream;
}

interface Asked {
  readonly answer?: DecodedMessage;
  readonly bytes: Buffer;
  readonly stream: FakeStream;
}

/** A secondary of a zone, and the transfers that it asks. The clock stands still. */
export class Secondary {
  readonly transfers: Transfers;
  readonly log: string[] = [];
  isSynced = true;
  isFromSnapshot = false;
  nowMs = 1_000_000;
  readonly #answerer: Answerer;
  readonly #out = new Uint8Array(MAX_MESSAGE_BYTES);

  constructor({
    zone,
    key,
    to = '192.0.2.0/24',
    ptr = 'all',
    beside = [],
    others = NO_OTHERS,
  }: SecondaryOptions) {
    this.transfers = new Transfers({
      zones: new ClusterZones({
        zone,
        others: beside,
        ttlSeconds: 30,
        negativeTtlSeconds: 5,
        ptr,
        ownAddresses: [Uint8Array.of(10, 9, 9, 9)],
      }),
      networks: new ClientNetworks(to),
      key,
      ttlSeconds: 30,
      isSynced: () => this.isSynced,
      isFromSnapshot: () => this.isFromSnapshot,
      log: { warn: (text) => this.log.push(text), verbose: () => undefined },
      now: () => this.nowMs,
      wallNow: () => 1_700_000_000_000,
    });
    this.#answerer = this.transfers.before(others);
  }

  /** What a request came to: the answer, or none where there is a transfer. */
  ask(name: string, type: string, request: Request = {}): Asked {
    const stream = request.stream ?? new FakeStream();
    const client: Client = new FakeClient();
    if (request.isOverUdp !== true) client.stream = () => stream;
    const message = requestOf(name, type, request);
    const bytes = this.#pass(message, client, request.isOverUdp !== true);
    return { ...(bytes.length > 0 && { answer: decodeMessage(bytes) }), bytes, stream };
  }

  /** Passes any message on, as a listener does; returns its answer. */
  pass(message: Buffer): Buffer {
    const client: Client = new FakeClient();
    client.stream = () => new FakeStream();
    return this.#pass(message, client, true);
  }

  #pass(message: Buffer, client: Client, isOverTcp: boolean): Buffer {
    const query = new Query();
    if (query.read(message, message.length, isOverTcp, 1232) !== 'answer') return Buffer.alloc(0);
    const length = this.#answerer.answer(query, this.#out, client);
    // What belongs to the listener is soon another client's.
    query.bytes.fill(0xff);
    return Buffer.from(this.#out.subarray(0, length));
  }

  /** A whole transfer. */
  async transfer(name: string, type = 'AXFR', request: Request = {}): Promise<FakeStream> {
    const { stream, answer } = this.ask(name, type, request);
    if (answer !== undefined) throw new Error(`no transfer: ${answer.rcode}`);
    await this.settle();
    return stream;
  }

  /** Until the transfers wait for their clients, or are complete. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 200 && this.transfers.running > 0; turns++)
      await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The message of a request. */
export function requestOf(name: string, type: string, request: Request): Buffer {
  const { serial, key, signedAt = 1_700_000_000 } = request;
  let message: Uint8Array = queryBytes(name, type === 'IXFR' ? TYPE.IXFR : type);
  writeUint16(message, 2, 0);
  if (serial !== undefined) message = withSoa(message, name, serial);
  if (key === undefined) return Buffer.from(message);
  const out = new Uint8Array(message.length + 400 + MAX_NAME_BYTES);
  out.set(message);
  return Buffer.from(
    out.subarray(0, signMessage(out, message.length, key, { timeSeconds: signedAt })),
  );
}

function withSoa(message: Uint8Array, name: string, serial: number): Buffer {
  const times = { refresh: 1, retry: 1, expire: 1, minimum: 1 };
  const data = { mname: '.', rname: '.', serial, ...times };
  const rdata = encodeRdata({ type: 'SOA', name: '.', data });
  const fixed = new Uint8Array(10);
  writeUint16(fixed, 0, TYPE.SOA);
  writeUint16(fixed, 2, 1);
  writeUint32(fixed, 4, 0);
  writeUint16(fixed, 8, rdata.length);
  const whole = Buffer.concat([message, encodeKey(name), fixed, rdata]);
  writeUint16(whole, 8, readUint16(whole, 8) + 1);
  return whole;
}
