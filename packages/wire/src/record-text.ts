import { addressText } from './address.js';
import { readUint16, readUint32 } from './bytes.js';
import { decodeName, expandName, nameBytes } from './name.js';
import { CLASS, MAX_MESSAGE_BYTES, MAX_NAME_BYTES, TYPE } from './protocol.js';
import { expandRdata } from './rdata-names.js';
import type { RecordCursor } from './record-cursor.js';
import { typeText } from './type-names.js';

const CLASS_NAMES: ReadonlyMap<number, string> = new Map([
  [CLASS.IN, 'IN'],
  [CLASS.CH, 'CH'],
]);
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The record at a cursor as a line of a zone file, `NAME TTL CLASS TYPE DATA` (RFC 1035 section 5), names with their
 * final dot. Data of other types, and data that the type cannot have, is in hex (RFC 3597 section 5). Every byte that is no
 * printable ASCII is escaped.
 */
export function recordText(message: Uint8Array, record: RecordCursor): string {
  const owner = new Uint8Array(MAX_NAME_BYTES);
  const isNamed = expandName(message, record.start, message.length, owner) > 0;
  const recordClass = CLASS_NAMES.get(record.class) ?? `CLASS${record.class}`;
  const words = [isNamed ? nameText(owner, 0) : '?', record.ttlSeconds, recordClass];
  return [...words, typeText(record.type), dataText(message, record)].join(' ');
}

function dataText(message: Uint8Array, { type, rdataStart, end }: RecordCursor): string {
  const out = new Uint8Array(MAX_MESSAGE_BYTES);
  const length = expandRdata(message, type, rdataStart, end, out, 0);
  const data = out.subarray(0, Math.max(0, length));
  const text = length < 0 ? undefined : knownText(type, data);
  const raw = message.subarray(rdataStart, end);
  return text ?? `\\# ${raw.length} ${Buffer.from(raw).toString('hex')}`.trimEnd();
}

/** Undefined for data of another type, or of another length than the type has. */
function knownText(type: number, data: Uint8Array): string | undefined {
  switch (type) {
    case TYPE.A:
    case TYPE.AAAA:
      return addressText(data);
    case TYPE.NS:
    case TYPE.CNAME:
    case TYPE.PTR:
    case TYPE.DNAME:
      return nameText(data, 0);
    case TYPE.MX:
      return `${readUint16(data, 0)} ${nameText(data, 2)}`;
    case TYPE.SRV:
      return [...[0, 2, 4].map((at) => readUint16(data, at)), nameText(data, 6)].join(' ');
    case TYPE.SOA: {
      const second = nameBytes(data);
      const numbersAt = second + nameBytes(data.subarray(second));
      const numbers = [0, 4, 8, 12, 16].map((at) => readUint32(data, numbersAt + at));
      return [nameText(data, 0), nameText(data, second), ...numbers].join(' ');
    }
    case TYPE.TXT:
      return stringsText(data);
    default:
      return undefined;
  }
}

function nameText(name: Uint8Array, at: number): string {
  const text = decodeName(name, at);
  return text === '.' ? text : `${text}.`;
}

function stringsText(data: Uint8Array): string | undefined {
  const strings: string[] = [];
  for (let at = 0; at < data.length; at += data[at]! + 1) {
    const end = at + 1 + data[at]!;
    if (end > data.length) return undefined;
    strings.push(`"${Array.from(data.subarray(at + 1, end), characterText).join('')}"`);
  }
  return strings.join(' ');
}

function characterText(byte: number): string {
  if (byte === QUOTE || byte === BACKSLASH) return `\\${String.fromCharCode(byte)}`;
  return byte >= 0x20 && byte < 0x7f
    ? String.fromCharCode(byte)
    : `\\${String(byte).padStart(3, '0')}`;
}
