import { MAX_NAME_BYTES, type ResourceRecord, TYPE, writeUint16 } from '@kube-dns/wire';
import { SRV_PRIORITY, SRV_TOTAL_WEIGHT } from '../answer/service-answerer.js';
import {
  type AddressSize,
  countOf,
  type EndpointGroup,
  IPV4_BYTES,
  IPV6_BYTES,
  type PackedAddresses,
  type PortList,
} from '../watch/projections.js';
import type { ServiceState } from '../zone/cluster-view.js';
import { addressType, MAX_LABEL_BYTES, writeTextLabel } from '../zone/zone-names.js';
import { type EndpointSet, type Hosts, writeHostLabel, ZoneService } from '../zone/zone-service.js';

const SRV_FIXED_BYTES = 6;
/** The port in the SRV record of a service without ports. */
const NO_PORTS = [0];
const FAMILIES = [IPV4_BYTES, IPV6_BYTES] as const;
const UNDERSCORE = '_';
/** No number of a service that is in an index. */
const NO_NUMBER = -1;

/** A record, or none: see `ZoneView`. */
export type Records = Generator<ResourceRecord | undefined, void>;

/** A service in this state, apart from its zone. */
function serviceIn({ service, slices }: ServiceState): ZoneService {
  const entry = new ZoneService(slices[0]?.service ?? '', NO_NUMBER);
  entry.put(service);
  for (const slice of slices) entry.addSlice(slice);
  return entry;
}

/**
 * Every record that a service and the names below it are answered with, see ServiceAnswerer: addresses, a CNAME, SRV of the
 * service, of each host, and of named ports.
 */
export function* serviceRecords(state: ServiceState, ttlSeconds: number): Records {
  const entry = serviceIn(state);
  const { service } = entry;
  if (service === undefined || (entry.isHeadless && !entry.hasEndpoints)) return;
  if (service.cname !== undefined) {
    yield { owner: state.name, type: TYPE.CNAME, ttlSeconds, rdata: service.cname };
    return;
  }
  const writing = { name: state.name, ttlSeconds };
  if (entry.isLarge) yield* recordsOfLarge(entry, writing);
  else yield* recordsOfSet(entry, writing);
}

interface Writing {
  readonly name: Uint8Array;
  readonly ttlSeconds: number;
}

function* recordsOfSet(entry: ZoneService, { name, ttlSeconds }: Writing): Records {
  const set = entry.makeSet();
  for (const size of FAMILIES) {
    yield* addressRecords(name, set.addresses(size), ttlSeconds);
  }
  const all: Target[] = [];
  for (let host = 0; host < set.hostCount; host++) {
    const owner = hostName(set, host, name);
    const ports = set.portsOf(host);
    const first = owner === undefined ? host : set.find(owner, 0);
    // Another host has this name: the records with it as a target are there.
    const target = first === host ? owner : undefined;
    all.push({ name: entry.isHeadless ? target : name, ports });
    // A configured label is no other host's.
    if (owner === undefined || (first !== host && set.labels[first] !== '')) continue;
    yield* hostAddresses(set, host, owner, ttlSeconds);
    if (target === undefined) continue;
    yield* srvRecords(owner, [{ name: owner, ports }], ttlSeconds);
    yield* portRecords(owner, [{ name: owner, ports }], name, ttlSeconds);
  }
  // A service that is not headless is the target of all of its records.
  const targets = entry.isHeadless ? all : [{ name, ports: entry.service!.ports }];
  yield* srvRecords(name, targets, ttlSeconds);
  yield* portRecords(undefined, targets, name, ttlSeconds);
}

function* hostAddresses(set: EndpointSet, host: number, owner: Uint8Array, ttl: number): Records {
  for (const size of FAMILIES) {
    const end = set.endOf(host, size);
    for (let i = set.startOf(host, size); i < end; i++)
      yield addressRecord(owner, set.addresses(size), set.numbers[i]!, ttl);
  }
}

/** A target of SRV records; one without a name, which would be too long, counts for the weight of the others. */
interface Target {
  readonly name: Uint8Array | undefined;
  readonly ports: PortList;
}

/** SRV of each number of a port. */
export function* srvRecords(owner: Uint8Array, targets: readonly Target[], ttl: number): Records {
  const weight = weightOf(targets.reduce((sum, { ports }) => sum + numbersOf(ports).length, 0));
  for (const { name, ports } of targets) {
    if (name === undefined) continue;
    for (const port of numbersOf(ports))
      yield srvRecord(owner, { weight, port, target: name }, ttl);
  }
}

/** SRV of named ports: `[H.]_PORT._PROTOCOL.S.N`. */
export function* portRecords(
  host: Uint8Array | undefined,
  targets: readonly Target[],
  name: Uint8Array,
  ttl: number,
): Records {
  const byName = new Map<string, { target: Uint8Array | undefined; port: number }[]>();
  for (const { name: target, ports } of targets) {
    for (const { name: portName, protocol, port } of ports.ports) {
      if (portName === '') continue;
      const key = `${portName}/${protocol}`;
      const found = byName.get(key);
      if (found === undefined) byName.set(key, [{ target, port }]);
      else found.push({ target, port });
    }
  }
  for (const [key, found] of byName) {
    const owner = portOwner(host, key, name);
    if (owner === undefined) continue;
    const weight = weightOf(found.length);
    for (const { target, port } of found)
      if (target !== undefined) yield srvRecord(owner, { weight, port, target }, ttl);
  }
}

/**
 * The same of a service whose set of endpoints would take too long to be made in one turn: out of the groups of its slices, of
 * which an endpoint may be in two.
 */
function* recordsOfLarge(entry: ZoneService, { name, ttlSeconds }: Writing): Records {
  const groups = entry.slices.flatMap((slice) => slice.groups);
  /** How often a configured label is there, in both families or in two slices: its records share their weight. */
  const times = new Map<string, number>();
  const targets = new Map<string, number>();
  let count = 0;
  for (const group of groups) {
    yield undefined;
    count += countOf(group) * numbersOf(group.ports).length;
    for (const { name: port, protocol } of group.ports.ports) {
      const key = `${port}/${protocol}`;
      targets.set(key, (targets.get(key) ?? 0) + countOf(group));
    }
    for (const label of group.labels ?? [])
      if (label !== '') times.set(label, (times.get(label) ?? 0) + 1);
  }
  const repeated = new RepeatedEndpoints(groups);
  for (const group of groups) yield* repeated.addAll(group);
  const seen = new Seen();
  for (const group of groups) {
    const { size, bytes, labels, ports } = group;
    const numbers = numbersOf(ports);
    for (let i = 0; i < countOf(group); i++) {
      yield undefined;
      seen.isNeeded = repeated.mayHave(group, i);
      const address = bytes.slice(i * size, (i + 1) * size);
      const label = labels?.[i] ?? '';
      const owner = hostName(group, i, name);
      if (seen.add(address)) yield addressRecord(name, group, i, ttlSeconds);
      if (owner === undefined) continue;
      const host = Buffer.from(owner.subarray(0, 1 + owner[0]!)).toString('latin1');
      if (seen.add(`${host}/${address}`)) yield addressRecord(owner, group, i, ttlSeconds);
      const share = times.get(label) ?? 1;
      for (const port of numbers) {
        if (!seen.add(`${host}:${port}`)) continue;
        const weight = weightOf(count);
        yield srvRecord(name, { weight, port, target: owner }, ttlSeconds);
        const ofHost = weightOf(share * numbers.length);
        yield srvRecord(owner, { weight: ofHost, port, target: owner }, ttlSeconds);
      }
      for (const { name: portName, protocol, port } of ports.ports) {
        const key = `${portName}/${protocol}`;
        if (portName === '' || !seen.add(`${host}:${key}:${port}`)) continue;
        const ofPort = { weight: weightOf(targets.get(key)!), port, target: owner };
        const ofService = portOwner(undefined, key, name);
        if (ofService !== undefined) yield srvRecord(ofService, ofPort, ttlSeconds);
        const below = portOwner(owner, key, name);
        const ofHost = { weight: weightOf(share), port, target: owner };
        if (below !== undefined) yield srvRecord(below, ofHost, ttlSeconds);
      }
    }
  }
}

/** For so many endpoints one of sixteen has the bit of another one by chance. */
const BITS_PER_ENDPOINT = 16;
/** Spreads numbers (Knuth): addresses differ in a few bits. */
const SPREAD = 0x9e37_79b1;

/**
 * Which endpoints of a large service may be there twice, or share a label, in two bits for each: to know what was sent of the others
 * would take as much memory as the records themselves.
 */
class RepeatedEndpoints {
  readonly #shift: number;
  readonly #once: Uint8Array;
  readonly #again: Uint8Array;

  constructor(groups: readonly EndpointGroup[]) {
    const total = groups.reduce((sum, group) => sum + countOf(group), 0);
    const bits = Math.max(3, Math.ceil(Math.log2(Math.max(1, total) * BITS_PER_ENDPOINT)));
    this.#shift = 32 - bits;
    this.#once = new Uint8Array(2 ** (bits - 3));
    this.#again = new Uint8Array(2 ** (bits - 3));
  }

  /** Adds the endpoints of a group. */
  *addAll(group: EndpointGroup): Generator<undefined, void> {
    for (let i = 0; i < countOf(group); i++) {
      yield undefined;
      this.#add(this.#bitOf(group.numbers![i]!));
      this.#add(this.#bitOf(~group.hashes![i]!));
    }
  }

  mayHave(group: EndpointGroup, i: number): boolean {
    const again = this.#again;
    return (
      hasBit(again, this.#bitOf(group.numbers![i]!)) ||
      hasBit(again, this.#bitOf(~group.hashes![i]!))
    );
  }

  #add(bit: number): void {
    const bits = hasBit(this.#once, bit) ? this.#again : this.#once;
    bits[bit >>> 3]! |= 1 << (bit & 7);
  }

  #bitOf(number: number): number {
    return Math.imul(number, SPREAD) >>> this.#shift;
  }
}

function hasBit(bits: Uint8Array, bit: number): boolean {
  return (bits[bit >>> 3]! & (1 << (bit & 7))) !== 0;
}

/** What a large service had so far of endpoints that may be there twice. */
class Seen {
  /** Whether the endpoint of the next keys is one of these. */
  isNeeded = true;
  readonly #keys = new Set<string>();

  /** False when it was added before. */
  add(key: string): boolean {
    if (!this.isNeeded) return true;
    const before = this.#keys.size;
    return this.#keys.add(key).size > before;
  }
}

function numbersOf({ numbers }: PortList): readonly number[] {
  return numbers.length === 0 ? NO_PORTS : numbers;
}

function weightOf(records: number): number {
  return Math.floor(SRV_TOTAL_WEIGHT / records);
}

/** The name of a host of a service; undefined when it is too long. */
export function hostName(hosts: Hosts, host: number, service: Uint8Array): Uint8Array | undefined {
  const label = new Uint8Array(MAX_LABEL_BYTES);
  return below(label.subarray(0, writeHostLabel(hosts, host, label, 0)), service);
}

/** `[H.]_PORT._PROTOCOL.S.N`, of a key `PORT/PROTOCOL`; undefined when it, or a label, is too long. */
export function portOwner(
  host: Uint8Array | undefined,
  key: string,
  service: Uint8Array,
): Uint8Array | undefined {
  const [port = '', protocol = ''] = key.split('/');
  const labels = [UNDERSCORE + port, UNDERSCORE + protocol];
  if (labels.some((label) => label.length >= MAX_LABEL_BYTES)) return undefined;
  const bytes = new Uint8Array(labels.reduce((sum, label) => sum + 1 + label.length, 0));
  let at = 0;
  for (const label of labels) at += writeTextLabel(label, bytes, at);
  const name = below(bytes, service);
  return host === undefined || name === undefined
    ? name
    : below(host.subarray(0, 1 + host[0]!), name);
}

function below(labels: Uint8Array, name: Uint8Array): Uint8Array | undefined {
  if (labels.length + name.length > MAX_NAME_BYTES) return undefined;
  const all = new Uint8Array(labels.length + name.length);
  all.set(labels);
  all.set(name, labels.length);
  return all;
}

/** A or AAAA of all of these. */
export function* addressRecords(
  owner: Uint8Array,
  addresses: PackedAddresses,
  ttl: number,
): Records {
  for (let i = 0; i < countOf(addresses); i++) yield addressRecord(owner, addresses, i, ttl);
}

function addressRecord(
  owner: Uint8Array,
  { size, bytes }: PackedAddresses,
  i: number,
  ttlSeconds: number,
): ResourceRecord {
  return { owner, type: addressType(size), ttlSeconds, rdata: addressAt(bytes, i * size, size) };
}

/** The bytes of an address out of packed ones. */
export function addressAt(bytes: string, at: number, size: AddressSize): Uint8Array {
  const address = new Uint8Array(size);
  for (let i = 0; i < size; i++) address[i] = bytes.charCodeAt(at + i);
  return address;
}

/** An SRV record with the priority of all. */
export function srvRecord(
  owner: Uint8Array,
  { weight, port, target }: { weight: number; port: number; target: Uint8Array },
  ttlSeconds: number,
): ResourceRecord {
  const rdata = new Uint8Array(SRV_FIXED_BYTES + target.length);
  writeUint16(rdata, 0, SRV_PRIORITY);
  writeUint16(rdata, 2, weight);
  writeUint16(rdata, 4, port);
  rdata.set(target, SRV_FIXED_BYTES);
  return { owner, type: TYPE.SRV, ttlSeconds, rdata };
}
