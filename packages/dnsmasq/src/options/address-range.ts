import { isIPv4 } from 'node:net';
import { hasPrefix, parseAddress } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { wholeNumber } from './number-value.js';

/** Addresses that start with the same bits, such as `10.0.0.0/8`. */
export interface AddressRange {
  /** In wire form: 4 or 16 bytes. */
  readonly address: Uint8Array;
  readonly prefixBits: number;
}

/** `--alias`: maps addresses from `first` to `last` to those from `to` on, in the bits of the mask. */
export interface AddressAlias {
  /** 32-bit numbers. */
  readonly first: number;
  readonly last: number;
  readonly to: number;
  readonly mask: number;
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
  const { address, prefixBits } = range;
  return address.length === length && hasPrefix(bytes, at, address, prefixBits);
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
