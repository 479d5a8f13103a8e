import {
  addressNumbers,
  type AddressSize,
  countOf,
  type EndpointGroup,
  type EndpointSlice,
  equalPorts,
  IPV4_BYTES,
  IPV6_BYTES,
  joinPorts,
  type PackedAddresses,
  type PortList,
  type Service,
} from '../watch/projections.js';
import {
  addressHash,
  isLabel,
  readHashLabel,
  writeHashLabel,
  writeTextLabel,
} from './zone-names.js';

/** Maximum endpoints of a set that is made for a question: that takes less than a millisecond. */
export const MAX_SET_ENDPOINTS = 1_024;
/** Up to this number of slices a service has an array of that length: one that grew has memory for 16 more. */
const MAX_EXACT_SLICES = 16;
const NO_SLICES: EndpointSlice[] = [];

/**
 * A service of the zone with its endpoints; the endpoints may arrive before the Service object. Its endpoints are stored
 * as the groups of its slices, and are read in one of two ways, see Hosts: as an EndpointSet, or as these groups.
 */
export class ZoneService {
  /** `namespace/name`. */
  readonly key: string;
  /** Its number in the indexes of names and of addresses. */
  readonly number: number;
  /** Where it is in the lists of all services and of those of its namespace. */
  placeInZone = 0;
  placeInNamespace = 0;
  service: Service | undefined;
  #slices: EndpointSlice[] = NO_SLICES;
  #endpoints: EndpointSet | undefined;
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

  /** The ready endpoints of all slices; one that is in two of them counts twice. */
  get endpointCount(): number {
    return this.#endpointCount;
  }

  /** Whether any endpoint is ready. */
  get hasEndpoints(): boolean {
    return this.#endpointCount > 0;
  }

  /** Whether it has more endpoints than a set can be made of for a question; the groups then have indexes. */
  get isLarge(): boolean {
    return this.#endpointCount > MAX_SET_ENDPOINTS && this.isHeadless;
  }

  /** Whether it has neither a Service object nor slices. */
  get isEmpty(): boolean {
    return this.service === undefined && this.#slices.length === 0;
  }

  /**
   * Its hosts: the endpoints of a headless service, else its cluster addresses with generated labels.
   * Made at the first use after a change.
   */
  get endpoints(): EndpointSet {
    return (this.#endpoints ??= this.makeSet());
  }

  /** The set of those endpoints that are in a zone of the cloud. It is stored with the set of all. */
  endpointsOfZone(zone: string): EndpointSet {
    const sets = (this.endpoints.byZone ??= new Map<string, EndpointSet>());
    let set = sets.get(zone);
    if (set === undefined) {
      set = this.makeSet(zone);
      sets.set(zone, set);
    }
    return set;
  }

  /** Makes the set, of one zone where that is given, for one use without storing it. */
  makeSet(zone?: string): EndpointSet {
    const groups = this.#groups();
    return new EndpointSet(
      zone === undefined ? groups : groups.filter((group) => group.zone === zone),
    );
  }

  /** The set, where a host of it may have the label at `at`, lower-cased in wire form: no other label makes one. */
  endpointsWith(name: Uint8Array, at: number): EndpointSet | undefined {
    if (this.#endpoints !== undefined) return this.#endpoints;
    const isThere = this.#groups().some((group) => findEndpoint(group, name, at, 0) >= 0);
    return isThere ? this.endpoints : undefined;
  }

  /** Its addresses of one family: its cluster addresses, or those of its endpoints when it is headless. */
  addresses(size: AddressSize): PackedAddresses {
    if (this.isHeadless) return this.endpoints.addresses(size);
    return size === IPV4_BYTES ? this.service!.ipv4 : this.service!.ipv6;
  }

  /** Sets the Service object; undefined when it was deleted. */
  put(service: Service | undefined): void {
    this.service = service;
    this.#endpoints = undefined;
    if (this.isLarge) indexHosts(this.#slices);
  }

  addSlice(slice: EndpointSlice): void {
    this.#share(slice);
    const wasLarge = this.isLarge;
    if (this.#slices.length >= MAX_EXACT_SLICES) this.#slices.push(slice);
    else this.#slices = [...this.#slices, slice];
    this.#endpointCount += endpointsIn(slice);
    this.#endpoints = undefined;
    if (this.isLarge) indexHosts(wasLarge ? [slice] : this.#slices);
  }

  dropSlice(slice: EndpointSlice): void {
    const at = this.#slices.indexOf(slice);
    if (at < 0) return;
    this.#slices.splice(at, 1);
    this.#endpointCount -= endpointsIn(slice);
    this.#endpoints = undefined;
  }

  /**
   * Whether it has other endpoints since one state of a slice was replaced by another: an endpoint may be in two slices
   * at a time, and moves from one to the other without a change of any answer.
   */
  isChangedBy(before: EndpointSlice | undefined, after: EndpointSlice | undefined): boolean {
    const others = this.#slices.filter((slice) => slice !== after);
    return !areAllIn(after, before, others) || !areAllIn(before, after, others);
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

/**
 * The endpoints of one service as DNS sees them, each once: distinct addresses, and hosts, which are the endpoints
 * that share a label (schema 1.1.0 section 2.4.1). Both are numbers, so a hundred thousand of them are a few arrays.
 * A set is immutable: after a change the service makes another one.
 */
export class EndpointSet {
  readonly #ipv4: PackedAddresses;
  readonly #ipv6: PackedAddresses;
  /** By host: its label, lower case, empty where it is generated; the hash of its label, see labelHash; its ports. */
  readonly labels: string[] = [];
  readonly hashes: Uint32Array;
  readonly #ports: PortList[] = [];
  /** A hash table (open addressing): a host plus one, by the hash of its label; 0 for none. Half of it is empty. */
  readonly #slots: Int32Array;
  /** The numbers of the addresses of all hosts, grouped by slot: a host and a family. `#starts`: where each group begins. */
  readonly numbers: Int32Array;
  readonly #starts: Int32Array;
  /** Sets of single zones, as they are asked for: these change when this one does. */
  byZone: Map<string, EndpointSet> | undefined;

  constructor(groups: readonly EndpointGroup[]) {
    const families = { [IPV4_BYTES]: new Family(), [IPV6_BYTES]: new Family() };
    const total = groups.reduce((sum, group) => sum + countOf(group), 0);
    const hashes = new Uint32Array(total);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(1, total) * 2)));
    /** Slot × total + number of the address: each endpoint once, though it may be in two slices. */
    const endpoints: number[] = [];
    /** The same, since a configured label was there twice: before that no endpoint can be. */
    let known: Set<number> | undefined;
    let joined: { left: PortList; right: PortList; both: PortList } | undefined;
    for (const group of groups) {
      const { size, bytes, ports } = group;
      const family = families[size];
      for (let i = 0, at = 0; at < bytes.length; i++, at += size) {
        const label = group.labels?.[i] ?? '';
        const address = family.numberOf(bytes.slice(at, at + size));
        const hash = labelHash(group, i);
        const existing = label === '' ? (family.hosts[address] ?? -1) : this.#hostOf(label, hash);
        const host = existing >= 0 ? existing : this.labels.push(label) - 1;
        const endpoint = slotOf(host, size) * total + address;
        if (existing >= 0 && label !== '') known ??= new Set(endpoints);
        if (existing < 0 || known?.has(endpoint) === false) endpoints.push(endpoint);
        known?.add(endpoint);
        if (existing < 0) {
          hashes[host] = hash;
          this.#ports.push(ports);
          this.#slots[this.#emptySlot(hash)] = host + 1;
          if (label === '') family.hosts[address] = host;
        } else if (this.#ports[host] !== ports) {
          // A host that is in several slices serves the ports of all of them.
          const left = this.#ports[host]!;
          if (joined?.left !== left || joined.right !== ports) {
            joined = { left, right: ports, both: joinPorts(left, ports) };
          }
          this.#ports[host] = joined.both;
        }
      }
    }
    this.hashes = hashes;
    this.#starts = new Int32Array(this.hostCount * 2 + 1);
    for (const endpoint of endpoints) this.#starts[Math.floor(endpoint / total) + 1]!++;
    for (let i = 1; i < this.#starts.length; i++) this.#starts[i]! += this.#starts[i - 1]!;
    this.numbers = new Int32Array(endpoints.length);
    const next = this.#starts.slice();
    for (const endpoint of endpoints) {
      this.numbers[next[Math.floor(endpoint / total)]!++] = endpoint % total;
    }
    this.#ipv4 = families[IPV4_BYTES].pack(IPV4_BYTES);
    this.#ipv6 = families[IPV6_BYTES].pack(IPV6_BYTES);
  }

  get hostCount(): number {
    return this.labels.length;
  }

  portsOf(host: number): PortList {
    return this.#ports[host]!;
  }

  /**
   * The host with the label at `at`, lower-cased in wire form: the one that is configured so, else the first one whose
   * generated label it is; -1 when there is none.
   */
  find(name: Uint8Array, at: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = this.#firstSlot(hashOfName(name, at)); ; slot = (slot + 1) & mask) {
      const host = slots[slot]! - 1;
      if (host < 0) break;
      if (isLabel(this.labels[host]!, name, at)) return host;
    }
    const generated = readHashLabel(name, at);
    if (generated < 0) return -1;
    for (let slot = this.#firstSlot(generated); ; slot = (slot + 1) & mask) {
      const host = slots[slot]! - 1;
      if (host < 0) return -1;
      if (this.hashes[host] === generated && this.labels[host] === '') return host;
    }
  }

  /** The next host with the same generated label; -1 when there is none. */
  findNext(host: number): number {
    if (this.labels[host] !== '') return -1;
    let next = this.hashes.indexOf(this.hashes[host]!, host + 1);
    while (next >= 0 && this.labels[next] !== '') {
      next = this.hashes.indexOf(this.hashes[host]!, next + 1);
    }
    return next;
  }

  addresses(size: AddressSize): PackedAddresses {
    return size === IPV4_BYTES ? this.#ipv4 : this.#ipv6;
  }

  /** Where the addresses of a host and a family begin in `numbers`. */
  startOf(host: number, size: AddressSize): number {
    return this.#starts[slotOf(host, size)]!;
  }

  endOf(host: number, size: AddressSize): number {
    return this.#starts[slotOf(host, size) + 1]!;
  }

  /** The host with this configured label; -1 when there is none. */
  #hostOf(label: string, hash: number): number {
    const slots = this.#slots;
    let slot = this.#firstSlot(hash);
    while (slots[slot] !== 0 && this.labels[slots[slot]! - 1] !== label) {
      slot = (slot + 1) & (slots.length - 1);
    }
    return slots[slot]! - 1;
  }

  #firstSlot(hash: number): number {
    return (hash ^ (hash >>> 15)) & (this.#slots.length - 1);
  }

  #emptySlot(hash: number): number {
    let slot = this.#firstSlot(hash);
    while (this.#slots[slot] !== 0) slot = (slot + 1) & (this.#slots.length - 1);
    return slot;
  }
}

/** The addresses of one family while a set is made. */
class Family {
  readonly #numbers = new Map<string, number>();
  /** The host of an address without a label, by the number of the address. */
  readonly hosts: number[] = [];

  /** The number of an address, a new number for a new address. */
  numberOf(address: string): number {
    const existing = this.#numbers.get(address);
    if (existing !== undefined) return existing;
    this.#numbers.set(address, this.#numbers.size);
    return this.#numbers.size - 1;
  }

  pack(size: AddressSize): PackedAddresses {
    return { size, bytes: [...this.#numbers.keys()].join('') };
  }
}

function slotOf(host: number, size: AddressSize): number {
  return host * 2 + (size === IPV4_BYTES ? 0 : 1);
}

/** Hosts by number: those of a set, or the endpoints of a group of a slice, each of which is a host there. */
export type Hosts = EndpointSet | EndpointGroup;

/** The ports of a host. */
export function portsOf(hosts: Hosts, host: number): PortList {
  return hosts instanceof EndpointSet ? hosts.portsOf(host) : hosts.ports;
}

/** Writes the label of a host, its length byte first; returns the bytes written. */
export function writeHostLabel(hosts: Hosts, host: number, out: Uint8Array, at: number): number {
  const label = hosts.labels?.[host] ?? '';
  if (label !== '') return writeTextLabel(label, out, at);
  return writeHashLabel(generatedHash(hosts, host), out, at);
}

/**
 * The first endpoint of a group from `from` on with the label at `at`, lower-cased in wire form, configured or generated;
 * -1 when there is none.
 */
export function findEndpoint(
  group: EndpointGroup,
  name: Uint8Array,
  at: number,
  from: number,
): number {
  const { labels, hashes } = group;
  const generated = readHashLabel(name, at);
  if (labels === undefined && generated < 0) return -1;
  const configured = hashOfName(name, at);
  const count = countOf(group);
  for (let i = from; i < count; i++) {
    if (hashes !== undefined) {
      i = indexOfEither(hashes, configured, generated, i);
      if (i < 0) return -1;
    }
    const label = labels?.[i] ?? '';
    const isFound =
      label === ''
        ? generated >= 0 && generatedHash(group, i) === generated
        : isLabel(label, name, at);
    if (isFound) return i;
  }
  return -1;
}

/** The first index from `from` on of one of two hashes, of which the second may be -1; -1 when there is none. */
function indexOfEither(hashes: Uint32Array, left: number, right: number, from: number): number {
  const leftAt = hashes.indexOf(left, from);
  const rightAt = right < 0 ? -1 : hashes.indexOf(right, from);
  return leftAt < 0 || (rightAt >= 0 && rightAt < leftAt) ? rightAt : leftAt;
}

/** A host of a large service is found by these, by its name or its address. */
function indexHosts(slices: readonly EndpointSlice[]): void {
  for (const { groups } of slices) {
    for (const group of groups) {
      group.hashes ??= Uint32Array.from({ length: countOf(group) }, (_, i) => labelHash(group, i));
      group.numbers ??= addressNumbers(group);
    }
  }
}

/** The hash of the label of an endpoint: of a generated one the hash that it encodes. */
function labelHash(group: EndpointGroup, i: number): number {
  const label = group.labels?.[i] ?? '';
  return label === '' ? addressHash(group.bytes, i * group.size, group.size) : hashOfText(label);
}

/** The hash that the generated label of a host encodes. */
function generatedHash(hosts: Hosts, host: number): number {
  if (hosts instanceof EndpointSet) return hosts.hashes[host]!;
  return hosts.hashes?.[host] ?? addressHash(hosts.bytes, host * hosts.size, hosts.size);
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

/** Maximum endpoints looked at for one change; where they do not suffice, it counts as a change. */
const MAX_STEPS = 20_000;

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
    if (
      size !== group.size ||
      candidate.zone !== group.zone ||
      !(ports === group.ports || equalPorts(ports, group.ports))
    ) {
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
