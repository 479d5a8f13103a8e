import { NameTable, TYPE } from '@kube-dns/wire';
import { reverseName } from '../options/reverse-zone.js';
import { addAncestors } from './static-records.js';
import type { FoundRecords } from './found-records.js';

/** The addresses of one name. IPv4 ones are numbers: 100,000 small arrays of bytes would be many. */
interface Host {
  readonly ipv4: number[];
  readonly ipv6: Uint8Array[];
}

/** Names of long lists are cut from blocks of this size, for each array of bytes costs 100 bytes more. */
const BLOCK_BYTES = 65_536;
const IPV4_BYTES = 4;
/** As many addresses of one family as a name has; more would not fit an answer over UDP anyway. */
const MAX_ADDRESSES = 1_024;

/**
 * The names and addresses of hosts files. It is filled once and never changed: reading the files again
 * makes a new one.
 */
export class HostsTable {
  readonly #hosts = new NameTable<Host>();
  readonly #reverseIpv4 = new Map<number, Uint8Array>();
  readonly #reverseIpv6 = new NameTable<Uint8Array>();
  #block = new Uint8Array(BLOCK_BYTES);
  #blockUsed = 0;
  /** Where `find` writes the IPv4 addresses that it gives away; as many as were ever found at once. */
  readonly #shown: Uint8Array[] = [];

  get size(): number {
    return this.#hosts.size;
  }

  /**
   * Adds a name (lower-cased `key` and as it was written) with an address in wire form. The first name
   * of an address is its reverse; an address that the name has already is passed over, and so are those
   * beyond MAX_ADDRESSES.
   */
  add(key: Uint8Array, written: Uint8Array, address: Uint8Array): void {
    let host = this.#hosts.get(key, 0, key.length);
    let shown: Uint8Array | undefined;
    if (host === undefined || host === NOTHING) {
      host = { ipv4: [], ipv6: [] };
      shown = this.#keep(key);
      this.#hosts.set(shown, host);
      addAncestors(this.#hosts, shown, NOTHING);
    }
    if (shown === undefined || Buffer.compare(key, written) !== 0) shown = this.#keep(written);
    if (address.length === IPV4_BYTES) this.#addIpv4(host, ipv4Number(address), shown);
    else this.#addIpv6(host, address, shown);
  }

  /** Tells whether there are hosts at the name or below it. */
  knows(name: Uint8Array, start: number, end: number): boolean {
    return this.#hosts.get(name, start, end) !== undefined;
  }

  /** Tells whether the name has addresses of either family. */
  hasHost(name: Uint8Array, start: number, end: number): boolean {
    const host = this.#hosts.get(name, start, end);
    return host !== undefined && host !== NOTHING;
  }

  /** Adds the addresses of a type to `found`; those of IPv4 hold until the next `find`. */
  find(
    name: Uint8Array,
    start: number,
    end: number,
    type: number,
    ttlSeconds: number,
    found: FoundRecords,
  ): void {
    const host = this.#hosts.get(name, start, end);
    if (host === undefined) return;
    if (type === TYPE.A) {
      for (let i = 0; i < host.ipv4.length; i++)
        found.add(this.#show(i, host.ipv4[i]!), ttlSeconds);
    } else if (type === TYPE.AAAA) {
      for (const address of host.ipv6) found.add(address, ttlSeconds);
    }
  }

  /** The name of an IPv4 address. */
  nameOfIpv4(address: number): Uint8Array | undefined {
    return this.#reverseIpv4.get(address);
  }

  /** The name of an IPv6 address, by its reverse name. */
  nameOfIpv6(name: Uint8Array, length: number): Uint8Array | undefined {
    return this.#reverseIpv6.get(name, 0, length);
  }

  #addIpv4(host: Host, address: number, name: Uint8Array): void {
    const { ipv4 } = host;
    if (ipv4.length < MAX_ADDRESSES && !ipv4.includes(address)) ipv4.push(address);
    if (!this.#reverseIpv4.has(address)) this.#reverseIpv4.set(address, name);
  }

  #addIpv6(host: Host, address: Uint8Array, name: Uint8Array): void {
    const { ipv6 } = host;
    const isKnown = () => ipv6.some((known) => Buffer.compare(known, address) === 0);
    if (ipv6.length < MAX_ADDRESSES && !isKnown()) ipv6.push(address);
    const reverse = reverseName(address);
    if (this.#reverseIpv6.get(reverse, 0, reverse.length) === undefined) {
      this.#reverseIpv6.set(reverse, name);
    }
  }

  #show(index: number, address: number): Uint8Array {
    const bytes = (this.#shown[index] ??= new Uint8Array(IPV4_BYTES));
    bytes[0] = address >>> 24;
    bytes[1] = address >>> 16;
    bytes[2] = address >>> 8;
    bytes[3] = address;
    return bytes;
  }

  #keep(name: Uint8Array): Uint8Array {
    if (this.#blockUsed + name.length > BLOCK_BYTES) {
      this.#block = new Uint8Array(BLOCK_BYTES);
      this.#blockUsed = 0;
    }
    const start = this.#blockUsed;
    this.#block.set(name, start);
    this.#blockUsed += name.length;
    return this.#block.subarray(start, this.#blockUsed);
  }
}

const NOTHING: Host = { ipv4: [], ipv6: [] };

function ipv4Number(bytes: Uint8Array): number {
  return ((bytes[0]! << 24) | (bytes[1]! << 16) | (bytes[2]! << 8) | bytes[3]!) >>> 0;
}
