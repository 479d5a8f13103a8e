import {
  decodeName,
  encodeKey,
  encodeName,
  MAX_LABEL_BYTES,
  MAX_NAME_BYTES,
  parseAddress,
  reverseName,
  TYPE,
  WireError,
} from '@kube-dns/wire';
import { OptionError } from '../errors.js';
import { addressOf, parseType, shortNumber, wholeNumber } from './values.js';

/** A static record of class IN; names are in wire form, uncompressed. */
export interface LocalRecord {
  /** Lower-cased. */
  readonly owner: Uint8Array;
  readonly type: number;
  /** Undefined is `--local-ttl`. */
  readonly ttlSeconds: number | undefined;
  readonly rdata: Uint8Array;
  /** A PTR that is used only when the name has no other one, as those of hosts files. */
  readonly isReverseOfHost?: boolean;
  /** An address of `--host-record`, which makes its name a host, as a hosts file does. */
  readonly isOfHost?: boolean;
}

const CAA = 257;
const MAX_BYTE = 255;
/** Most bytes of one string (RFC 1035 section 3.3). */
const MAX_STRING_BYTES = 255;
const MAX_RDATA_BYTES = 65_535;

/** `name,name,…,IPv4,IPv6,ttl`: addresses for every name, and the reverse for the first. */
export function hostRecords(fields: readonly string[]): LocalRecord[] {
  const names: string[] = [];
  const addresses: Uint8Array[] = [];
  let ttlSeconds: number | undefined;
  for (const field of fields) {
    const address = parseAddress(field);
    if (address !== undefined) addresses.push(address);
    else if (/^[0-9]+$/.test(field)) ttlSeconds = Number(field);
    else names.push(field);
  }
  if (names.length === 0 || addresses.length === 0) {
    throw new OptionError('it takes a name and an address', 'Bad host-record');
  }
  const owners = names.map((name) => nameOf(name, 'Bad name in host-record'));
  const latest = new Map(addresses.map((address) => [address.length, address]));
  return [...latest.values()].flatMap((address) => [
    ...owners.map((owner) => ({
      owner: owner.key,
      type: typeOf(address),
      ttlSeconds,
      rdata: address,
      isOfHost: true,
    })),
    {
      owner: encodeKey(reverseName(address)),
      type: TYPE.PTR,
      ttlSeconds,
      rdata: owners[0]!.name,
      isReverseOfHost: true,
    },
  ]);
}

function typeOf(address: Uint8Array): number {
  return address.length === 4 ? TYPE.A : TYPE.AAAA;
}

/** `name,name,…,target[,ttl]`. A name that has a CNAME already is refused. */
export function cnameRecords(
  fields: readonly string[],
  records: readonly LocalRecord[],
): LocalRecord[] {
  const last = fields.at(-1) ?? '';
  const hasTtl = fields.length > 2 && /^[0-9]+$/.test(last);
  const names = hasTtl ? fields.slice(0, -1) : fields;
  if (names.length < 2 || names.includes('')) {
    throw new OptionError('it takes a name and a target', 'bad CNAME');
  }
  const target = nameOf(names.at(-1)!, 'bad CNAME');
  const existing = new Set(
    records.filter(({ type }) => type === TYPE.CNAME).map(({ owner }) => keyText(owner)),
  );
  return names.slice(0, -1).map((name) => {
    const { key } = nameOf(name, 'bad CNAME');
    if (existing.has(keyText(key))) {
      throw new OptionError(`${JSON.stringify(name)} has a target already`, 'duplicate CNAME');
    }
    existing.add(keyText(key));
    const ttlSeconds = hasTtl ? Number(last) : undefined;
    return { owner: key, type: TYPE.CNAME, ttlSeconds, rdata: target.name };
  });
}

/** A name in wire form, in any case, as the key of a map; lower-casing does not change label lengths (at most 63). */
export function keyText(name: Uint8Array): string {
  const text = Buffer.from(name).toString('latin1');
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** `name,text,…`: each field is a string of the record, long ones several. */
export function txtRecord([name = '', ...texts]: readonly string[]): LocalRecord {
  return record(name, TYPE.TXT, characterStrings(texts));
}

/** The texts as character strings (RFC 1035 section 3.3), long ones as several; an empty one where there is none. */
function characterStrings(texts: readonly string[]): Buffer {
  const sizes = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.alloc(sizes.reduce((sum, size) => sum + stringCount(size) + size, 0) || 1);
  let at = 0;
  texts.forEach((text, i) => {
    let left = sizes[i]!;
    // The text is first written after space for all length bytes, then each piece moves after its own.
    let from = at + stringCount(left);
    bytes.write(text, from);
    do {
      const length = Math.min(left, MAX_STRING_BYTES);
      bytes[at++] = length;
      bytes.copyWithin(at, from, from + length);
      at += length;
      from += length;
      left -= length;
    } while (left > 0);
  });
  return bytes;
}

function stringCount(size: number): number {
  return Math.max(1, Math.ceil(size / MAX_STRING_BYTES));
}

/** `name,target`. */
export function ptrRecord([name = '', target = '']: readonly string[]): LocalRecord {
  return record(name, TYPE.PTR, targetName(target));
}

/** `name[,target[,preference]]`; without a target `completeRecords` makes one. */
export function mxRecord(fields: readonly string[]): LocalRecord {
  const [name = '', target = '', preference = '1'] = fields;
  const number = shortNumber(preference, 'bad MX preference');
  return record(name, TYPE.MX, Buffer.concat([uint16(number), targetName(target)]));
}

/** `name[,target[,port[,priority[,weight]]]]`; no target means that there is no such service. */
export function srvRecord(fields: readonly string[]): LocalRecord {
  const [service = '', target = '', port = '1', priority = '0', weight = '0'] = fields;
  const numbers = [
    shortNumber(priority, 'invalid priority'),
    shortNumber(weight, 'invalid weight'),
    shortNumber(port, 'invalid port number'),
  ];
  return record(service, TYPE.SRV, Buffer.concat([...numbers.map(uint16), targetName(target)]));
}

/** `name,order,preference,flags,service,regexp[,replacement]`. */
export function naptrRecord(fields: readonly string[]): LocalRecord {
  const [name = '', order = '', preference = '', ...texts] = fields;
  const [flags, service, regexp, replacement = ''] = texts;
  const words = 'bad NAPTR record';
  if (flags === undefined || service === undefined || regexp === undefined) {
    throw new OptionError('it takes six fields or seven', words);
  }
  const rdata = Buffer.concat([
    ...[order, preference].map((text) => uint16(shortNumber(text, words))),
    ...[flags, service, regexp].map((text) => shortString(text, words)),
    targetName(replacement),
  ]);
  return record(name, TYPE.NAPTR, rdata);
}

/** `name,flags,tag,value` (RFC 8659 section 4.1). */
export function caaRecord([
  name = '',
  flags = '',
  tag,
  value = '',
]: readonly string[]): LocalRecord {
  const words = 'bad CAA record';
  if (tag === undefined) throw new OptionError('it takes four fields', words);
  const number = shortNumber(flags, words);
  if (number > MAX_BYTE) throw new OptionError(`flags ${number} do not fit a byte`, words);
  return record(
    name,
    CAA,
    Buffer.concat([Buffer.of(number), shortString(tag, words), Buffer.from(value)]),
  );
}

/** `name,type[,hex data]`; the digits may be divided by colons, spaces or dots. */
export function anyRecord([name = '', type = '', data = '']: readonly string[]): LocalRecord {
  const words = 'bad RR record';
  if (!/^[0-9]+$/.test(type)) throw new OptionError(`bad type ${JSON.stringify(type)}`, words);
  const bytes = data.split(/[:\s.-]+/).flatMap((group) => group.match(/.{1,2}/g) ?? []);
  if (bytes.length > MAX_RDATA_BYTES || !bytes.every((byte) => /^[0-9a-f]{1,2}$/i.test(byte))) {
    throw new OptionError(`bad data ${JSON.stringify(data)}`, 'bad hex constant');
  }
  const rdata = Uint8Array.from(bytes, (byte) => parseInt(byte, 16));
  const number = parseType(type, words);
  if (!isRdataOf(number, rdata)) {
    throw new OptionError(`${JSON.stringify(data)} is no data of type ${number}`, words);
  }
  return record(name, number, rdata);
}

/** Where the name at the end of the rdata starts, by type; the writer of answers relies on it. */
const NAME_AT: ReadonlyMap<number, number> = new Map<number, number>([
  [TYPE.NS, 0],
  [TYPE.CNAME, 0],
  [TYPE.PTR, 0],
  [TYPE.MX, 2],
  [TYPE.SRV, 6],
]);
const ADDRESS_BYTES: ReadonlyMap<number, number> = new Map<number, number>([
  [TYPE.A, 4],
  [TYPE.AAAA, 16],
]);

function isRdataOf(type: number, rdata: Uint8Array): boolean {
  const nameAt = NAME_AT.get(type);
  if (nameAt === undefined) return rdata.length === (ADDRESS_BYTES.get(type) ?? rdata.length);
  let at = nameAt;
  // No compression pointer: there is no message that it could point into.
  for (let label = rdata[at]; label !== 0; label = rdata[at]) {
    if (label === undefined || label > MAX_LABEL_BYTES) return false;
    at += label + 1;
  }
  return at + 1 === rdata.length && at + 1 - nameAt <= MAX_NAME_BYTES;
}

function record(owner: string, type: number, rdata: Uint8Array): LocalRecord {
  return { owner: nameOf(owner).key, type, ttlSeconds: undefined, rdata: new Uint8Array(rdata) };
}

function shortString(text: string, words: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_STRING_BYTES) throw new OptionError('a string is too long', words);
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

function uint16(number: number): Buffer {
  return Buffer.of(number >> 8, number & 0xff);
}

/** A target that is left out is the root. */
export function targetName(text: string): Uint8Array {
  return text === '' ? encodeName('.') : nameOf(text).name;
}

/** A name as it was written and as it is compared. Throws an OptionError. */
export function nameOf(text: string, words?: string): { name: Uint8Array; key: Uint8Array } {
  try {
    return { name: encodeName(text), key: encodeKey(text) };
  } catch (error) {
    if (error instanceof WireError) throw new OptionError(error.message, words);
    throw error;
  }
}

/** Finds a `--cname` that leads into a loop: the owner name of the last one, as dnsmasq reports it; else undefined. */
export function findCnameLoop(records: readonly LocalRecord[]): string | undefined {
  const targets = new Map<string, string>();
  for (const { owner: ownerName, type, rdata } of records) {
    const owner = keyText(ownerName);
    // Only the first target is followed; --dns-rr can add more.
    if (type !== TYPE.CNAME || targets.has(owner)) continue;
    targets.set(owner, keyText(rdata));
  }
  const safe = new Set<string>();
  for (const owner of [...targets.keys()].reverse()) {
    const path = new Set<string>();
    for (
      let name: string | undefined = owner;
      name !== undefined && !safe.has(name);
      name = targets.get(name)
    ) {
      if (path.has(name)) return decodeName(Buffer.from(owner, 'latin1'));
      path.add(name);
    }
    for (const name of path) safe.add(name);
  }
  return undefined;
}

/** `--interface-name` and `--dynamic-host`: a name for addresses of an interface, or in its networks. */
export interface InterfaceName {
  /** Lower-cased, in wire form. */
  readonly name: Uint8Array;
  readonly interface: string;
  readonly families: 'both' | 'ipv4' | 'ipv6';
  /** Addresses whose host parts replace that of the interface's address. */
  readonly hosts?: readonly Uint8Array[];
}

const FAMILIES = { '': 'both', '4': 'ipv4', '6': 'ipv6' } as const;

/** Reads `name,interface[/4|/6]`. Throws an OptionError. */
export function parseInterfaceName([name = '', port = '']: readonly string[]): InterfaceName {
  const [, device, family = ''] = /^([^/]+)(?:\/([46]))?$/.exec(port) ?? [];
  if (device === undefined) {
    const words = port === '' ? 'bad interface name' : undefined;
    throw new OptionError(`bad interface ${JSON.stringify(port)}`, words);
  }
  const families = FAMILIES[family as keyof typeof FAMILIES];
  return { name: nameOf(name).key, interface: device, families };
}

/**
 * Reads `name,[IPv4],[IPv6],interface`: only the host part of each address is used, the network part is
 * the interface's. Throws an OptionError.
 */
export function parseDynamicHost([name = '', ...rest]: readonly string[]): InterfaceName {
  const addresses: Uint8Array[] = [];
  let device = rest.shift() ?? '';
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    const address = parseAddress(device);
    if (address === undefined) break;
    addresses.push(address);
    device = next;
  }
  if (addresses.length === 0) {
    throw new OptionError('it takes a part of an address', 'missing address in dynamic host');
  }
  const words = 'bad dynamic host';
  if (/^$|\/[46]$/.test(device)) throw new OptionError(`bad interface "${device}"`, words);
  // The last address of each family is used.
  const latest = new Map(addresses.map((address) => [address.length, address]));
  const hosts = [...latest.values()];
  return { name: nameOf(name, words).key, interface: device, families: 'both', hosts };
}

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

interface SynthRange {
  readonly first: Uint8Array;
  readonly last: Uint8Array;
  readonly bits: number;
  readonly rest: string;
}

function parseNetwork(range: string, slash: number, [rest = '']: readonly string[]): SynthRange {
  const address = addressOf(range.slice(0, slash));
  const bits = wholeNumber(range.slice(slash + 1));
  if (bits > address.length * 8) {
    throw new OptionError(`${bits} bits are too many`, 'bad prefix length');
  }
  const host = address.map((_, i) => 0xff >> Math.min(8, Math.max(0, bits - 8 * i)));
  const first = address.map((byte, i) => byte & ~host[i]!);
  return { first, last: first.map((byte, i) => byte | host[i]!), bits, rest };
}

function parseEnds([from = '', to = from, rest = '']: readonly string[]): SynthRange {
  const [first, last] = [addressOf(from), addressOf(to)];
  if (first.length !== last.length) {
    throw new OptionError(`${from} and ${to} are of different families`);
  }
  return { first, last, bits: 0, rest };
}
