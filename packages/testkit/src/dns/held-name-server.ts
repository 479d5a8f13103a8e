import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { Remote } from '../process/remote.js';
import { questionEnd } from './messages.js';

/** The methods of a name server in its own process. */
export interface HeldNameServerMethods {
  /** Serves on a free port of 127.0.0.1 and returns it. */
  start(): Promise<number>;
  /** Holds all answers until `count` queries have arrived, or for `limitMs`. */
  hold(count: number, limitMs: number): void;
  /** Number of queries since the start. */
  received(): number;
}

/** Last labels with a special answer. All other names have an address of each family with a long TTL. */
export const NAME_ENDS = {
  /** An address that is not cached: its TTL is 0. */
  uncached: 'uncached',
  /** Names that do not exist, as those below the search domains of a cluster and its provider. */
  missing: ['local', 'internal'],
} as const;

const LONG_TTL_SECONDS = 86_400;
const NEGATIVE_TTL_SECONDS = 3_600;
const ADDRESS = Buffer.from([198, 51, 100, 7]);
/** 2001:db8::7 */
const IPV6_ADDRESS = Buffer.from('20010db8000000000000000000000007', 'hex');
/** QR, RD and RA. */
const FLAGS = 0x8180;
const POINTER = 0xc000;
const HEADER_BYTES = 12;
const QUESTION_FIXED_BYTES = 4;
const TYPE = { A: 1, SOA: 6, AAAA: 28 } as const;
const NXDOMAIN = 3;

interface Held {
  readonly answer: Buffer;
  readonly peer: RemoteInfo;
}

/** A record whose owner name is a pointer to `ownerOffset`. */
function record(ownerOffset: number, type: number, ttl: number, rdata: Buffer): Buffer {
  const bytes = Buffer.alloc(12 + rdata.length);
  bytes.writeUInt16BE(POINTER | ownerOffset, 0);
  bytes.writeUInt16BE(type, 2);
  bytes.writeUInt16BE(1, 4);
  bytes.writeUInt32BE(ttl, 6);
  bytes.writeUInt16BE(rdata.length, 10);
  rdata.copy(bytes, 12);
  return bytes;
}

/** Both names are the root; then serial, refresh, retry, expire and minimum. */
function soaData(): Buffer {
  const data = Buffer.alloc(22);
  [1, 3_600, 600, 86_400, NEGATIVE_TTL_SECONDS].forEach((value, i) => {
    data.writeUInt32BE(value, 2 + 4 * i);
  });
  return data;
}

const SOA = soaData();

/** The answer to a query with one question; undefined for other bytes. */
export function answerTo(query: Buffer): Buffer | undefined {
  const end = questionEnd(query);
  if (end < 0) return undefined;
  const nameEnd = end - QUESTION_FIXED_BYTES;
  let last = HEADER_BYTES;
  while (last + query[last]! + 2 < nameEnd) last += query[last]! + 1;
  const lastLabel = query.toString('latin1', last + 1, last + 1 + query[last]!).toLowerCase();
  const head = Buffer.from(query.subarray(0, end));
  head.fill(0, 6, HEADER_BYTES);
  if (NAME_ENDS.missing.some((missing) => missing === lastLabel)) {
    head.writeUInt16BE(FLAGS | NXDOMAIN, 2);
    head.writeUInt16BE(1, 8);
    return Buffer.concat([head, record(last, TYPE.SOA, NEGATIVE_TTL_SECONDS, SOA)]);
  }
  head.writeUInt16BE(FLAGS, 2);
  head.writeUInt16BE(1, 6);
  const ttl = lastLabel === NAME_ENDS.uncached ? 0 : LONG_TTL_SECONDS;
  const isIpv6 = query.readUInt16BE(nameEnd) === TYPE.AAAA;
  const [type, address] = isIpv6 ? [TYPE.AAAA, IPV6_ADDRESS] : [TYPE.A, ADDRESS];
  return Buffer.concat([head, record(HEADER_BYTES, type, ttl, address)]);
}

/** The upstream of a measured dnsmasq: it has an answer for every name, and can hold answers. */
export class HeldNameServer implements HeldNameServerMethods {
  readonly #socket: Socket;
  #received = 0;
  #held: Held[] = [];
  #heldUntil = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    this.#socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
    this.#socket.on('message', (query, peer) => this.#take(query, peer));
    this.#socket.on('error', () => undefined);
  }

  /** Starts one in its own process. */
  static remote(): Remote<HeldNameServerMethods> {
    const entry = new URL('./held-name-server.js#HeldNameServer', import.meta.url);
    return new Remote<HeldNameServerMethods>('the name server', entry);
  }

  async start(): Promise<number> {
    this.#socket.bind(0, '127.0.0.1');
    await once(this.#socket, 'listening');
    return this.#socket.address().port;
  }

  hold(count: number, limitMs: number): void {
    clearTimeout(this.#timer);
    this.#heldUntil = count;
    this.#timer = setTimeout(() => this.#release(), limitMs);
  }

  received(): number {
    return this.#received;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#socket.close();
  }

  #take(query: Buffer, peer: RemoteInfo): void {
    this.#received++;
    const answer = answerTo(query);
    if (answer === undefined) return;
    if (this.#heldUntil === 0) {
      this.#socket.send(answer, peer.port, peer.address);
      return;
    }
    this.#held.push({ answer, peer });
    if (this.#held.length >= this.#heldUntil) this.#release();
  }

  #release(): void {
    clearTimeout(this.#timer);
    this.#heldUntil = 0;
    for (const { answer, peer } of this.#held.splice(0)) {
      this.#socket.send(answer, peer.port, peer.address);
    }
  }
}
