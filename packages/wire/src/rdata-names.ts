import { expandName, skipName } from './name.js';
import { MAX_NAME_BYTES, TYPE } from './protocol.js';

/** Where a type's data has names: after this many bytes and strings, this many names, then the rest. */
interface NamePlaces {
  readonly fixedBytes: number;
  readonly strings: number;
  readonly names: number;
}

const places = (names: number, fixedBytes = 0, strings = 0): NamePlaces => ({
  fixedBytes,
  strings,
  names,
});

/** The types whose names a server may have compressed (RFC 1035, RFC 3597 section 4; dnsmasq src/rrfilter.c). */
const PLACES: ReadonlyMap<number, NamePlaces> = new Map([
  ...[TYPE.NS, 3, 4, TYPE.CNAME, 7, 8, 9, TYPE.PTR, TYPE.DNAME].map(
    (type) => [type, places(1)] as const,
  ),
  [TYPE.SOA, places(2)],
  [14, places(2)], // MINFO
  [17, places(2)], // RP
  [TYPE.MX, places(1, 2)],
  [18, places(1, 2)], // AFSDB
  [21, places(1, 2)], // RT
  [26, places(2, 2)], // PX
  [TYPE.SRV, places(1, 6)],
  [TYPE.NAPTR, places(1, 4, 3)],
  [36, places(1, 2)], // KX
]);

const FIXED_LENGTHS: ReadonlyMap<number, number> = new Map([
  [TYPE.A, 4],
  [TYPE.AAAA, 16],
]);
const SOA_NUMBERS_BYTES = 20;

const name = new Uint8Array(MAX_NAME_BYTES);

/**
 * Copies the data of a record (`start` up to `end` of a message) to `out` at `at` with its names written
 * out, and returns how many bytes that made; -1 for data that the type cannot have, or when it does not fit `out`.
 */
export function expandRdata(
  message: Uint8Array,
  type: number,
  start: number,
  end: number,
  out: Uint8Array,
  at: number,
): number {
  const fixedLength = FIXED_LENGTHS.get(type);
  if (fixedLength !== undefined && end - start !== fixedLength) return -1;
  const place = PLACES.get(type);
  let to = at;
  if (place !== undefined) {
    let headEnd = start + place.fixedBytes;
    for (let i = 0; i < place.strings && headEnd < end; i++) headEnd += message[headEnd]! + 1;
    if (headEnd > end || to + headEnd - start > out.length) return -1;
    while (start < headEnd) out[to++] = message[start++]!;
    for (let i = 0; i < place.names; i++) {
      const nameEnd = skipName(message, start, end);
      const length = nameEnd < 0 ? -1 : expandName(message, start, end, name);
      if (length < 0 || to + length > out.length) return -1;
      for (let j = 0; j < length; j++) out[to++] = name[j]!;
      start = nameEnd;
    }
    if (end - start !== (type === TYPE.SOA ? SOA_NUMBERS_BYTES : 0)) return -1;
  }
  if (to + end - start > out.length) return -1;
  while (start < end) out[to++] = message[start++]!;
  return to - at;
}
