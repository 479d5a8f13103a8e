import {
  encodeKey,
  encodeRdata,
  encodeReverseName,
  hexValue,
  isInZone,
  nameBytes,
  prependLabels,
  readUint32,
  type ResourceRecord,
  TYPE,
} from '@kube-dns/wire';
import { nameServerAddresses, SCHEMA_VERSION } from '../answer/zone-answerer.js';
import type { PtrMode } from '../config/flags.js';
import {
  type AddressSize,
  IPV4_BYTES,
  IPV6_BYTES,
  type PackedAddresses,
} from '../watch/projections.js';
import type { ServiceState } from '../zone/cluster-view.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { addressType } from '../zone/zone-names.js';
import { addressAt, hostName, type Records, serviceRecords } from './service-records.js';
import type { TransferableZone, TransferableZones, ZoneView } from './transferable-zone.js';

export interface ClusterZonesOptions {
  readonly zone: ClusterZone;
  readonly ttlSeconds: number;
  readonly negativeTtlSeconds: number;
  readonly ptr: PtrMode;
  /** Zones beside that of the cluster; none unless given. */
  readonly others?: readonly TransferableZone[];
  /** See nameServerAddresses. */
  readonly ownAddresses: readonly Uint8Array[];
}

/** The serial is the first of five 32-bit numbers at the end of the rdata. */
const SOA_SERIAL_FROM_END = 20;
/** Secondaries of reverse zones are not notified of changes in a zone that they alone know the apex of: they ask. */
const REVERSE_TIMES = { refresh: 300, retry: 60, expire: 604_800 };

/** The zone of the cluster, and the zones of reverse names that a secondary may choose. */
export class ClusterZones implements TransferableZones {
  readonly #options: ClusterZonesOptions;
  /** They have different names, but one may be in another. */
  readonly #zones: readonly TransferableZone[];

  constructor(options: ClusterZonesOptions) {
    this.#options = options;
    const { zone, others = [] } = options;
    const own = {
      apex: zone.apex,
      tellSoa: () => zone.tellSoa(),
      openView: () => this.#openView(),
    };
    this.#zones = [own, ...others];
  }

  find(name: Uint8Array, length: number): TransferableZone | undefined {
    for (const zone of this.#zones) {
      const { apex } = zone;
      if (length === apex.length && isInZone(name, length, apex)) return zone;
    }
    const network = reverseNetwork(name, length);
    return network && new ReverseZone(network, this.#options);
  }

  concerns(name: Uint8Array, length: number): boolean {
    const isIn = (apex: Uint8Array) => isInZone(name, length, apex);
    return isIn(IN_ADDR_ARPA) || isIn(IP6_ARPA) || this.#zones.some(({ apex }) => isIn(apex));
  }

  #openView(): ZoneView {
    const { zone, ttlSeconds, ownAddresses } = this.#options;
    const services = zone.openView();
    const addresses = nameServerAddresses(zone, ownAddresses);
    return {
      soaRdata: zone.tellSoa(),
      close: () => services.close(),
      *records() {
        yield* apexRecords(zone.apex, zone.apex, ttlSeconds);
        const owner = nameServerOf(zone.apex);
        for (const rdata of addresses)
          yield { owner, type: addressType(rdata.length), ttlSeconds, rdata };
        yield versionRecord(zone.apex, ttlSeconds);
        for (const state of services.services()) {
          yield undefined;
          yield* serviceRecords(state, ttlSeconds);
        }
      },
    };
  }
}

function nameServerOf(apex: Uint8Array): Uint8Array {
  return prependLabels(['ns', 'dns'], apex);
}

function* apexRecords(owner: Uint8Array, apex: Uint8Array, ttlSeconds: number): Records {
  yield { owner, type: TYPE.NS, ttlSeconds, rdata: nameServerOf(apex) };
}

function versionRecord(apex: Uint8Array, ttlSeconds: number): ResourceRecord {
  const rdata = encodeRdata({ type: 'TXT', name: '.', data: SCHEMA_VERSION });
  return { owner: prependLabels(['dns-version'], apex), type: TYPE.TXT, ttlSeconds, rdata };
}

const IN_ADDR_ARPA = encodeKey('in-addr.arpa');
const IP6_ARPA = encodeKey('ip6.arpa');
const NIBBLE_BITS = 4;
const BYTE_BITS = 8;

/** The addresses whose reverse names are in a zone. */
interface ReverseNetwork {
  /** Lower-cased, in wire form. */
  readonly apex: Uint8Array;
  readonly size: AddressSize;
  /** Those of the first bits, in bytes, the others 0. */
  readonly address: Uint8Array;
  readonly bits: number;
}

/** The network of the apex of a reverse zone, `in-addr.arpa` and `ip6.arpa` included; undefined for another name, and for whole addresses. */
export function reverseNetwork(name: Uint8Array, length: number): ReverseNetwork | undefined {
  for (const [suffix, size, bitsOfLabel] of [
    [IN_ADDR_ARPA, IPV4_BYTES, BYTE_BITS],
    [IP6_ARPA, IPV6_BYTES, NIBBLE_BITS],
  ] as const) {
    if (!isInZone(name, length, suffix)) continue;
    const values: number[] = [];
    for (let at = 0; at < length - suffix.length; at += 1 + name[at]!) {
      const value = labelValue(name, at, bitsOfLabel);
      if (value === undefined) return undefined;
      values.unshift(value);
    }
    const bits = values.length * bitsOfLabel;
    if (bits >= size * BYTE_BITS) return undefined;
    const address = new Uint8Array(size);
    for (const [i, value] of values.entries()) {
      const at = i * bitsOfLabel;
      address[at >>> 3]! |= value << (BYTE_BITS - bitsOfLabel - (at & 7));
    }
    return { apex: name.slice(0, length), size, address, bits };
  }
  return undefined;
}

function labelValue(name: Uint8Array, at: number, bits: number): number | undefined {
  const text = Buffer.from(name.subarray(at + 1, at + 1 + name[at]!)).toString('latin1');
  if (bits === NIBBLE_BITS) {
    const value = text.length === 1 ? hexValue(text.charCodeAt(0)) : -1;
    return value < 0 ? undefined : value;
  }
  return /^(?:0|[1-9][0-9]{0,2})$/.test(text) && Number(text) <= 0xff ? Number(text) : undefined;
}

function hasAddress({ size, address, bits }: ReverseNetwork, bytes: string, at: number): boolean {
  for (let i = 0; i < size && i * BYTE_BITS < bits; i++) {
    const left = Math.min(BYTE_BITS, bits - i * BYTE_BITS);
    const mask = 0xff << (BYTE_BITS - left);
    if (((bytes.charCodeAt(at + i) ^ address[i]!) & mask & 0xff) !== 0) return false;
  }
  return true;
}

/** The PTR records of a network, as a zone: the secondary chooses which part of the reverse names it has. */
class ReverseZone implements TransferableZone {
  readonly apex: Uint8Array;
  readonly #network: ReverseNetwork;
  readonly #options: ClusterZonesOptions;

  constructor(network: ReverseNetwork, options: ClusterZonesOptions) {
    this.apex = network.apex;
    this.#network = network;
    this.#options = options;
  }

  /** Its serial is that of the cluster's zone: a change of an address is one of a service, too. */
  tellSoa(): Uint8Array {
    const { zone, negativeTtlSeconds: minimum } = this.#options;
    const told = zone.tellSoa();
    const serial = readUint32(told, told.length - SOA_SERIAL_FROM_END);
    const names = told.slice(0, -SOA_SERIAL_FROM_END);
    const rdata = encodeRdata({
      type: 'SOA',
      name: '.',
      data: { ...REVERSE_TIMES, mname: '.', rname: '.', serial, minimum },
    });
    return Buffer.concat([names, rdata.subarray(-SOA_SERIAL_FROM_END)]);
  }

  openView(): ZoneView {
    const { zone, ttlSeconds, ptr } = this.#options;
    const { apex } = this;
    const network = this.#network;
    const services = zone.openView();
    return {
      soaRdata: this.tellSoa(),
      close: () => services.close(),
      *records() {
        yield* apexRecords(apex, zone.apex, ttlSeconds);
        const names = namesIn(services.services(), network);
        for (const found of ptr === 'first' ? firstOf(names) : names) {
          yield (
            found && {
              owner: encodeReverseName(found.address),
              type: TYPE.PTR,
              ttlSeconds,
              rdata: found.name,
            }
          );
        }
      },
    };
  }
}

/** The order of the names of an address, see ReverseAnswerer. */
const RANK = { SERVICE: 0, HOSTNAME: 1, GENERATED: 2 } as const;

interface AddressName {
  readonly address: Uint8Array;
  readonly name: Uint8Array;
  readonly rank: number;
}

function* namesIn(
  states: Iterable<ServiceState>,
  network: ReverseNetwork,
): Generator<AddressName | undefined, void> {
  for (const state of states) {
    yield undefined;
    const { service, slices } = state;
    if (service === undefined || service.kind === 'external-name') continue;
    if (service.kind === 'cluster-ip') {
      const addresses = network.size === IPV4_BYTES ? service.ipv4 : service.ipv6;
      for (const address of addressesIn(addresses, network))
        yield { address: address.bytes, name: state.name, rank: RANK.SERVICE };
      continue;
    }
    const seen = slices.length > 1 ? new Set<string>() : undefined;
    for (const { groups } of slices) {
      for (const group of groups) {
        yield undefined;
        if (group.size !== network.size) continue;
        for (const { bytes, number } of addressesIn(group, network)) {
          const label = group.labels?.[number] ?? '';
          const key = `${label}/${Buffer.from(bytes).toString('latin1')}`;
          const name = seen?.has(key) === true ? undefined : hostName(group, number, state.name);
          seen?.add(key);
          if (name === undefined) continue;
          yield { address: bytes, name, rank: label === '' ? RANK.GENERATED : RANK.HOSTNAME };
        }
      }
    }
  }
}

function* addressesIn({ size, bytes }: PackedAddresses, network: ReverseNetwork) {
  for (let at = 0; at < bytes.length; at += size) {
    if (hasAddress(network, bytes, at))
      yield { bytes: addressAt(bytes, at, size), number: at / size };
  }
}

/** The first name of each address: known when all are read. */
function* firstOf(
  names: Iterable<AddressName | undefined>,
): Generator<AddressName | undefined, void> {
  const first = new Map<string, AddressName>();
  for (const found of names) {
    yield undefined;
    if (found === undefined) continue;
    const key = Buffer.from(found.address).toString('latin1');
    const other = first.get(key);
    if (other === undefined || isBefore(found, other)) first.set(key, found);
  }
  yield* first.values();
}

function isBefore(one: AddressName, other: AddressName): boolean {
  if (one.rank !== other.rank) return one.rank < other.rank;
  const end = Math.min(nameBytes(one.name), nameBytes(other.name));
  return Buffer.compare(one.name.subarray(0, end), other.name.subarray(0, end)) < 0;
}
