import { type Trace, TraceKind } from '@kube-dns/base';
import {
  type AnswerWriter,
  MAX_NAME_BYTES,
  nameBytes,
  ReverseAddress,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import {
  addressNumber,
  type EndpointGroup,
  IPV4_BYTES,
  type PackedAddresses,
} from '../watch/projections.js';
import type { PtrMode } from '../config/flags.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { MAX_LABEL_BYTES } from '../zone/zone-names.js';
import type { ZoneService } from '../zone/zone-service.js';

export interface ReverseAnswererOptions {
  readonly zone: ClusterZone;
  readonly ttlSeconds: number;
  readonly negativeTtlSeconds: number;
  readonly mode: PtrMode;
}

/** PTR order where an address has several names: the service itself, hostnames, generated names. */
const RANK = { SERVICE: 0, HOSTNAME: 1, GENERATED: 2 } as const;
/** More names than fit into an answer; only an address of the host network has this many. */
const MAX_NAMES = 256;
/** Maximum endpoints with the address that are looked at: most of them have the same name then. */
const MAX_ENDPOINTS = 1_024;
const NAME_BUFFER_BYTES = MAX_NAME_BYTES + MAX_LABEL_BYTES;

/** What a reverse name led to: the address, undefined where the name is not the whole one of an address, and the services that name it. */
export interface ReverseFinding {
  readonly address: Uint8Array | undefined;
  readonly services: readonly ZoneService[];
}

/** What the reverse name of a question led to. */
export const REVERSE_FOUND = new TraceKind<ReverseFinding>();

const NO_ADDRESS: ReverseFinding = { address: undefined, services: [] };

/** Answers PTR for the addresses of the cluster: every name of an address, always in the same order. */
export class ReverseAnswerer {
  readonly #options: ReverseAnswererOptions;
  readonly #address = new ReverseAddress();
  /** The names found, each in a buffer of the same size, and their ranks. */
  readonly #names: Uint8Array[] = [];
  readonly #ranks = new Uint8Array(MAX_NAMES);
  /** The numbers of their services in the index. */
  readonly #services = new Int32Array(MAX_NAMES);
  #count = 0;
  #endpoints = 0;
  /** Of the address, see addressNumber. */
  #number = 0;

  constructor(options: ReverseAnswererOptions) {
    this.#options = options;
  }

  /** Finds the names of the address in a lower-cased reverse name; false when the cluster has none. */
  find(name: Uint8Array, nameLength: number, trace?: Trace): boolean {
    const { zone } = this.#options;
    this.#count = 0;
    const { isCanonical, bytes, size } = this.#address.read(name, nameLength);
    if (!isCanonical) {
      trace?.note(REVERSE_FOUND, NO_ADDRESS);
      return false;
    }
    this.#number = addressNumber(bytes, size);
    this.#endpoints = 0;
    const { addresses } = zone;
    let entry = addresses.first(addresses.hashBytes(bytes, size));
    for (; entry >= 0 && this.#count < MAX_NAMES; entry = addresses.next(entry)) {
      this.#findIn(addresses.serviceOf(entry));
    }
    trace?.note(REVERSE_FOUND, this.#finding());
    return this.#count > 0;
  }

  /**
   * Answers a question of a type about the address of the last `find`; the writer has begun. `owner`: the reverse
   * name, where it is not that of the question.
   */
  answer(type: number, writer: AnswerWriter, owner?: Uint8Array): void {
    if (type === TYPE.PTR || type === TYPE.ANY) {
      this.#answerNames(writer, owner);
      return;
    }
    // The address has names and nothing else. No zone of reverse names has an SOA here, so the cluster's is
    // under the name itself: it limits how long the answer is cached (RFC 2308 section 3).
    const { zone, negativeTtlSeconds } = this.#options;
    writer.add(SECTION.AUTHORITY, owner, TYPE.SOA, negativeTtlSeconds, zone.soaRdata);
  }

  #answerNames(writer: AnswerWriter, owner: Uint8Array | undefined): void {
    const { ttlSeconds, mode } = this.#options;
    this.#sort();
    const count = mode === 'first' ? 1 : this.#count;
    for (let i = 0; i < count; i++) {
      const name = this.#names[i]!;
      if (!writer.add(SECTION.ANSWER, owner, TYPE.PTR, ttlSeconds, name, nameBytes(name))) return;
    }
  }

  #finding(): ReverseFinding {
    const { bytes, size } = this.#address;
    const numbers = new Set(this.#services.subarray(0, this.#count));
    const { index } = this.#options.zone;
    const services = Array.from(numbers, (number) => index.serviceAt(number));
    return { address: bytes.slice(0, size), services };
  }

  #findIn(number: number): void {
    const { index } = this.#options.zone;
    if (index.isSingle(number)) {
      const { size, bytes } = this.#address;
      if (size === IPV4_BYTES && index.hasAddress(number, bytes)) this.#addName(number);
      return;
    }
    const { service, slices } = index.serviceAt(number);
    if (service?.kind === 'cluster-ip') {
      const addresses = this.#address.size === IPV4_BYTES ? service.ipv4 : service.ipv6;
      if (this.#find(addresses, 0) >= 0) this.#addName(number);
      return;
    }
    for (const { groups } of slices) {
      for (const group of groups) {
        const { size } = group;
        if (size !== this.#address.size) continue;
        let at = this.#find(group, 0);
        while (at >= 0 && this.#endpoints++ < MAX_ENDPOINTS) {
          this.#addName(number, group, at / size);
          at = this.#find(group, at + size);
        }
      }
    }
  }

  /** The offset of the address among others, from an offset on; -1 when it is not among them. */
  #find(addresses: PackedAddresses & Pick<EndpointGroup, 'numbers'>, from: number): number {
    const { size, bytes, numbers } = addresses;
    if (numbers === undefined) {
      for (let at = from; at < bytes.length; at += size) if (this.#isAt(bytes, at)) return at;
      return -1;
    }
    let i = numbers.indexOf(this.#number, from / size);
    while (i >= 0 && !this.#isAt(bytes, i * size)) i = numbers.indexOf(this.#number, i + 1);
    return i * size;
  }

  #isAt(bytes: string, at: number): boolean {
    const { bytes: address, size } = this.#address;
    let i = 0;
    while (i < size && bytes.charCodeAt(at + i) === address[i]) i++;
    return i === size;
  }

  /** Adds the name of an endpoint, or of the service itself, unless it exists. */
  #addName(number: number, group?: EndpointGroup, host = 0): void {
    const { index } = this.#options.zone;
    if (this.#count === MAX_NAMES) return;
    const name = (this.#names[this.#count] ??= new Uint8Array(NAME_BUFFER_BYTES));
    let rank: number = RANK.SERVICE;
    if (group === undefined) index.writeName(number, name, 0);
    else {
      if (index.writeHostName(number, group, host, name, 0) === 0) return;
      rank = (group.labels?.[host] ?? '') === '' ? RANK.GENERATED : RANK.HOSTNAME;
    }
    for (let i = 0; i < this.#count; i++) {
      if (compareNames(this.#names[i]!, name) === 0) return;
    }
    this.#services[this.#count] = number;
    this.#ranks[this.#count++] = rank;
  }

  /** Sorts by rank, then by name: the order must not depend on the order of events. */
  #sort(): void {
    const names = this.#names;
    const ranks = this.#ranks;
    for (let i = 1; i < this.#count; i++) {
      const name = names[i]!;
      const rank = ranks[i]!;
      let at = i;
      for (; at > 0; at--) {
        const order = ranks[at - 1]! - rank || compareNames(names[at - 1]!, name);
        if (order <= 0) break;
        names[at] = names[at - 1]!;
        ranks[at] = ranks[at - 1]!;
      }
      names[at] = name;
      ranks[at] = rank;
    }
  }
}

/** Compares two names in wire form by their bytes, ignoring what follows them. */
function compareNames(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(nameBytes(left), nameBytes(right));
  for (let i = 0; i < length; i++) {
    if (left[i] !== right[i]) return left[i]! - right[i]!;
  }
  return 0;
}
