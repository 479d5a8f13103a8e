import { isIPv4 } from 'node:net';
import { ClientNetworks, errorText, MAX_PORT, parseGoDuration } from '@kube-dns/base';
import {
  MAX_HITS,
  type Nat64Prefix,
  parseNat64Prefix,
  type PrefetchOptions,
  WELL_KNOWN_PREFIX,
} from '@kube-dns/resolver';
import {
  encodeKey,
  hasPrefix,
  parseAddress,
  typeName as nameOf,
  typeNumber,
  WireError,
} from '@kube-dns/wire';
import { OptionError } from '../errors.js';

/** The largest number of dnsmasq's options, a signed 32-bit integer. */
const MAX_NUMBER = 2 ** 31 - 1;

/** A decimal number without sign; throws an OptionError, with dnsmasq's `words` where given. */
export function wholeNumber(value: string, max = MAX_NUMBER, words?: string): number {
  const number = /^[0-9]+$/.test(value) ? Number(value) : Number.POSITIVE_INFINITY;
  if (number > max) throw new OptionError(`bad number ${JSON.stringify(value)}`, words);
  return number;
}

/** A number of 16 bits, as ports, preferences and priorities are. */
export function shortNumber(value: string, words?: string): number {
  return wholeNumber(value, MAX_PORT, words);
}

/** An address in wire form. Throws an OptionError. */
export function addressOf(text: string): Uint8Array {
  const address = parseAddress(text);
  if (address === undefined) throw new OptionError(`bad address ${JSON.stringify(text)}`);
  return address;
}

const MAX_TYPE = 65_535;
/** How RFC 3597 writes a type without a name, which dnsmasq does not read. */
const NUMBERED = /^type/i;

/** The number of a type that is given by name, in any case, or by number. Throws an OptionError. */
export function parseType(text: string, words: string): number {
  const named = NUMBERED.test(text) ? undefined : typeNumber(text);
  const number = named ?? (/^[0-9]{1,5}$/.test(text) ? Number(text) : 0);
  if (number < 1 || number > MAX_TYPE) {
    throw new OptionError(`unknown record type ${JSON.stringify(text)}`, words);
  }
  return number;
}

/** The name of a type as dnsmasq logs it; `type=65535` for one without. */
export function typeName(type: number): string {
  return nameOf(type) ?? `type=${type}`;
}

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
  const address = addressOf(addressText);
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

/** How `--add-…`, `--strip-…` and `--umbrella` change the EDNS options of forwarded queries. */
export interface EdnsChanges {
  /** The client's MAC as bytes, and as text; either may be sent without the other. */
  readonly addsMac: boolean;
  readonly addsMacText: 'no' | 'base64' | 'text';
  readonly stripsMac: boolean;
  /** The text of the option for the client's premises; empty is none. */
  readonly cpeId: string;
  readonly umbrella: UmbrellaIds | undefined;
  readonly addsSubnet: SubnetRules | undefined;
  readonly stripsSubnet: boolean;
}

/** How much of a client's address is sent, by family; undefined sends a prefix of 0 bits. */
export interface SubnetRules {
  readonly ipv4: SubnetRule | undefined;
  readonly ipv6: SubnetRule | undefined;
}

/** This many bits of the client's address, or of `address` instead. */
export interface SubnetRule {
  readonly bits: number;
  /** In wire form: 4 or 16 bytes. */
  readonly address?: Uint8Array;
}

/** The numbers that identify a customer of Cisco Umbrella; 0 and undefined are not sent. */
export interface UmbrellaIds {
  readonly orgId: number;
  readonly assetId: number;
  /** 8 bytes. */
  readonly deviceId: Uint8Array | undefined;
}

/** Changes nothing. */
export const NO_EDNS_CHANGES: EdnsChanges = {
  addsMac: false,
  addsMacText: 'no',
  stripsMac: false,
  cpeId: '',
  umbrella: undefined,
  addsSubnet: undefined,
  stripsSubnet: false,
};

const IPV4_BITS = 32;
const IPV6_BITS = 128;
const MAX_UINT32 = 2 ** 32 - 1;

/** Reads `[[IP/]bits][,[IP/]bits]`, for clients with IPv4 and IPv6 addresses. Throws an OptionError. */
export function parseSubnets(value: string): SubnetRules {
  const [ipv4, ipv6] = value === '' ? [] : value.split(',', 2);
  return {
    ipv4: ipv4 === undefined ? undefined : parseSubnet(ipv4.trim(), IPV4_BITS),
    ipv6: ipv6 === undefined ? undefined : parseSubnet(ipv6.trim(), IPV6_BITS),
  };
}

function parseSubnet(text: string, familyBits: number): SubnetRule {
  const slash = text.indexOf('/');
  if (slash < 0) return { bits: prefixBits(text, familyBits) };
  const address = parseAddress(text.slice(0, slash));
  if (address === undefined) throw new OptionError(`bad address in ${text}`, 'bad address');
  return { bits: prefixBits(text.slice(slash + 1), address.length * 8), address };
}

function prefixBits(text: string, most: number): number {
  const bits = wholeNumber(text);
  if (bits > most) throw new OptionError(`a prefix of ${bits} bits is too long`);
  return bits;
}

/** Reads `deviceid:16 hex digits`, `orgid:number` and `assetid:number`. Throws an OptionError. */
export function parseUmbrella(fields: readonly string[]): UmbrellaIds {
  let ids: UmbrellaIds = { orgId: 0, assetId: 0, deviceId: undefined };
  for (const field of fields) {
    const [, key, value = ''] = /^(deviceid|orgid|assetid):(.*)$/.exec(field) ?? [];
    if (key === 'orgid') ids = { ...ids, orgId: wholeNumber(value, MAX_UINT32) };
    else if (key === 'assetid') ids = { ...ids, assetId: wholeNumber(value, MAX_UINT32) };
    else if (key === 'deviceid' && /^[0-9a-f]{16}$/i.test(value)) {
      ids = { ...ids, deviceId: new Uint8Array(Buffer.from(value, 'hex')) };
    } else throw new OptionError(`${JSON.stringify(field)} is no identifier`);
  }
  return ids;
}

const HITS = 3;
const PERCENT = 10;
const MAX_PERCENT = 90;

/** Parses `[HITS[,PERCENT]]`; throws an OptionError. */
export function parsePrefetch(value: string): PrefetchOptions {
  const [first = '', second, ...rest] = value.split(',');
  if (rest.length > 0) throw new OptionError('it is HITS[,PERCENT]');
  const hits = first === '' ? HITS : wholeNumber(first, MAX_HITS);
  const percent = second === undefined ? PERCENT : wholeNumber(second, MAX_PERCENT);
  if (hits === 0 || percent === 0) throw new OptionError('it cannot be 0');
  return { hits, percent };
}

/** Reads `[ADDRESS/LENGTH]`, the prefix of a NAT64; throws an OptionError. */
export function parseDns64Prefix(value: string): Nat64Prefix {
  try {
    return parseNat64Prefix(value === '' ? WELL_KNOWN_PREFIX : value);
  } catch (error) {
    throw new OptionError(errorText(error));
  }
}

/** `--stale`: when clients get expired answers, and which. */
export interface StaleOptions {
  /** How long a client waits for a reply to a question whose answer has expired. */
  readonly timeoutMs: number;
  /** For how long expired answers are served. */
  readonly maxAgeSeconds: number;
  /** The TTL that clients get. */
  readonly ttlSeconds: number;
}

const MAX_AGE_SECONDS = 3_600;
/** RFC 8767 section 4. */
const TTL_SECONDS = 30;

/** Parses `TIMEOUT[,MAXAGE[,TTL]]`, each a Go duration or a number of seconds; throws an OptionError. */
export function parseStale(value: string): StaleOptions {
  const [timeout = '', maxAge, ttl, ...rest] = value.split(',');
  if (rest.length > 0) throw new OptionError('it is TIMEOUT[,MAXAGE[,TTL]]');
  const timeoutMs = durationMs(timeout);
  const maxAgeSeconds = maxAge === undefined ? MAX_AGE_SECONDS : durationMs(maxAge) / 1_000;
  if (maxAgeSeconds < 1) throw new OptionError(`an age of ${maxAge} is too short`);
  const ttlSeconds = ttl === undefined ? TTL_SECONDS : Math.floor(durationMs(ttl) / 1_000);
  if (ttl !== undefined && (ttlSeconds < 1 || ttlSeconds > maxAgeSeconds)) {
    throw new OptionError(`a TTL of ${ttl} is not between 1 and the age`);
  }
  return { timeoutMs, maxAgeSeconds, ttlSeconds: Math.min(ttlSeconds, maxAgeSeconds) };
}

/** Parses a Go duration or a number of seconds, as milliseconds; throws an OptionError. */
export function durationMs(text: string): number {
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : durationOf(text);
  if (!(ms >= 0) || ms > Number.MAX_SAFE_INTEGER) throw notDuration(text);
  return ms;
}

function durationOf(text: string): number {
  try {
    return parseGoDuration(text);
  } catch {
    throw notDuration(text);
  }
}

function notDuration(text: string): OptionError {
  return new OptionError(`${JSON.stringify(text)} is no duration, such as 100ms, 1h or 30`);
}

/** `--allow-notify`: who may send a NOTIFY for names at or below a zone. */
export interface NotifyRule {
  /** Lower-cased, in wire form. */
  readonly zone: Uint8Array;
  readonly sources: ClientNetworks;
}

/** Reads `/zone/IP[/bits][,IP[/bits]…]`. Throws an OptionError. */
export function parseNotifyRule(text: string): NotifyRule {
  const [, zone = '', sources = ''] = /^\/([^/]+)\/(.+)$/.exec(text) ?? [];
  if (sources === '') throw new OptionError(`${JSON.stringify(text)} is not /zone/IP[/bits],…`);
  return { zone: parseZone(zone), sources: parseClientNetworks(sources) };
}

/** Reads `IP[/bits][,IP[/bits]…]`. Throws an OptionError. */
export function parseClientNetworks(text: string): ClientNetworks {
  try {
    return new ClientNetworks(text);
  } catch (error) {
    throw new OptionError(errorText(error));
  }
}

function parseZone(text: string): Uint8Array {
  try {
    return encodeKey(text);
  } catch (error) {
    if (error instanceof WireError) throw new OptionError(`bad zone: ${error.message}`);
    throw error;
  }
}
