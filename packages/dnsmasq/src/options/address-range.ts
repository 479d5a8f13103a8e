import { isIP, isIPv4 } from 'node:net';
import { addressBytes } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { wholeNumber } from './number-value.js';

/** Addresses that start with the same bits, as `10.0.0.0/8`. */
export interface AddressRange {
  /** In wire form: 4 or 16 bytes. */
  readonly address: Uint8Array;
  readonly prefixBits: number;
}

/** `--alias`: addresses from `first` to `last` become those from `to` on, where the mask has bits. */
export interface AddressAlias {
  /** 32-bit numbers. */
  readonly first: number;
  readonly last: number;
  readonly to: number;
  readonly mask: number;
}

/** The bytes of an address: 4 of IPv4, 16 of IPv6; undefined for anything else. A scope counts for nothing. */
export function parseAddress(text: string): Uint8Array | undefined {
  return isIP(text) === 0 ? undefined : addressBytes(text.replace(/%.*$/, ''));
}

/** Reads `IP` or `IP/bits`. Throws an OptionError. */
export function parseAddressRange(text: string): AddressRange {
  const [addressText = '', bitsText] = text.split('/', 2);
  const address = parseAddress(addressText);
  if (address === undefined) throw new OptionError(`bad address ${JSON.stringify(addressText)}`);
  const most = address.length * 8;
  return { address, prefixBits: bitsText === undefined ? most : wholeNumber(bitsText, most) };
}

/** Tells whether an address in wire form, at `at` in `bytes`, is in the range; `length` is its bytes. */
export function isInRange(
  range: AddressRange,
  bytes: Uint8Array,
  at: number,
  length: number,
): boolean {
  if (range.address.length !== length) return false;
  let bits = range.prefixBits;
  for (let i = 0; bits > 0; i++, bits -= 8) {
    const mask = bits >= 8 ? 0xff : (0xff << (8 - bits)) & 0xff;
    if (((range.address[i]! ^ bytes[at + i]!) & mask) !== 0) return false;
  }
  return true;
}

/** Reads `old,new[,mask]`, where `old` may be a range `first-last`. Throws an OptionError. */
export function parseAlias(fields: readonly string[]): AddressAlias {
  const [from = '', to = '', mask = '255.255.255.255'] = fields;
  const [first = '', last = first] = from.split('-', 2);
  const alias = {
    first: ipv4Number(first),
    last: ipv4Number(last),
    to: ipv4Number(to),
    mask: ipv4Number(mask),
  };
  const startsInMask = (alias.first & alias.mask) === (alias.last & alias.mask);
  if (last !== first && (alias.last < alias.first || !startsInMask)) {
    throw new OptionError(`bad range ${JSON.stringify(from)}`, 'invalid alias range');
  }
  return alias;
}

function ipv4Number(text: string): number {
  if (!isIPv4(text)) {
    throw new OptionError(`bad address ${JSON.stringify(text)}`, 'missing address in alias');
  }
  return text.split('.').reduce((number, byte) => number * 256 + Number(byte), 0);
}
