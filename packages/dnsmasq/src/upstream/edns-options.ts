import { readFileSync } from 'node:fs';
import type { Log } from '@kube-dns/daemon';
import type { SentQuestion } from '@kube-dns/resolver';
import type { AddedOptions, Client } from '@kube-dns/transport';
import { EDNS_OPTION, type Query, readUint16, ReplyOutline, writeUint16 } from '@kube-dns/wire';
import { clientAddress } from '../local/local-answers.js';
import type { EdnsChanges, SubnetRules, UmbrellaIds } from '../options/values.js';

/** EDNS options: Cisco's, and those of dnsmasq and Nominum (dnsmasq src/dns-protocol.h). */
const OPTION = { UMBRELLA: 20292, MAC: 65001, MAC_TEXT: 65073, CPE_ID: 65074 } as const;
/** The offset of SCOPE PREFIX-LENGTH, which only a reply sets. */
const SCOPE_AT = 3;
const SUBNET_LOG_EVERY_MS = 1_000;

/** The options that a client's query is sent upstream with. */
interface QueryOptions extends AddedOptions {
  /** The answer may be sent to other clients. */
  readonly isForAll: boolean;
  /** The subnet among them: a reply about another one is discarded. */
  readonly subnet: Uint8Array | undefined;
}

/**
 * The EDNS options that queries for upstream servers get by `--add-…` and `--umbrella`. Options of clients do not
 * leave (RFC 6891 section 6.1.1), but with `--add-subnet` a client's own subnet takes the place of ours, unless
 * `--strip-subnet` says otherwise.
 */
export class EdnsOptions {
  readonly #changes: EdnsChanges;
  readonly #neighbours: Neighbours;
  readonly #log: Pick<Log, 'warn'>;
  readonly #now: () => number;
  #nextLogMs = 0;

  /** `now`: milliseconds that never fall. */
  constructor(
    changes: EdnsChanges,
    neighbours: Neighbours,
    log: Pick<Log, 'warn'>,
    now = () => performance.now(),
  ) {
    this.#changes = changes;
    this.#neighbours = neighbours;
    this.#log = log;
    this.#now = now;
  }

  /** Adds the options; replies for another subnet than the query's are ignored, and none that is for one client only is cached. */
  beforeSending(query: Query, { address }: Client, sent: SentQuestion): SentQuestion {
    const added = this.optionsFor(query, address);
    const { isForAll, subnet, hasClientSubnet } = added;
    const { options, inspector } = sent;
    return {
      options: { bytes: Buffer.concat([options.bytes, added.bytes]), hasClientSubnet },
      inspector: (reply, isCacheable, outline) => {
        if (subnet !== undefined && this.isForeign(outline, subnet)) return null;
        return inspector(reply, isCacheable && isForAll, outline);
      },
    };
  }

  /** The options for the query of a client at this address, in dnsmasq's order (src/edns0.c, add_edns0_config). */
  optionsFor(query: Query, address: string): QueryOptions {
    const { addsMac, addsMacText, cpeId, umbrella, addsSubnet } = this.#changes;
    const client = clientAddress(address);
    const mac = this.#macOf(client);
    const options: Buffer[] = [];
    if (addsMac && mac !== undefined) options.push(encodeOption(OPTION.MAC, mac));
    if (addsMacText !== 'no' && mac !== undefined) {
      options.push(encodeOption(OPTION.MAC_TEXT, textOf(mac, addsMacText)));
    }
    if (cpeId !== '') options.push(encodeOption(OPTION.CPE_ID, Buffer.from(cpeId)));
    if (umbrella !== undefined) {
      options.push(encodeOption(OPTION.UMBRELLA, umbrellaData(umbrella, client)));
    }
    const theirs = this.#clientSubnet(query);
    const ours = addsSubnet === undefined ? undefined : subnetData(addsSubnet, client);
    const subnet = theirs ?? ours?.data;
    if (subnet !== undefined) options.push(encodeOption(EDNS_OPTION.SUBNET, subnet));
    const isOfClient = theirs !== undefined || ours?.isOfClient === true;
    return {
      bytes: Buffer.concat(options),
      hasClientSubnet: theirs !== undefined,
      isForAll: mac === undefined && umbrella === undefined && !isOfClient,
      // A query with other records is sent without these options.
      subnet: query.hasOtherRecords ? undefined : subnet,
    };
  }

  /** Whether a reply with this outline names another subnet than the query (RFC 7871 section 7.3). */
  isForeign(outline: ReplyOutline, subnet: Uint8Array): boolean {
    const named = subnetOf(outline);
    if (named === undefined || isSameSubnet(named, subnet)) return false;
    const nowMs = this.#now();
    if (nowMs >= this.#nextLogMs) {
      this.#nextLogMs = nowMs + SUBNET_LOG_EVERY_MS;
      this.#log.warn('discarding DNS reply: subnet option mismatch');
    }
    return true;
  }

  /** The subnet that a client sent, when it is to be sent on. */
  #clientSubnet(query: Query): Uint8Array | undefined {
    const { addsSubnet, stripsSubnet } = this.#changes;
    if (addsSubnet === undefined || stripsSubnet || !query.hasEdns) return undefined;
    const subnet = subnetOf(new ReplyOutline().read(query.bytes.subarray(0, query.length)));
    return subnet !== undefined && isSubnetData(subnet) ? new Uint8Array(subnet) : undefined;
  }

  #macOf(client: Uint8Array): Uint8Array | undefined {
    const { addsMac, addsMacText } = this.#changes;
    return addsMac || addsMacText !== 'no' ? this.#neighbours.macOf(client) : undefined;
  }
}

/** Whether any option is to be added. */
export function addsOptions(changes: EdnsChanges): boolean {
  const { addsMac, addsMacText, cpeId, umbrella, addsSubnet } = changes;
  const addsId = addsMac || addsMacText !== 'no' || cpeId !== '' || umbrella !== undefined;
  return addsId || addsSubnet !== undefined;
}

function textOf(mac: Uint8Array, form: 'base64' | 'text'): Buffer {
  const text = form === 'base64' ? Buffer.from(mac).toString('base64') : hexPairs(mac);
  return Buffer.from(text);
}

function hexPairs(mac: Uint8Array): string {
  return Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join(':');
}

function isSameSubnet(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  return one.every((byte, i) => i === SCOPE_AT || byte === other[i]);
}

const IPV4_BYTES = 4;
/** The address families of RFC 7871 section 6. */
const FAMILY = { IPV4: 1, IPV6: 2 } as const;
/** Cisco's "Identifying DNS traffic": magic, version and flags, then fields of these types. */
const UMBRELLA_HEAD = Buffer.from('ODNS\u0001\0', 'latin1');
const UMBRELLA_FIELD = { ASSET: 0x04, ORG: 0x08, IPV4: 0x10, IPV6: 0x20, DEVICE: 0x40 } as const;

/** The client subnet that is sent upstream; `isOfClient` when it depends on the client's address. */
interface SentSubnet {
  readonly data: Uint8Array;
  readonly isOfClient: boolean;
}

/** The data of an EDNS Client Subnet option (RFC 7871 section 6; dnsmasq src/edns0.c, calc_subnet_opt). */
function subnetData({ ipv4, ipv6 }: SubnetRules, client: Uint8Array): SentSubnet {
  const rule = client.length === IPV4_BYTES ? ipv4 : ipv6;
  const address = rule?.address ?? client;
  const bits = rule?.bits ?? 0;
  const bytes = Math.ceil(bits / 8);
  const data = new Uint8Array(4 + bytes);
  data[1] = address.length === IPV4_BYTES ? FAMILY.IPV4 : FAMILY.IPV6;
  data[2] = bits;
  data.set(address.subarray(0, bytes), 4);
  const spare = bytes * 8 - bits;
  if (spare > 0) data[3 + bytes]! &= 0xff << spare;
  return { data, isOfClient: bits > 0 && rule?.address === undefined };
}

/** Whether the data of a query's Client Subnet option are well formed. */
function isSubnetData(data: Uint8Array): boolean {
  if (data.length < 4 || data[0] !== 0 || data[3] !== 0) return false;
  const maxBits = { [FAMILY.IPV4]: 32, [FAMILY.IPV6]: 128 }[data[1]!];
  const bits = data[2]!;
  return maxBits !== undefined && bits <= maxBits && data.length === 4 + Math.ceil(bits / 8);
}

/** The data of the option that identifies the client to Cisco Umbrella. */
function umbrellaData(ids: UmbrellaIds, client: Uint8Array): Uint8Array {
  const { orgId, assetId, deviceId } = ids;
  const family = client.length === IPV4_BYTES ? UMBRELLA_FIELD.IPV4 : UMBRELLA_FIELD.IPV6;
  return Buffer.concat([
    UMBRELLA_HEAD,
    ...(orgId > 0 ? [umbrellaField(UMBRELLA_FIELD.ORG, uint32(orgId))] : []),
    umbrellaField(family, client),
    ...(deviceId === undefined ? [] : [umbrellaField(UMBRELLA_FIELD.DEVICE, deviceId)]),
    ...(assetId > 0 ? [umbrellaField(UMBRELLA_FIELD.ASSET, uint32(assetId))] : []),
  ]);
}

function umbrellaField(type: number, value: Uint8Array): Buffer {
  const field = Buffer.alloc(2 + value.length);
  writeUint16(field, 0, type);
  field.set(value, 2);
  return field;
}

function uint32(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(number);
  return bytes;
}

const OPTION_HEAD_BYTES = 4;

/** An EDNS option (RFC 6891 section 6.1.2). */
function encodeOption(code: number, data: Uint8Array): Buffer {
  const option = Buffer.alloc(OPTION_HEAD_BYTES + data.length);
  writeUint16(option, 0, code);
  writeUint16(option, 2, data.length);
  option.set(data, OPTION_HEAD_BYTES);
  return option;
}

/** The data of the Client Subnet option of a message with this outline; undefined where there is none. */
function subnetOf(outline: ReplyOutline): Uint8Array | undefined {
  const { message } = outline;
  const at = outline.optionAt(EDNS_OPTION.SUBNET);
  if (at < 0) return undefined;
  const dataAt = at + OPTION_HEAD_BYTES;
  return message.subarray(dataAt, dataAt + readUint16(message, at + 2));
}

interface NeighboursOptions {
  /** The file of the neighbour table; Linux's unless given. */
  readonly path?: string;
  /** A monotonic clock in milliseconds; the process's unless given. */
  readonly now?: () => number;
}

const ARP_TABLE = '/proc/net/arp';
/** How long one read of the neighbour table is trusted; a new client has no MAC until then. */
const FRESH_MS = 1_000;
const ETHERNET = '0x1';
const COMPLETE_FLAG = 0x2;

/**
 * The MACs of the machines in the same network, by IPv4 address. The system's table is read on demand, at
 * most once a second; without a table no client has a MAC.
 */
export class Neighbours {
  readonly #path: string;
  readonly #now: () => number;
  #macs: ReadonlyMap<string, Uint8Array> = new Map();
  #staleAtMs = Number.NEGATIVE_INFINITY;

  constructor({ path = ARP_TABLE, now = () => performance.now() }: NeighboursOptions = {}) {
    this.#path = path;
    this.#now = now;
  }

  /** The six bytes of the MAC of an address in wire form; undefined for every IPv6 address. */
  macOf(address: Uint8Array): Uint8Array | undefined {
    if (address.length !== 4) return undefined;
    const nowMs = this.#now();
    if (nowMs >= this.#staleAtMs) {
      this.#macs = readTable(this.#path);
      this.#staleAtMs = nowMs + FRESH_MS;
    }
    return this.#macs.get(address.join('.'));
  }
}

/** Lines of `address type flags MAC mask device` after a heading (proc_net(5)). */
function readTable(path: string): ReadonlyMap<string, Uint8Array> {
  const macs = new Map<string, Uint8Array>();
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch {
    return macs; // no such table on this system
  }
  for (const line of text.split('\n')) {
    const [address = '', type, flags, mac = ''] = line.split(/\s+/);
    const isComplete = type === ETHERNET && (Number(flags) & COMPLETE_FLAG) !== 0;
    if (!isComplete || !/^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i.test(mac)) continue;
    macs.set(
      address,
      Uint8Array.from(mac.split(':'), (byte) => parseInt(byte, 16)),
    );
  }
  return macs;
}
