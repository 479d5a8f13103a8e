import { FNV_OFFSET, hashByte } from '@kube-dns/wire';
import type { EndpointGroup, EndpointSlice } from '../cluster/endpoint-slice.js';
import {
  addressNumbers,
  type AddressSize,
  countOf,
  IPV4_BYTES,
  IPV6_BYTES,
  type PackedAddresses,
} from '../cluster/packed-addresses.js';
import { equalPorts, joinPorts, type PortList } from '../cluster/ports.js';
import type { Service } from '../cluster/service.js';
import { addressHash, readHashLabel, isLabel } from './zone-names.js';

/** Maximum endpoints of a view: it is made within a millisecond. */
const MAX_VIEW_ENDPOINTS = 1_024;

/** Up to this number of slices a service has an array of that length: one that grew has memory for 16 more. */
const MAX_EXACT_SLICES = 16;
const NO_SLICES: EndpointSlice[] = [];

/** Maximum endpoints of one hostname: more do not fit into any message. */
const MAX_FOUND = 4_096;

/** An endpoint, by its group and its number there. */
export interface EndpointPlace {
  readonly group: EndpointGroup;
  readonly index: number;
}

/** A service of the zone with its endpoints; the endpoints may arrive before the Service object. */
export class ZoneService {
  /** `namespace/name`. */
  readonly key: string;
  /** Its number in the indexes of names and of addresses. */
  readonly number: number;
  service: Service | undefined;
  #slices: EndpointSlice[] = NO_SLICES;
  #view: EndpointView | undefined;
  #endpointCount = 0;

  constructor(key: string, number: number) {
    this.key = key;
    this.number = number;
  }

  get slices(): readonly EndpointSlice[] {
    return this.#slices;
  }

  get namespaceName(): string {
    return this.key.slice(0, this.key.indexOf('/'));
  }

  get isExternalName(): boolean {
    return this.service?.kind === 'external-name';
  }

  /** Whether its records come from its endpoints. */
  get isHeadless(): boolean {
    return this.service?.kind === 'headless';
  }

  /** The endpoints of all slices; one that is in two of them counts twice. */
  get endpointCount(): number {
    return this.#endpointCount;
  }

  /**
   * Whether it has more endpoints than a view can be made of for a question. It is answered from its slices:
   * records are picked from them by number, and a host is found by the hash of its label or the number of its address.
   */
  get isLarge(): boolean {
    return this.#endpointCount > MAX_VIEW_ENDPOINTS && this.isHeadless;
  }

  /** Whether it has neither a Service object nor slices. */
  get isEmpty(): boolean {
    return this.service === undefined && this.#slices.length === 0;
  }

  /** Its addresses of one family: its cluster addresses, or those of its endpoints when it is headless. */
  get ipv4(): PackedAddresses {
    return this.isHeadless ? this.view.ipv4 : this.service!.ipv4;
  }

  get ipv6(): PackedAddresses {
    return this.isHeadless ? this.view.ipv6 : this.service!.ipv6;
  }

  /**
   * Its hosts: the endpoints of a headless service, else its cluster addresses with generated labels.
   * Made at the first use after a change.
   */
  get view(): EndpointView {
    return (this.#view ??= this.makeView());
  }

  /** Makes a view for one use without storing it. */
  makeView(): EndpointView {
    return new EndpointView(this.#groups());
  }

  /** Whether one of its hosts may have the label at `at`, lower-cased in wire form; makes no view. */
  mayHaveHost(name: Uint8Array, at: number): boolean {
    return (
      this.#view !== undefined || this.#groups().some((group) => findLabel(group, name, at) >= 0)
    );
  }

  /** The endpoints of a large service whose label is the one at `at`, lower-cased in wire form. */
  endpointsOf(name: Uint8Array, at: number): readonly EndpointPlace[] {
    const found: EndpointPlace[] = [];
    for (const { groups } of this.#slices) {
      for (const group of groups) {
        const { hashes } = group;
        let index = findLabel(group, name, at, 0, hashes);
        for (; index >= 0; index = findLabel(group, name, at, index + 1, hashes)) {
          found.push({ group, index });
          if (found.length === MAX_FOUND) return found;
        }
      }
    }
    return found;
  }

  /** Sets the Service object; undefined when it was deleted. */
  put(service: Service | undefined): void {
    this.service = service;
    this.#view = undefined;
    if (this.isLarge) this.#indexEndpoints(this.#slices);
  }

  addSlice(slice: EndpointSlice): void {
    this.#share(slice);
    const wasLarge = this.isLarge;
    if (this.#slices.length >= MAX_EXACT_SLICES) this.#slices.push(slice);
    else this.#slices = [...this.#slices, slice];
    this.#endpointCount += endpointsIn(slice);
    this.#view = undefined;
    if (this.isLarge) this.#indexEndpoints(wasLarge ? [slice] : this.#slices);
  }

  dropSlice(slice: EndpointSlice): void {
    const at = this.#slices.indexOf(slice);
    if (at < 0) return;
    this.#slices.splice(at, 1);
    this.#endpointCount -= endpointsIn(slice);
    this.#view = undefined;
  }

  /** Whether any endpoint is ready. */
  hasEndpoints(): boolean {
    return this.#slices.some(({ groups }) => groups.length > 0);
  }

  #groups(): readonly EndpointGroup[] {
    const { service } = this;
    if (service === undefined || this.isHeadless) {
      return this.#slices.flatMap((slice) => slice.groups);
    }
    const { ipv4, ipv6, ports, ipv4Labels, ipv6Labels } = service;
    return [
      { ...ipv4, labels: ipv4Labels, ports },
      { ...ipv6, labels: ipv6Labels, ports },
    ];
  }

  /** A host of a large service is found by these, by its name or its address; a small one has a view for that. */
  #indexEndpoints(slices: readonly EndpointSlice[]): void {
    for (const { groups } of slices) {
      for (const group of groups) {
        group.hashes ??= labelHashes(group);
        group.numbers ??= addressNumbers(group);
      }
    }
  }

  /** Stores the service's key and equal ports once for all its slices. */
  #share(slice: EndpointSlice): void {
    slice.service = this.key;
    const ports = this.#slices[0]?.groups[0]?.ports;
    if (ports === undefined) return;
    for (const group of slice.groups) {
      if (equalPorts(group.ports, ports)) group.ports = ports;
    }
  }
}

function endpointsIn({ groups }: EndpointSlice): number {
  return groups.reduce((sum, group) => sum + countOf(group), 0);
}

const NONE = -1;

/**
 * The endpoints of one service as DNS sees them: distinct addresses, and hosts, which are the endpoints
 * that share a label (schema 1.1.0 section 2.4.1). Hosts and endpoints are numbers, so a hundred thousand
 * of them are a few arrays. A view is immutable: after a change the service makes another one.
 */
export class EndpointView {
  readonly ipv4: PackedAddresses;
  readonly ipv6: PackedAddresses;
  /** By host: its label, empty where it is generated; the hash of the generated label; its ports. */
  readonly #labels: string[] = [];
  readonly #hashes: Uint32Array;
  readonly #ports: PortList[] = [];
  /**
   * The numbers of addresses in `ipv4` and `ipv6`, grouped by host and family; `#bounds` has the begin of
   * each group.
   */
  readonly #endpoints: Int32Array;
  readonly #bounds: Int32Array;
  /** The hosts with a configured label. */
  readonly #byLabel: SlotTable;

  constructor(groups: readonly EndpointGroup[]) {
    const counts = { [IPV4_BYTES]: 0, [IPV6_BYTES]: 0 };
    let labelled = 0;
    for (const group of groups) {
      counts[group.size] += countOf(group);
      labelled += group.labels?.length ?? 0;
    }
    const total = counts[IPV4_BYTES] + counts[IPV6_BYTES];
    this.#hashes = new Uint32Array(total);
    this.#byLabel = new SlotTable(labelled);
    const families = {
      [IPV4_BYTES]: new Family(IPV4_BYTES, counts[IPV4_BYTES]),
      [IPV6_BYTES]: new Family(IPV6_BYTES, counts[IPV6_BYTES]),
    };
    const endpoints = this.#collect(groups, families, new Endpoints(total, labelled));
    this.#bounds = boundsOf(endpoints, this.hostCount);
    this.#endpoints = sortByHost(endpoints, this.#bounds);
    this.ipv4 = families[IPV4_BYTES].distinct.pack();
    this.ipv6 = families[IPV6_BYTES].distinct.pack();
  }

  get hostCount(): number {
    return this.#labels.length;
  }

  /** The label of a host, lower case; empty when it is generated from its hash. */
  labelOf(host: number): string {
    return this.#labels[host]!;
  }

  /** The hash of a host whose label is generated. */
  hashOf(host: number): number {
    return this.#hashes[host]!;
  }

  portsOf(host: number): PortList {
    return this.#ports[host]!;
  }

  addresses(size: AddressSize): PackedAddresses {
    return size === IPV4_BYTES ? this.ipv4 : this.ipv6;
  }

  /** The number of a host's addresses of one family. */
  countOf(host: number, size: AddressSize): number {
    const bound = boundOf(host, size);
    return this.#bounds[bound + 1]! - this.#bounds[bound]!;
  }

  /** The offset of a host's address number `i` in the addresses of the family. */
  offsetOf(host: number, size: AddressSize, i: number): number {
    return this.#endpoints[this.#bounds[boundOf(host, size)]! + i]! * size;
  }

  /** The host with this configured label, lower-cased in wire form at `at`; -1 when there is none. */
  hostOfLabel(name: Uint8Array, at: number): number {
    let slot = this.#byLabel.start(hashOfName(name, at));
    for (; this.#byLabel.at(slot) >= 0; slot = this.#byLabel.next(slot)) {
      const host = this.#byLabel.at(slot);
      if (isLabel(this.#labels[host]!, name, at)) return host;
    }
    return NONE;
  }

  /** The first host from `from` on whose generated label has this hash; -1 when there is none. */
  hostOfHash(hash: number, from: number): number {
    for (let host = from; host < this.#labels.length; host++) {
      if (this.#hashes[host] === hash && this.#labels[host] === '') return host;
    }
    return NONE;
  }

  #collect(
    groups: readonly EndpointGroup[],
    families: Record<AddressSize, Family>,
    endpoints: Endpoints,
  ): Endpoints {
    for (const { size, bytes, labels, ports } of groups) {
      const family = families[size];
      for (let i = 0, at = 0; at < bytes.length; i++, at += size) {
        const number = family.distinct.add(bytes, at);
        const label = labels === undefined ? '' : labels[i]!;
        let host = label === '' ? family.hosts[number]! : this.#hostOf(label, ports);
        if (host === NONE) {
          host = family.hosts[number] = this.#addHost('', addressHash(bytes, at, size), ports);
          endpoints.add(boundOf(host, size), number);
        } else if (label !== '') {
          endpoints.addOnce(boundOf(host, size), number);
        }
        this.#servePorts(host, ports);
      }
    }
    return endpoints;
  }

  /** Finds or adds the host with this label. */
  #hostOf(label: string, ports: PortList): number {
    let slot = this.#byLabel.start(hashOfText(label));
    for (; this.#byLabel.at(slot) >= 0; slot = this.#byLabel.next(slot)) {
      const host = this.#byLabel.at(slot);
      if (this.#labels[host] === label) return host;
    }
    const host = this.#addHost(label, 0, ports);
    this.#byLabel.put(slot, host);
    return host;
  }

  #addHost(label: string, hash: number, ports: PortList): number {
    const host = this.#labels.push(label) - 1;
    this.#hashes[host] = hash;
    this.#ports.push(ports);
    return host;
  }

  #joined: { left: PortList; right: PortList; both: PortList } | undefined;

  /** A host that is in several slices serves the ports of all of them. */
  #servePorts(host: number, right: PortList): void {
    const left = this.#ports[host]!;
    if (left === right) return;
    if (this.#joined?.left !== left || this.#joined.right !== right) {
      this.#joined = { left, right, both: joinPorts(left, right) };
    }
    this.#ports[host] = this.#joined.both;
  }
}

/** The addresses of one family while a view is made. */
class Family {
  readonly distinct: DistinctAddresses;
  /** The host of an address without a label, by the address number. */
  readonly hosts: Int32Array;

  constructor(size: AddressSize, capacity: number) {
    this.distinct = new DistinctAddresses(size, capacity);
    this.hosts = new Int32Array(capacity).fill(NONE);
  }
}

/** The endpoints of a view while it is made: distinct pairs of a host and an address. */
class Endpoints {
  count = 0;
  /** By endpoint: its bound, see boundOf; the number of its address in its family. */
  readonly bounds: Int32Array;
  readonly addresses: Int32Array;
  readonly #table: SlotTable;

  /** `labelled`: how many endpoints have a configured label, and so may be added twice. */
  constructor(capacity: number, labelled: number) {
    this.bounds = new Int32Array(capacity);
    this.addresses = new Int32Array(capacity);
    this.#table = new SlotTable(labelled);
  }

  add(bound: number, address: number): void {
    this.bounds[this.count] = bound;
    this.addresses[this.count++] = address;
  }

  /** Adds an endpoint unless it exists: the same endpoint may be in two slices. */
  addOnce(bound: number, address: number): void {
    let slot = this.#table.start(mix(mix(0, bound), address));
    for (; this.#table.at(slot) >= 0; slot = this.#table.next(slot)) {
      const endpoint = this.#table.at(slot);
      if (this.bounds[endpoint] === bound && this.addresses[endpoint] === address) return;
    }
    this.#table.put(slot, this.count);
    this.add(bound, address);
  }
}

/** The index in the bounds of a host's addresses of one family. */
function boundOf(host: number, size: AddressSize): number {
  return host * 2 + (size === IPV4_BYTES ? 0 : 1);
}

/** The begin of the endpoints of each bound after sorting, and the end of the last. */
function boundsOf({ bounds, count }: Endpoints, hosts: number): Int32Array {
  const starts = new Int32Array(hosts * 2 + 1);
  for (let i = 0; i < count; i++) starts[bounds[i]! + 1]!++;
  for (let i = 1; i < starts.length; i++) starts[i]! += starts[i - 1]!;
  return starts;
}

function sortByHost({ bounds, addresses, count }: Endpoints, starts: Int32Array): Int32Array {
  const sorted = new Int32Array(count);
  const next = starts.slice();
  for (let i = 0; i < count; i++) sorted[next[bounds[i]!]!++] = addresses[i]!;
  return sorted;
}

/** The hash of each endpoint's label: that of a generated one is the one that it encodes. */
export function labelHashes({ size, bytes, labels }: EndpointGroup): Uint32Array {
  const hashes = new Uint32Array(bytes.length / size);
  for (let i = 0; i < hashes.length; i++) {
    const label = labels?.[i] ?? '';
    hashes[i] = label === '' ? addressHash(bytes, i * size, size) : hashOfText(label);
  }
  return hashes;
}

/**
 * The first endpoint from `from` on with the label at `at`, lower-cased in wire form, configured or
 * generated; -1 when there is none. `hashes`: their `labelHashes`, where these are stored.
 */
export function findLabel(
  { size, bytes, labels }: EndpointGroup,
  name: Uint8Array,
  at: number,
  from = 0,
  hashes?: Uint32Array,
): number {
  const generated = readHashLabel(name, at);
  if (labels === undefined && generated < 0) return NONE;
  const configured = hashOfName(name, at);
  for (let i = from; i * size < bytes.length; i++) {
    if (hashes !== undefined && hashes[i] !== configured && hashes[i] !== generated) continue;
    const label = labels?.[i] ?? '';
    const isSame =
      label !== ''
        ? isLabel(label, name, at)
        : generated >= 0 && addressHash(bytes, i * size, size) === generated;
    if (isSame) return i;
  }
  return NONE;
}

/** The hash of the label at `at`, lower-cased in wire form. */
function hashOfName(name: Uint8Array, at: number): number {
  let hash = 0;
  for (let i = at + 1; i <= at + name[at]!; i++) hash = mix(hash, name[i]!);
  return hash >>> 0;
}

/** The same of a text. */
function hashOfText(label: string): number {
  let hash = 0;
  for (let i = 0; i < label.length; i++) hash = mix(hash, label.charCodeAt(i));
  return hash >>> 0;
}

function mix(hash: number, value: number): number {
  return Math.imul(hash ^ value, 0x9e37_79b1) ^ (hash >>> 13);
}

/** Collects the distinct addresses of one family in the order of their addition. */
export class DistinctAddresses {
  readonly #size: AddressSize;
  readonly #bytes: Buffer;
  readonly #table: SlotTable;
  #count = 0;

  constructor(size: AddressSize, capacity: number) {
    this.#size = size;
    this.#bytes = Buffer.allocUnsafe(size * capacity);
    this.#table = new SlotTable(capacity);
  }

  /** Returns the number of the address at `at`, a new number for a new address. */
  add(bytes: string, at: number): number {
    let slot = this.#table.start(this.#hash(bytes, at));
    for (; this.#table.at(slot) >= 0; slot = this.#table.next(slot)) {
      const number = this.#table.at(slot);
      if (this.#isAt(number, bytes, at)) return number;
    }
    this.#table.put(slot, this.#count);
    const start = this.#count * this.#size;
    for (let i = 0; i < this.#size; i++) this.#bytes[start + i] = bytes.charCodeAt(at + i);
    return this.#count++;
  }

  pack(): PackedAddresses {
    return { size: this.#size, bytes: this.#bytes.toString('latin1', 0, this.#count * this.#size) };
  }

  #isAt(number: number, bytes: string, at: number): boolean {
    const start = number * this.#size;
    for (let i = 0; i < this.#size; i++) {
      if (this.#bytes[start + i] !== bytes.charCodeAt(at + i)) return false;
    }
    return true;
  }

  #hash(bytes: string, at: number): number {
    let hash = FNV_OFFSET;
    for (let i = at; i < at + this.#size; i++) hash = hashByte(hash, bytes.charCodeAt(i));
    return hash;
  }
}

const MIN_SLOTS = 8;

/**
 * A hash table (open addressing) of numbers of entries that the caller stores. For a look-up the caller
 * walks from the slot of a hash to the matching number or an empty slot. At most half of it is full.
 */
export class SlotTable {
  /** The number plus one, or 0. */
  readonly #slots: Int32Array;
  readonly #mask: number;

  /** Holds up to `capacity` numbers. */
  constructor(capacity: number) {
    let slots = MIN_SLOTS;
    while (slots < capacity * 2) slots *= 2;
    this.#slots = new Int32Array(slots);
    this.#mask = slots - 1;
  }

  start(hash: number): number {
    return (hash ^ (hash >>> 15)) & this.#mask;
  }

  next(slot: number): number {
    return (slot + 1) & this.#mask;
  }

  /** The number in a slot; -1 in an empty one. */
  at(slot: number): number {
    return this.#slots[slot]! - 1;
  }

  put(slot: number, number: number): void {
    this.#slots[slot] = number + 1;
  }
}

/** Maximum endpoints looked at for one change; where they do not suffice, it counts as a change. */
const MAX_STEPS = 20_000;

/**
 * Whether a service has other endpoints after one of its slices was replaced by another: an endpoint may be in
 * two slices at a time, and moves from one to the other without a change of any answer. `others` are the
 * other slices of the service.
 */
export function areEndpointsChanged(
  before: EndpointSlice | undefined,
  after: EndpointSlice | undefined,
  others: readonly EndpointSlice[],
): boolean {
  return !areAllIn(after, before, others) || !areAllIn(before, after, others);
}

/** Whether all endpoints of a slice are in `first`, which is likely, or in one of the others. */
function areAllIn(
  slice: EndpointSlice | undefined,
  first: EndpointSlice | undefined,
  others: readonly EndpointSlice[],
): boolean {
  if (slice === undefined || slice.groups.length === 0) return true;
  const groups = [first?.groups ?? [], ...others.map((other) => other.groups)].flat();
  const search = new EndpointSearch(groups);
  return slice.groups.every((group) => {
    for (let i = 0; i < countOf(group); i++) if (!search.finds(group, i)) return false;
    return true;
  });
}

/** Finds endpoints that are mostly in the order in which they are looked for. */
class EndpointSearch {
  readonly #groups: readonly EndpointGroup[];
  /** Behind the last one that was found. */
  #at = 0;
  #index = 0;
  #steps = 0;

  constructor(groups: readonly EndpointGroup[]) {
    this.#groups = groups;
  }

  /** Whether an endpoint is there, with its label and its ports; false when the search takes too long. */
  finds(group: EndpointGroup, endpoint: number): boolean {
    // The first group is searched twice: from the last place on, and from its beginning.
    for (let turns = 0; turns <= this.#groups.length; turns++) {
      const candidate = this.#groups[this.#at];
      if (candidate !== undefined && this.#findsIn(candidate, group, endpoint)) return true;
      if (this.#steps >= MAX_STEPS) return false;
      this.#at = (this.#at + 1) % this.#groups.length;
      this.#index = 0;
    }
    return false;
  }

  #findsIn(candidate: EndpointGroup, group: EndpointGroup, endpoint: number): boolean {
    const { ports, size } = candidate;
    if (size !== group.size || !(ports === group.ports || equalPorts(ports, group.ports))) {
      return false;
    }
    for (const count = countOf(candidate); this.#index < count && this.#steps < MAX_STEPS;) {
      this.#steps++;
      if (isSameEndpoint(candidate, this.#index++, group, endpoint)) return true;
    }
    return false;
  }
}

function isSameEndpoint(left: EndpointGroup, i: number, right: EndpointGroup, j: number): boolean {
  const { size } = left;
  for (let byte = 0; byte < size; byte++) {
    if (left.bytes.charCodeAt(i * size + byte) !== right.bytes.charCodeAt(j * size + byte)) {
      return false;
    }
  }
  return (left.labels?.[i] ?? '') === (right.labels?.[j] ?? '');
}
