import {
  addressText,
  encodeKey,
  expandName,
  MAX_NAME_BYTES,
  type RecordCursor,
  ReverseAddress,
  TYPE,
} from '@kube-dns/wire';
import { typeName } from '../options/values.js';

const UNPRINTABLE = '<name unprintable>';
const LOWEST_PRINTABLE = 0x20;
const HIGHEST_PRINTABLE = 0x7e;
/** A possible reverse name: no label needs an escape. */
const REVERSE_NAME = /^(?:[0-9a-f]{1,3}\.)+(?:in-addr|ip6)\.arpa$/i;

/** The name at an offset of a message as dnsmasq logs it; the root is `.`. */
export function nameText(message: Uint8Array, at: number): string {
  const name = new Uint8Array(MAX_NAME_BYTES);
  const length = expandName(message, at, message.length, name);
  if (length < 0) return UNPRINTABLE;
  if (length === 1) return '.';
  let text = '';
  for (let from = 0; name[from] !== 0; from += name[from]! + 1) {
    for (let i = from + 1; i <= from + name[from]!; i++) {
      const byte = name[i]!;
      if (byte < LOWEST_PRINTABLE || byte > HIGHEST_PRINTABLE) return UNPRINTABLE;
      text += String.fromCharCode(byte);
    }
    text += '.';
  }
  return text.slice(0, -1);
}

/** The address of a complete reverse name; other names unchanged. */
export function addressOfReverse(text: string): string {
  if (!REVERSE_NAME.test(text)) return text;
  const key = encodeKey(text);
  const { isWhole, bytes, size } = new ReverseAddress().read(key, key.length);
  return isWhole ? addressText(bytes.subarray(0, size)) : text;
}

/** The data of a record as text: its address, its name, its text, or `<TYPE>`. */
export function valueText(message: Uint8Array, record: RecordCursor): string {
  const { type, rdataStart, end } = record;
  const data = message.subarray(rdataStart, end);
  switch (type) {
    case TYPE.A:
      return data.length === 4 ? addressText(data) : '<A>';
    case TYPE.AAAA:
      return data.length === 16 ? addressText(data) : '<AAAA>';
    case TYPE.PTR:
      return nameText(message, rdataStart);
    case TYPE.TXT:
      return firstString(data);
    default:
      return typeText(type);
  }
}

/** dnsmasq's text for the data of other records: `<TYPE>`. */
export function typeText(type: number): string {
  return `<${typeName(type)}>`;
}

function firstString(data: Uint8Array): string {
  const text = Buffer.from(data.subarray(1, 1 + (data[0] ?? 0))).toString('latin1');
  return /^[\x20-\x7e]*$/.test(text) ? text : UNPRINTABLE;
}
