import {
  type AddressSize,
  countOf,
  type EndpointGroup,
  IPV4_BYTES,
  IPV6_BYTES,
  joinPorts,
  type PackedAddresses,
  type PortList,
} from '../watch/projections.js';
import { DistinctAddresses } from './distinct-addresses.js';
import { addressHash, readHashLabel } from './endpoint-name.js';
import { SlotTable } from './slot-table.js';

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

/** Whether the label at `at`, lower-cased in wire form, is this text. */
export function isLabel(text: string, name: Uint8Array, at: number): boolean {
  if (name[at] !== text.length) return false;
  for (let i = 0; i < text.length; i++) {
    if (name[at + 1 + i] !== text.charCodeAt(i)) return false;
  }
  return true;
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
