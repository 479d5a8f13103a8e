import {
  AnswerWriter,
  lowerCaseByte,
  MAX_NAME_BYTES,
  parseAddress,
  type Query,
  QUESTION_OFFSET,
  RCODE,
  ReverseAddress,
  SECTION,
  type Section,
  TYPE,
} from '@kube-dns/wire';
import { FILTERED_TYPE } from '../explanations.js';
import type { Interfaces } from '../listen/listeners.js';
import type { DnsmasqOptions } from '../options/option-table.js';
import { type HostsEntry, HostsTable } from './hosts-files.js';
import { FoundRecords, type StaticRecords } from './local-records.js';

type AnswerOptions = Pick<
  DnsmasqOptions,
  'filteredTypes' | 'hostMx' | 'localTtlSeconds' | 'rotatesRecords'
>;

/** Where the target's name starts in the rdata of these types. */
const SRV_TARGET_AT = 6;
const MX_TARGET_AT = 2;
/** The types of hosts and of their reverse. */
const HOST_TYPES = [TYPE.A, TYPE.AAAA, TYPE.PTR];
const HOST_MX_PREFERENCE = Uint8Array.of(0, 1);

/** Answers from the static records and the hosts files, whose names form one set. */
export class LocalAnswers {
  /** Counts up, so that each answer starts with another record of a set. */
  turn = 0;
  readonly #options: AnswerOptions;
  readonly #writer = new AnswerWriter();
  readonly #found = new FoundRecords();
  readonly #reverse = new ReverseAddress();
  /** The current name: the question's, or the end of its CNAME chain. */
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  #nameLength = 0;
  /** The current name as it was written; undefined for the question's. */
  #owner: Uint8Array | undefined;
  #static: StaticRecords;
  #hosts: readonly HostsTable[] = [];
  #mainHosts = new HostsTable();
  #folderHosts: readonly HostsTable[] = [];
  readonly #targets: Uint8Array[] = [];
  /** The types of hosts, with MX where hosts have an MX record. */
  readonly #hostTypes: readonly number[];
  /** The name that was asked for, as it was written. */
  #asked = new Uint8Array(0);
  /** Set while only addresses in the client's network are returned, if there are any. */
  #isNear: ((address: Uint8Array) => boolean) | undefined;

  constructor(records: StaticRecords, options: AnswerOptions) {
    this.#static = records;
    this.#options = options;
    this.#hostTypes = options.hostMx === undefined ? HOST_TYPES : [...HOST_TYPES, TYPE.MX];
  }

  setStatic(records: StaticRecords): void {
    this.#static = records;
  }

  /** Replaces the hosts of /etc/hosts and `--addn-hosts`. */
  setHosts(table: HostsTable): void {
    this.#mainHosts = table;
    this.#hosts = [table, ...this.#folderHosts];
  }

  /** Replaces the hosts of the watched directories. */
  setFolders(tables: readonly HostsTable[]): void {
    this.#folderHosts = tables;
    this.#hosts = [this.#mainHosts, ...tables];
  }

  /** Every address of the hosts. */
  *hosts(): Generator<HostsEntry, void> {
    for (const table of this.#hosts) yield* table.entries();
  }

  /** Whether there is data at a lower-cased name or below it. */
  hasName(name: Uint8Array, nameLength: number): boolean {
    if (this.#static.hasName(name, 0, nameLength)) return true;
    for (const table of this.#hosts) if (table.hasName(name, 0, nameLength)) return true;
    return false;
  }

  /**
   * The hosts file that an answer's record is from; undefined when it is from none. For the log; owner
   * and rdata are in wire form, the owner lower-cased.
   */
  fileOf(owner: Uint8Array, type: number, rdata: Uint8Array): string | undefined {
    let [name, address] = [owner, rdata];
    if (type === TYPE.PTR) {
      const { size, isWhole, bytes } = this.#reverse.read(owner, owner.length);
      if (!isWhole) return undefined;
      name = rdata.map(lowerCaseByte);
      address = bytes.subarray(0, size);
    }
    for (const table of this.#hosts) {
      const file = table.fileOf(name, address);
      if (file !== undefined) return file;
    }
    return undefined;
  }

  /** Whether a lower-cased name has a `--ptr-record`. */
  hasPtrRecord(owner: Uint8Array): boolean {
    return this.#static.typesOf(owner, 0, owner.length).includes(TYPE.PTR);
  }

  /**
   * Writes the answer into `out` and returns its length; 0 when there is nothing. Of IPv4 addresses it
   * has those in the client's network, if there are any.
   */
  answer(query: Query, out: Uint8Array, isNear?: (address: Uint8Array) => boolean): number {
    const { type } = query;
    this.#isNear = isNear;
    if (this.#options.hostMx === 'self') this.#asked = askedName(query);
    this.#lookAt(query.name, 0);
    this.#owner = undefined;
    const isCname = type !== TYPE.CNAME && this.#followCnames(query, out);
    if (!isCname && !this.#hasAny(type)) {
      return this.#isFilteredHost(type) ? this.#writeFiltered(query, out) : 0;
    }
    if (!isCname) this.#begin(query, out);
    this.turn++;
    if (type === TYPE.ANY) this.#addEveryType();
    else this.#addSet(SECTION.ANSWER, this.#owner, type);
    this.#addTargets();
    return this.#writer.finish();
  }

  #begin(query: Query, out: Uint8Array): void {
    this.#writer.begin(query, out);
    this.#writer.setAuthoritative();
    this.#targets.length = 0;
  }

  /** Copies a name, lower-cased, out of `bytes`. */
  #lookAt(bytes: Uint8Array, start: number): void {
    const name = this.#name;
    let length = 0;
    for (let label = bytes[start]!; label !== 0; label = bytes[start + length]!) {
      for (let i = 0; i <= label; i++) name[length + i] = lowerCaseByte(bytes[start + length + i]!);
      length += label + 1;
    }
    name[length] = 0;
    this.#nameLength = length + 1;
  }

  /** Writes the CNAMEs and moves on to the last target; false when the name has no CNAME. */
  #followCnames(query: Query, out: Uint8Array): boolean {
    let hasCname = false;
    // It ends: CNAME loops are rejected at the start.
    for (;;) {
      const cname = this.#static.cnameOf(this.#name, 0, this.#nameLength);
      if (cname === undefined) return hasCname;
      if (!hasCname) this.#begin(query, out);
      hasCname = true;
      const ttlSeconds = cname.ttlSeconds ?? this.#options.localTtlSeconds;
      this.#writer.add(SECTION.ANSWER, this.#owner, TYPE.CNAME, ttlSeconds, cname.rdata);
      this.#owner = cname.rdata;
      this.#lookAt(cname.rdata, 0);
    }
  }

  #hasAny(type: number): boolean {
    if (type !== TYPE.ANY) return this.#gather(type) > 0;
    if (this.#static.typesOf(this.#name, 0, this.#nameLength).length > 0) return true;
    return this.#hostTypes.some((each) => this.#gather(each) > 0);
  }

  /** Fills `found` with a set of the current name, and returns its size. */
  #gather(type: number): number {
    const found = this.#found;
    const end = this.#nameLength;
    found.clear();
    this.#static.find(this.#name, 0, end, type, found);
    if (type === TYPE.A || type === TYPE.AAAA) {
      for (const table of this.#hosts) {
        table.find(this.#name, 0, end, type, this.#options.localTtlSeconds, found);
      }
      if (type === TYPE.A && this.#isNear !== undefined) found.prefer(this.#isNear);
    } else if (found.count === 0) {
      if (type === TYPE.PTR) this.#gatherReverse();
      else if (type === TYPE.MX) this.#gatherHostMx();
    }
    return found.count;
  }

  #gatherReverse(): void {
    const { localTtlSeconds } = this.#options;
    const record = this.#static.reverseOf(this.#name, this.#nameLength);
    if (record !== undefined) {
      this.#found.add(record.rdata, record.ttlSeconds ?? localTtlSeconds);
      return;
    }
    const { size, isWhole, bytes } = this.#reverse.read(this.#name, this.#nameLength);
    if (!isWhole) return;
    for (const table of this.#hosts) {
      const name = table.nameOf(bytes, size);
      if (name === undefined) continue;
      this.#found.add(name, localTtlSeconds);
      return;
    }
  }

  /** The MX record of a host by `--localmx` or `--selfmx`. */
  #gatherHostMx(): void {
    const { hostMx, localTtlSeconds } = this.#options;
    if (hostMx === undefined || !this.#isHost()) return;
    const target = hostMx === 'self' ? (this.#owner ?? this.#asked) : hostMx;
    this.#found.add(Buffer.concat([HOST_MX_PREFERENCE, target]), localTtlSeconds);
  }

  #isHost(): boolean {
    const end = this.#nameLength;
    if (this.#static.hasHost(this.#name, 0, end)) return true;
    return this.#hosts.some((table) => table.hasHost(this.#name, 0, end));
  }

  #addEveryType(): void {
    const types = this.#static.typesOf(this.#name, 0, this.#nameLength);
    for (const type of types) this.#addSet(SECTION.ANSWER, this.#owner, type);
    for (const type of this.#hostTypes) {
      if (!types.includes(type)) this.#addSet(SECTION.ANSWER, this.#owner, type);
    }
  }

  /** Writes a set of the current name, rotated by one record at each answer. */
  #addSet(section: Section, owner: Uint8Array | undefined, type: number): void {
    const count = this.#gather(type);
    const hasTargets = section === SECTION.ANSWER && this.#hasOwn(type);
    const first = this.#options.rotatesRecords ? this.turn : 0;
    for (let i = 0; i < count; i++) {
      const index = (first + i) % count;
      const rdata = this.#found.rdataAt(index);
      this.#writer.add(section, owner, type, this.#found.ttlSecondsAt(index), rdata);
      if (!hasTargets) continue;
      if (type === TYPE.SRV) this.#noteTarget(rdata.subarray(SRV_TARGET_AT));
      else if (type === TYPE.MX) this.#noteTarget(rdata.subarray(MX_TARGET_AT));
    }
  }

  /** As in dnsmasq, the MX of `--localmx` or `--selfmx` adds no addresses. */
  #hasOwn(type: number): boolean {
    if (type !== TYPE.MX || this.#options.hostMx === undefined) return true;
    return this.#static.typesOf(this.#name, 0, this.#nameLength).includes(TYPE.MX);
  }

  #noteTarget(target: Uint8Array): void {
    if (!this.#targets.some((existing) => Buffer.compare(existing, target) === 0)) {
      this.#targets.push(target);
    }
  }

  /** The local addresses of the targets of MX and SRV records. */
  #addTargets(): void {
    this.#isNear = undefined;
    for (const target of this.#targets) {
      this.#lookAt(target, 0);
      this.#addSet(SECTION.ADDITIONAL, target, TYPE.A);
      this.#addSet(SECTION.ADDITIONAL, target, TYPE.AAAA);
    }
  }

  /** A type that is filtered is not asked for upstream where the name is a host's. */
  #isFilteredHost(type: number): boolean {
    if (!this.#options.filteredTypes.includes(type)) return false;
    return this.#gather(TYPE.A) > 0 || this.#gather(TYPE.AAAA) > 0;
  }

  #writeFiltered(query: Query, out: Uint8Array): number {
    this.#writer.begin(query, out);
    this.#writer.setRcode(RCODE.NOERROR, FILTERED_TYPE);
    return this.#writer.finish();
  }
}

function askedName({ bytes, nameLength }: Query): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes.subarray(QUESTION_OFFSET, QUESTION_OFFSET + nameLength));
}

/** A network of this machine, IPv4. */
interface Network {
  readonly address: Uint8Array;
  readonly mask: Uint8Array;
}

const IPV4_BYTES = 4;

/**
 * Which addresses are in a client's own network, among those that this machine is in
 * (`--localise-queries`).
 */
export class NearAddresses {
  readonly #networks: readonly Network[];
  #network: Network | undefined;
  readonly isNear = (address: Uint8Array): boolean =>
    this.#network !== undefined && isIn(this.#network, address);

  constructor(interfaces: Interfaces) {
    this.#networks = Object.values(interfaces).flatMap((addresses) =>
      (addresses ?? []).flatMap(({ family, address, netmask }) => {
        const [bytes, mask] = [parseAddress(address), parseAddress(netmask)];
        const isWhole = family === 'IPv4' && bytes !== undefined && mask !== undefined;
        return isWhole ? [{ address: bytes, mask }] : [];
      }),
    );
  }

  /** Makes `isNear` compare with the network of this client, if it is in one of ours. */
  lookFrom(client: Uint8Array): void {
    this.#network = this.#networks.find((network) => isIn(network, client));
  }
}

function isIn({ address, mask }: Network, candidate: Uint8Array): boolean {
  if (candidate.length !== IPV4_BYTES) return false;
  return address.every((byte, i) => ((byte ^ candidate[i]!) & mask[i]!) === 0);
}

/** A client's address in wire form; 0.0.0.0 where there is no client. */
export function clientAddress(text: string): Uint8Array {
  return parseAddress(text) ?? new Uint8Array(IPV4_BYTES);
}
