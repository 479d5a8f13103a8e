import { addressText, expandName, MAX_NAME_BYTES, type RecordCursor, TYPE } from '@kube-dns/wire';
import { typeName } from '../options/rr-type.js';

const UNPRINTABLE = '<name unprintable>';
const LOWEST_PRINTABLE = 0x20;
const HIGHEST_PRINTABLE = 0x7e;
/** Nibbles of an IPv6 address, and what a label of one takes. */
const NIBBLES = 32;

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

/** The address behind a whole reverse name; other names as they are. */
export function addressOfReverse(text: string): string {
  const lower = text.toLowerCase();
  if (/^(?:\d{1,3}\.){4}in-addr\.arpa$/.test(lower)) {
    return lower.split('.').slice(0, 4).reverse().join('.');
  }
  if (!/^(?:[0-9a-f]\.){32}ip6\.arpa$/.test(lower)) return text;
  const nibbles = lower.split('.').slice(0, NIBBLES).reverse().join('');
  return addressText(Buffer.from(nibbles, 'hex'));
}

/** What a record says: its address, its name, its text, or `<TYPE>`. */
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

/** How dnsmasq writes of a record what it does not look into: `<TYPE>`. */
export function typeText(type: number): string {
  return `<${typeName(type)}>`;
}

function firstString(data: Uint8Array): string {
  const text = Buffer.from(data.subarray(1, 1 + (data[0] ?? 0))).toString('latin1');
  return /^[\x20-\x7e]*$/.test(text) ? text : UNPRINTABLE;
}
