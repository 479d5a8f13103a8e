import { parseAddress } from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { wholeNumber } from './number-value.js';
import { nameOf } from './record-values.js';

/** `--synth-domain`: names made from the addresses of a range, and their reverse. */
export interface SynthDomain {
  /** In wire form, as it was written and lower-cased. */
  readonly name: Uint8Array;
  readonly key: Uint8Array;
  /** The range, both ends in it: 4 or 16 bytes. */
  readonly first: Uint8Array;
  readonly last: Uint8Array;
  /** The text before the address. */
  readonly prefix: string;
  /** Names contain the index in the range instead of the address. */
  readonly isIndexed: boolean;
}

/** Indexes in a range of IPv6 use the lower half of an address. */
const MIN_INDEXED_IPV6_BITS = 64;
/** The space in a label for a prefix next to an address (src/option.c, MAXLABEL - INET_ADDRSTRLEN). */
const MAX_PREFIX = { ipv4: 47, ipv6: 17 } as const;

/** Reads `domain,IP/bits[,prefix[*]]` or `domain,IP[,IP[,prefix[*]]]`. Throws an OptionError. */
export function parseSynthDomain(fields: readonly string[]): SynthDomain {
  const [domain = '', range] = fields;
  if (domain === '' || range === undefined) throw new OptionError('it takes a domain and a range');
  const { name, key } = nameOf(domain);
  const slash = range.indexOf('/');
  const { first, last, bits, rest } =
    slash < 0 ? parseEnds(fields.slice(1)) : parseNetwork(range, slash, fields.slice(2));
  const isIndexed = rest.endsWith('*');
  const prefix = isIndexed ? rest.slice(0, -1) : rest;
  const isIpv4 = first.length === 4;
  if (rest !== '') nameOf(rest, 'bad prefix');
  if (rest.length > (isIpv4 ? MAX_PREFIX.ipv4 : MAX_PREFIX.ipv6)) {
    throw new OptionError(`${JSON.stringify(rest)} is too long`, 'bad prefix');
  }
  if (isIndexed && !isIpv4 && bits < MIN_INDEXED_IPV6_BITS) {
    throw new OptionError('too many addresses to count', 'prefix length too small');
  }
  return { name, key, first, last, prefix, isIndexed };
}

interface Range {
  readonly first: Uint8Array;
  readonly last: Uint8Array;
  readonly bits: number;
  readonly rest: string;
}

function parseNetwork(range: string, slash: number, [rest = '']: readonly string[]): Range {
  const address = addressOf(range.slice(0, slash));
  const bits = wholeNumber(range.slice(slash + 1));
  if (bits > address.length * 8) {
    throw new OptionError(`${bits} bits are too many`, 'bad prefix length');
  }
  const host = address.map((_, i) => 0xff >> Math.min(8, Math.max(0, bits - 8 * i)));
  const first = address.map((byte, i) => byte & ~host[i]!);
  return { first, last: first.map((byte, i) => byte | host[i]!), bits, rest };
}

function parseEnds([from = '', to = from, rest = '']: readonly string[]): Range {
  const [first, last] = [addressOf(from), addressOf(to)];
  if (first.length !== last.length) {
    throw new OptionError(`${from} and ${to} are of different families`);
  }
  return { first, last, bits: 0, rest };
}

function addressOf(text: string): Uint8Array {
  const address = parseAddress(text);
  if (address === undefined) throw new OptionError(`bad address ${JSON.stringify(text)}`);
  return address;
}
