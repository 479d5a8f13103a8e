import { lowerCaseByte, TYPE } from '@kube-dns/wire';
import { NONE } from '@kube-dns/resolver';
import { ByteArena } from './byte-arena.js';
import { ByteIndex } from './byte-index.js';
import type { FoundRecords } from './found-records.js';
import type { HostsFileName } from './hosts-file-name.js';
import { NumberColumn } from './number-column.js';

const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
/** Maximum of addresses of one family per name; more would not fit an answer over UDP. */
const MAX_ADDRESSES = 1_024;

/** An address of a name. */
export interface HostsEntry {
  /** In wire form; as it was written where it is the reverse of the address, else lower-cased. */
  readonly name: Uint8Array;
  readonly address: Uint8Array;
  readonly isReverse: boolean;
  readonly file: string;
}

/**
 * The names and addresses of hosts files. It is filled once and never changed: reading the files again
 * makes a new one.
 *
 *     name ─▶ first link ─▶ … ─▶ last link          each link is one address of the name
 *                 │                  │
 *                 ▼                  ▼
 *              address            address ─▶ place of the name of its PTR
 *
 * It consists of columns of numbers and blocks of bytes: with 100,000 lines as objects the garbage
 * collector would stop the process for 50 ms.
 */
export class HostsTable {
  readonly #arena = new ByteArena();
  /** Lower-cased names in wire form, and the names above them, which have no link. */
  readonly #names = new ByteIndex(this.#arena);
  readonly #firstLinks = new NumberColumn();
  readonly #lastLinks = new NumberColumn();
  readonly #linkAddresses = new NumberColumn();
  readonly #linkNext = new NumberColumn();
  /** By link: the index of its file. */
  readonly #linkFiles = new NumberColumn();
  readonly #files: string[] = [];
  /** Addresses of both families as bytes. */
  readonly #addresses = new ByteIndex(this.#arena);
  /** By address: its name as it was written. */
  readonly #reversePlaces = new NumberColumn();
  readonly #reverseLengths = new NumberColumn();
  /** The results of `find` and `nameOf`; as many as the largest set so far. */
  readonly #shown: Record<typeof IPV4_BYTES | typeof IPV6_BYTES, Uint8Array[]> = {
    [IPV4_BYTES]: [],
    [IPV6_BYTES]: [],
  };
  /** By length. */
  readonly #shownNames: Uint8Array[] = [];

  /** Names added from now on are from this file. */
  beginFile(path: string): void {
    this.#files.push(path);
  }

  /** The file that an address of a name is from; undefined when the name does not have it. */
  fileOf(name: Uint8Array, address: Uint8Array): string | undefined {
    const key = this.#names.find(name, 0, name.length);
    const wanted = this.#addresses.find(address, 0, address.length);
    if (key === NONE || wanted === NONE) return undefined;
    for (let link = this.#firstLinks.at(key); link !== NONE; link = this.#linkNext.at(link)) {
      if (this.#linkAddresses.at(link) === wanted) return this.#files[this.#linkFiles.at(link)];
    }
    return undefined;
  }

  /** The number of names, including those that only have others below them. */
  get size(): number {
    return this.#names.size;
  }

  /**
   * Adds a name with an address in wire form; both are copied. The first name of an address is its
   * reverse; an address that the name has already is ignored, and so are those beyond
   * MAX_ADDRESSES.
   */
  add(
    { key, written, length }: Pick<HostsFileName, 'key' | 'written' | 'length'>,
    bytes: Uint8Array,
  ): void {
    const name = this.#nameOf(key, length);
    const address = this.#addresses.add(bytes, 0, bytes.length);
    if (address === this.#reversePlaces.length) {
      const place = this.#names.placeOf(name);
      const isSame = this.#arena.isAt(place, written, 0, length);
      this.#reversePlaces.push(isSame ? place : this.#arena.put(written, 0, length));
      this.#reverseLengths.push(length);
    }
    this.#link(name, address, bytes.length);
  }

  /** Every address of every name. */
  *entries(): Generator<HostsEntry, void> {
    for (let key = 0; key < this.size; key++) {
      const name = new Uint8Array(this.#names.lengthOf(key));
      this.#arena.copy(this.#names.placeOf(key), name);
      for (let link = this.#firstLinks.at(key); link !== NONE; link = this.#linkNext.at(link)) {
        const number = this.#linkAddresses.at(link);
        const address = new Uint8Array(this.#addresses.lengthOf(number));
        this.#arena.copy(this.#addresses.placeOf(number), address);
        const reverse = Uint8Array.from(this.nameOf(address, address.length)!);
        const isReverse = Buffer.compare(reverse.map(lowerCaseByte), name) === 0;
        const file = this.#files[this.#linkFiles.at(link)]!;
        yield { name: isReverse ? reverse : name, address, isReverse, file };
      }
    }
  }

  /** Whether there are hosts at the name or below it. */
  hasName(name: Uint8Array, start: number, end: number): boolean {
    return this.#names.find(name, start, end) !== NONE;
  }

  /** Whether the name has addresses of either family. */
  hasHost(name: Uint8Array, start: number, end: number): boolean {
    const key = this.#names.find(name, start, end);
    return key !== NONE && this.#firstLinks.at(key) !== NONE;
  }

  /** Adds the addresses of a type to `found`; they are valid until the next `find`. */
  find(
    name: Uint8Array,
    start: number,
    end: number,
    type: number,
    ttlSeconds: number,
    found: FoundRecords,
  ): void {
    const key = this.#names.find(name, start, end);
    if (key === NONE) return;
    const length = type === TYPE.A ? IPV4_BYTES : IPV6_BYTES;
    const shown = this.#shown[length];
    let count = 0;
    for (let link = this.#firstLinks.at(key); link !== NONE; link = this.#linkNext.at(link)) {
      const address = this.#linkAddresses.at(link);
      if (this.#addresses.lengthOf(address) !== length) continue;
      const rdata = (shown[count++] ??= new Uint8Array(length));
      this.#arena.copy(this.#addresses.placeOf(address), rdata);
      found.add(rdata, ttlSeconds);
    }
  }

  /** The name of an address of 4 or 16 bytes; it is valid until the next call. */
  nameOf(address: Uint8Array, length: number): Uint8Array | undefined {
    const key = this.#addresses.find(address, 0, length);
    if (key === NONE) return undefined;
    const nameLength = this.#reverseLengths.at(key);
    const name = (this.#shownNames[nameLength] ??= new Uint8Array(nameLength));
    this.#arena.copy(this.#reversePlaces.at(key), name);
    return name;
  }

  /** The number of a name, which is added with the names above it. */
  #nameOf(key: Uint8Array, end: number): number {
    const before = this.#names.size;
    const name = this.#names.add(key, 0, end);
    if (this.#names.size === before) return name;
    this.#noLinks();
    const place = this.#names.placeOf(name);
    for (let at = key[0]! + 1; at < end - 1; at += key[at]! + 1) {
      const { size } = this.#names;
      this.#names.add(key, at, end, place + at);
      // The names above an existing name exist, too.
      if (this.#names.size === size) break;
      this.#noLinks();
    }
    return name;
  }

  #noLinks(): void {
    this.#firstLinks.push(NONE);
    this.#lastLinks.push(NONE);
  }

  #link(name: number, address: number, length: number): void {
    let count = 0;
    for (let link = this.#firstLinks.at(name); link !== NONE; link = this.#linkNext.at(link)) {
      const existing = this.#linkAddresses.at(link);
      if (existing === address) return;
      if (this.#addresses.lengthOf(existing) === length && ++count === MAX_ADDRESSES) return;
    }
    const link = this.#linkAddresses.push(address);
    this.#linkNext.push(NONE);
    this.#linkFiles.push(this.#files.length - 1);
    const last = this.#lastLinks.at(name);
    if (last === NONE) this.#firstLinks.set(name, link);
    else this.#linkNext.set(last, link);
    this.#lastLinks.set(name, link);
  }
}
