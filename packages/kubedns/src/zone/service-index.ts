import { finishHash, hashBytes, MAX_NAME_BYTES, randomSeed } from '@kube-dns/wire';
import { IPV4_BYTES, NO_PORTS, type PortList } from '../watch/projections.js';
import { type Hosts, writeHostLabel, type ZoneService } from './zone-service.js';

const FIRST_CAPACITY = 64;
const BLOCK_SHIFT = 6;
const WORD_SHIFT = 4;
/** The words and bytes of a block; the labels are at its end. */
const HASH_WORD = 0;
const NEXT_WORD = 1;
const ADDRESS_BYTE = 8;
const LENGTH_BYTE = 12;
const SINGLE_BYTE = 13;
const LABELS_BYTE = 16;
const MAX_LABELS_BYTES = 48;
/** No number is this. */
export const NO_SERVICE = -1;

/**
 * The services of a zone by the labels of their names before `svc`, each with a number, and with a block of 64 bytes
 * in one array:
 *
 *     hash | next in the bucket | IPv4 address | bytes of the labels, is single | labels (48)
 *
 * A look-up reads a bucket and a block, which is a cache line; what a `single` service is answered with is there, too.
 * Longer labels are outside of the block. The hash is seeded per index, against chosen collisions.
 */
export class ServiceIndex {
  /** `svc.<zone>` in wire form: the end of every name. */
  readonly #suffix: Uint8Array;
  readonly #seed = randomSeed();
  #words = new Int32Array(FIRST_CAPACITY << WORD_SHIFT);
  #bytes = new Uint8Array(this.#words.buffer);
  /** The first number of each bucket, plus one; 0 for none. Twice as many as blocks. */
  #buckets = new Int32Array(FIRST_CAPACITY * 2);
  /** By number; `undefined` where a number is free. */
  readonly #services: (ZoneService | undefined)[] = [];
  readonly #ports: PortList[] = [];
  /** Labels that are too long for a block, by number. */
  readonly #longLabels = new Map<number, Uint8Array>();
  readonly #freeNumbers: number[] = [];

  constructor(suffix: Uint8Array) {
    this.#suffix = suffix;
  }

  /** The number of the service with these lower-cased labels; NO_SERVICE when there is none. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const hash = this.#hash(bytes, start, end);
    const words = this.#words;
    let number = this.#buckets[hash & (this.#buckets.length - 1)]! - 1;
    while (number >= 0) {
      const word = number << WORD_SHIFT;
      if (words[word + HASH_WORD] === hash && this.#isAt(number, bytes, start, end)) break;
      number = words[word + NEXT_WORD]! - 1;
    }
    return number;
  }

  /** All numbers are below this. */
  get size(): number {
    return this.#services.length;
  }

  /** The service with a number; undefined where the number is free. */
  serviceIn(number: number): ZoneService | undefined {
    return this.#services[number];
  }

  serviceAt(number: number): ZoneService {
    return this.#services[number]!;
  }

  /** The ports of its Service object. */
  portsAt(number: number): PortList {
    return this.#ports[number]!;
  }

  /** Whether it has a cluster address, of IPv4, and no other. */
  isSingle(number: number): boolean {
    return this.#bytes[(number << BLOCK_SHIFT) + SINGLE_BYTE] !== 0;
  }

  /** Copies the address of a single service. */
  copyAddress(number: number, out: Uint8Array): void {
    const from = (number << BLOCK_SHIFT) + ADDRESS_BYTE;
    for (let i = 0; i < IPV4_BYTES; i++) out[i] = this.#bytes[from + i]!;
  }

  /** Whether a single service has this IPv4 address. */
  hasAddress(number: number, address: Uint8Array): boolean {
    const from = (number << BLOCK_SHIFT) + ADDRESS_BYTE;
    for (let i = 0; i < IPV4_BYTES; i++) if (this.#bytes[from + i] !== address[i]) return false;
    return true;
  }

  /** Writes the whole name of a service in wire form; returns its length. */
  writeName(number: number, out: Uint8Array, at: number): number {
    const block = number << BLOCK_SHIFT;
    const suffix = this.#suffix;
    const length = this.#bytes[block + LENGTH_BYTE]!;
    const isLong = length > MAX_LABELS_BYTES;
    const from = isLong ? this.#longLabels.get(number)! : this.#bytes;
    const start = isLong ? 0 : block + LABELS_BYTE;
    for (let i = 0; i < length; i++) out[at + i] = from[start + i]!;
    for (let i = 0; i < suffix.length; i++) out[at + length + i] = suffix[i]!;
    return length + suffix.length;
  }

  /** Writes the name of a host of a service; returns its length, 0 when it is too long for a name. */
  writeHostName(number: number, hosts: Hosts, host: number, out: Uint8Array, at: number): number {
    const label = writeHostLabel(hosts, host, out, at);
    if (label + this.#nameBytesOf(number) > MAX_NAME_BYTES) return 0;
    return label + this.writeName(number, out, at + label);
  }

  /** The whole name of a service in wire form. */
  nameOf(number: number): Uint8Array {
    const name = new Uint8Array(this.#nameBytesOf(number));
    this.writeName(number, name, 0);
    return name;
  }

  /** The number that the next service gets. */
  get nextNumber(): number {
    return this.#freeNumbers.at(-1) ?? this.#services.length;
  }

  /** Adds a service with the next number, by its labels, which are not used yet. */
  add(service: ZoneService, labels: Uint8Array): void {
    const { number } = service;
    if (number === this.#services.length) this.#makeRoom();
    else this.#freeNumbers.pop();
    this.#services[number] = service;
    const { length } = labels;
    const block = number << BLOCK_SHIFT;
    this.#bytes[block + LENGTH_BYTE] = length;
    if (length <= MAX_LABELS_BYTES) this.#bytes.set(labels, block + LABELS_BYTE);
    else this.#longLabels.set(number, labels);
    this.#words[(number << WORD_SHIFT) + HASH_WORD] = this.#hash(labels, 0, length);
    this.#link(number);
    this.update(service);
  }

  /** Stores what the Service object of a service has now. */
  update({ number, service }: ZoneService): void {
    const block = number << BLOCK_SHIFT;
    const isSingle =
      service?.kind === 'cluster-ip' &&
      service.ipv4.bytes.length === IPV4_BYTES &&
      service.ipv6.bytes === '';
    this.#bytes[block + SINGLE_BYTE] = Number(isSingle);
    this.#ports[number] = service?.ports ?? NO_PORTS;
    if (!isSingle) return;
    for (let i = 0; i < IPV4_BYTES; i++) {
      this.#bytes[block + ADDRESS_BYTE + i] = service.ipv4.bytes.charCodeAt(i);
    }
  }

  remove({ number }: ZoneService): void {
    const words = this.#words;
    const word = number << WORD_SHIFT;
    const bucket = words[word + HASH_WORD]! & (this.#buckets.length - 1);
    const next = words[word + NEXT_WORD]!;
    let before = this.#buckets[bucket]! - 1;
    if (before === number) this.#buckets[bucket] = next;
    else {
      for (;;) {
        const after = words[(before << WORD_SHIFT) + NEXT_WORD]! - 1;
        if (after === number) break;
        before = after;
      }
      words[(before << WORD_SHIFT) + NEXT_WORD] = next;
    }
    this.#services[number] = undefined;
    this.#ports[number] = NO_PORTS;
    this.#longLabels.delete(number);
    this.#freeNumbers.push(number);
  }

  #nameBytesOf(number: number): number {
    return this.#bytes[(number << BLOCK_SHIFT) + LENGTH_BYTE]! + this.#suffix.length;
  }

  #isAt(number: number, bytes: Uint8Array, start: number, end: number): boolean {
    const block = number << BLOCK_SHIFT;
    const length = end - start;
    if (this.#bytes[block + LENGTH_BYTE] !== length) return false;
    const isLong = length > MAX_LABELS_BYTES;
    const labels = isLong ? this.#longLabels.get(number)! : this.#bytes;
    const from = isLong ? 0 : block + LABELS_BYTE;
    for (let i = 0; i < length; i++) if (labels[from + i] !== bytes[start + i]) return false;
    return true;
  }

  #link(number: number): void {
    const word = number << WORD_SHIFT;
    const bucket = this.#words[word + HASH_WORD]! & (this.#buckets.length - 1);
    this.#words[word + NEXT_WORD] = this.#buckets[bucket]!;
    this.#buckets[bucket] = number + 1;
  }

  /** Doubles the capacity when every number is in use. */
  #makeRoom(): void {
    const count = this.#services.length;
    if (count << WORD_SHIFT < this.#words.length) return;
    const words = new Int32Array(this.#words.length * 2);
    words.set(this.#words);
    this.#words = words;
    this.#bytes = new Uint8Array(words.buffer);
    this.#buckets = new Int32Array(this.#buckets.length * 2);
    for (let number = 0; number < count; number++) this.#link(number);
  }

  #hash(bytes: Uint8Array, start: number, end: number): number {
    return finishHash(hashBytes(this.#seed, bytes, start, end));
  }
}
