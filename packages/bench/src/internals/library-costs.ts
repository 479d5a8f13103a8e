import { AnswerCache } from '@kube-dns/resolver';
import { storeReply } from '@kube-dns/resolver/testing';
import { addressRecords, encodeQuery, median } from '@kube-dns/testkit';
import { ServerCookies } from '@kube-dns/transport';
import { decodeMessage, Query, SERVER_COOKIE_BYTES, SIP_KEY_BYTES } from '@kube-dns/wire';
import { CLIENT, cpuMsOf, dearestOf, type Measured } from './measured.js';

const SAMPLES = 9;
const COOKIE_QUERIES = 5_000;
/** The number of the clock has 16 bytes until the compiler puts it elsewhere; the least object has more. */
const COOKIE_BYTES = 20;
const ENTRIES = 10_000;
const COUNT_MS = 20;
const DECODE_MS = 20;
const POINTERS = 4_000;
const CLIENT_COOKIE_BYTES = 8;
const HEADER_BYTES = 12;

/** The methods of these measurements in a process of their own. */
export interface LibraryCostsMethods {
  cookies(): readonly Measured[];
  counting(): Promise<readonly Measured[]>;
  decoding(): readonly Measured[];
}

/** What the packages below the containers take for what clients and servers send. */
export class LibraryCosts implements LibraryCostsMethods {
  cookies(): readonly Measured[] {
    const cookies = new ServerCookies();
    cookies.use([new Uint8Array(SIP_KEY_BYTES).fill(1), new Uint8Array(SIP_KEY_BYTES).fill(2)]);
    const query = new Query();
    query.bytes = new Uint8Array(CLIENT_COOKIE_BYTES + SERVER_COOKIE_BYTES);
    query.cookieBytes = query.bytes.length;
    // Of this version and time, so that the hash is compared.
    query.bytes[CLIENT_COOKIE_BYTES] = 1;
    new DataView(query.bytes.buffer).setUint32(12, Math.floor(Date.now() / 1_000));
    const grown = Array.from({ length: SAMPLES }, () => {
      const before = process.memoryUsage().heapUsed;
      for (let i = 0; i < COOKIE_QUERIES; i++) {
        query.bytes[20] = i;
        cookies.judge(query, CLIENT);
      }
      return process.memoryUsage().heapUsed - before;
    });
    const value = median(grown) / COOKIE_QUERIES;
    return [
      { name: 'transport: heap of a forged cookie', value, unit: 'bytes', atMost: COOKIE_BYTES },
    ];
  }

  async counting(): Promise<readonly Measured[]> {
    const cache = new AnswerCache({ maxRecords: ENTRIES });
    for (let i = 0; i < ENTRIES; i++) {
      storeReply(cache, { name: `n${i}.x` }, { answers: addressRecords(60, '10.0.0.1') });
    }
    const times: number[] = [];
    for (let i = 0; i < SAMPLES; i++) {
      const { user } = process.cpuUsage();
      const counts = await cache.countBy(() => 'all');
      times.push((process.cpuUsage().user - user) / 1_000);
      if (counts.get('all')?.entries !== ENTRIES) throw new Error('not all entries were counted');
    }
    const name = `resolver: counting ${ENTRIES} cached answers`;
    return [{ name, value: median(times), unit: 'ms CPU', atMost: COUNT_MS }];
  }

  decoding(): readonly Measured[] {
    const messages = { 'pointers to pointers': pointerChains(), 'address records': manyRecords() };
    const costs = Object.entries(messages).map(([what, bytes]) => {
      const times = Array.from({ length: SAMPLES }, () => cpuMsOf(() => tryDecode(bytes)));
      return [what, median(times)] as const;
    });
    return [dearestOf('wire: decodeMessage of 64 KiB', DECODE_MS, new Map(costs))];
  }
}

function tryDecode(bytes: Uint8Array): void {
  try {
    decodeMessage(bytes);
  } catch {
    // A malformed message is refused: what counts is how soon.
  }
}

/** As many address records as a message can have, each with a pointer to its question. */
function manyRecords(): Uint8Array {
  const bytes = Buffer.alloc(65_535);
  const question = encodeQuery({ name: 'a', type: 'A' });
  bytes.set(question);
  bytes.writeUInt16BE(0x8000, 2);
  bytes.writeUInt16BE(0, 10);
  let at = HEADER_BYTES + 'a'.length + 2 + 4;
  let count = 0;
  for (; at + 16 <= bytes.length; at += 16, count++) {
    bytes.writeUInt16BE(0xc000 | HEADER_BYTES, at);
    bytes.writeUInt16BE(1, at + 2);
    bytes.writeUInt16BE(1, at + 4);
    bytes.writeUInt16BE(4, at + 10);
  }
  bytes.writeUInt16BE(count, 6);
  const message = bytes.subarray(0, at);
  if (decodeMessage(message).answers.length !== count) throw new Error('not all was decoded');
  return message;
}

/** A record whose data is a chain of pointers, and NS records that all point to its end. */
function pointerChains(): Uint8Array {
  const bytes = Buffer.alloc(65_535);
  bytes.writeUInt16BE(0x8000, 2);
  const rootAt = HEADER_BYTES + 11;
  bytes.writeUInt16BE(0xff00, 13);
  bytes.writeUInt16BE(1 + 2 * POINTERS, 21);
  let at = rootAt + 1;
  for (let i = 0; i < POINTERS; i++, at += 2) {
    bytes.writeUInt16BE(0xc000 | (i === 0 ? rootAt : at - 2), at);
  }
  const pointer = 0xc000 | (at - 2);
  let count = 1;
  for (; at + 14 <= bytes.length; at += 14, count++) {
    bytes.writeUInt16BE(pointer, at);
    bytes.writeUInt16BE(2, at + 2);
    bytes.writeUInt16BE(2, at + 10);
    bytes.writeUInt16BE(pointer, at + 12);
  }
  bytes.writeUInt16BE(count, 6);
  return bytes.subarray(0, at);
}
