import { isIPv4, isIPv6 } from 'node:net';
import {
  addressText,
  decodeName,
  encodeName,
  parseAddress,
  suffixOffset,
  TYPE,
  WireError,
} from '@kube-dns/wire';
import type { SynthDomain } from '../options/record-values.js';

const IPV4_BYTES = 4;
const DOT = 0x2e;
/** The start of a name for an IPv4-mapped IPv6 address. */
const MAPPED_FRONT = '--ffff-';

/** Names made from addresses, and the addresses of such names (dnsmasq src/domain.c). */
export class SynthNames {
  /** The last one given is first. */
  readonly #domains: readonly SynthDomain[];

  constructor(domains: readonly SynthDomain[]) {
    this.#domains = domains.toReversed();
  }

  /** The address, in wire form, that a lower-cased name is made from; undefined for any other name. */
  addressOf(name: Uint8Array, length: number, type: number): Uint8Array | undefined {
    for (const domain of this.#domains) {
      if (domain.first.length !== (type === TYPE.A ? IPV4_BYTES : 16)) continue;
      const front = frontOf(name, suffixOffset(name, length, domain.key));
      const prefix = domain.prefix.toLowerCase();
      if (front?.startsWith(prefix) !== true) continue;
      const address = readFront(domain, front.slice(prefix.length));
      if (address !== undefined) return address;
    }
    return undefined;
  }

  /** Whether a lower-cased name is made from an address. */
  hasName(name: Uint8Array, length: number): boolean {
    if (this.#domains.length === 0) return false;
    const isOf = (type: number) => this.addressOf(name, length, type) !== undefined;
    return isOf(TYPE.A) || isOf(TYPE.AAAA);
  }

  /** The name, in wire form, that is made from an address; undefined where there is none. */
  nameOf(address: Uint8Array): Uint8Array | undefined {
    const domain = this.#domains.find((candidate) => isInside(candidate, address));
    if (domain === undefined) return undefined;
    const { prefix, isIndexed, first } = domain;
    const place = isIndexed ? String(numberOf(address) - numberOf(first)) : textOf(address);
    const front = prefix === '' && place.startsWith('-') ? `0${place}` : `${prefix}${place}`;
    try {
      return encodeName(`${front}.${decodeName(domain.name)}`);
    } catch (error) {
      if (error instanceof WireError) return undefined; // too long to be one
      throw error;
    }
  }
}

/** The labels up to `end` as text; undefined where there are none, or one has a dot in it. */
function frontOf(name: Uint8Array, end: number): string | undefined {
  if (end <= 0) return undefined;
  const labels: string[] = [];
  for (let at = 0; at < end; at += name[at]! + 1) {
    const label = name.subarray(at + 1, at + 1 + name[at]!);
    if (label.includes(DOT)) return undefined;
    labels.push(Buffer.from(label).toString('latin1'));
  }
  return labels.join('.');
}

function readFront(domain: SynthDomain, text: string): Uint8Array | undefined {
  const address = domain.isIndexed ? readIndex(domain, text) : readAddress(domain, text);
  return address !== undefined && isInside(domain, address) ? address : undefined;
}

/** As in dnsmasq, no digits are the first address. */
function readIndex({ first }: SynthDomain, text: string): Uint8Array | undefined {
  if (!/^[0-9]{0,39}$/.test(text)) return undefined;
  return bytesOf(numberOf(first) + BigInt(text), first.length);
}

function readAddress({ first }: SynthDomain, text: string): Uint8Array | undefined {
  if (first.length === IPV4_BYTES) {
    const dotted = text.replaceAll('-', '.');
    return /^[0-9-]*$/.test(text) && isIPv4(dotted) ? parseAddress(dotted) : undefined;
  }
  if (!/^[0-9a-f-]*$/.test(text)) return undefined;
  const written = text.startsWith(MAPPED_FRONT)
    ? `::ffff:${text.slice(MAPPED_FRONT.length).replaceAll('-', '.')}`
    : text.replaceAll('-', ':');
  return isIPv6(written) ? parseAddress(written) : undefined;
}

function isInside({ first, last }: SynthDomain, address: Uint8Array): boolean {
  if (address.length !== first.length) return false;
  return Buffer.compare(first, address) <= 0 && Buffer.compare(address, last) <= 0;
}

function numberOf(address: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(address).toString('hex')}`);
}

/** Undefined for a number that does not fit an address of this many bytes. */
function bytesOf(number: bigint, length: number): Uint8Array | undefined {
  const hex = number.toString(16).padStart(length * 2, '0');
  return hex.length > length * 2 ? undefined : new Uint8Array(Buffer.from(hex, 'hex'));
}

/** The shortest text of an address, with dashes. */
function textOf(address: Uint8Array): string {
  return addressText(address).replace(/[:.]/g, '-');
}
