import {
  addNamesAbove,
  encodeKey,
  NameTable,
  parseAddress,
  reverseName,
  TYPE,
} from '@kube-dns/wire';
import type { Interfaces } from '../listen/listeners.js';
import type { InterfaceName, LocalRecord } from '../options/record-values.js';

/** The records of one name; none for a name that only has others below it. */
interface OwnerRecords {
  readonly records: LocalRecord[];
  /** Their types, each once. */
  readonly types: number[];
}

/** The records of the command line, by name (`--host-record`, `--cname`, `--txt-record`, …). */
export class StaticRecords {
  readonly #owners = new NameTable<OwnerRecords>();
  /** The PTRs of hosts, separate: such a name does not count as local data, nor do those above it. */
  readonly #reverse = new NameTable<LocalRecord>();
  readonly #localTtlSeconds: number;

  constructor(records: readonly LocalRecord[], localTtlSeconds: number) {
    this.#localTtlSeconds = localTtlSeconds;
    for (const record of records) {
      if (record.isReverseOfHost === true) this.#addReverse(record);
      else this.#add(record);
    }
  }

  /** Whether there are records at the name or below it. */
  hasName(name: Uint8Array, start: number, end: number): boolean {
    return this.#owners.get(name, start, end) !== undefined;
  }

  /** Whether the name has addresses of `--host-record`. */
  hasHost(name: Uint8Array, start: number, end: number): boolean {
    return this.#owners.get(name, start, end)?.records.some(isHost) === true;
  }

  /** Adds the records of a type to `found`. */
  find(name: Uint8Array, start: number, end: number, type: number, found: FoundRecords): void {
    const owner = this.#owners.get(name, start, end);
    if (owner === undefined) return;
    for (const record of owner.records) {
      if (record.type === type) found.add(record.rdata, record.ttlSeconds ?? this.#localTtlSeconds);
    }
  }

  /** The types that a name has, each once. */
  typesOf(name: Uint8Array, start: number, end: number): readonly number[] {
    return (this.#owners.get(name, start, end) ?? NOTHING).types;
  }

  /** The target of a CNAME; undefined for a name without one. */
  cnameOf(name: Uint8Array, start: number, end: number): LocalRecord | undefined {
    const owner = this.#owners.get(name, start, end);
    return owner?.types.includes(TYPE.CNAME) === true ? owner.records.find(isCname) : undefined;
  }

  /** The reverse of a host, for a reverse name without records of its own. */
  reverseOf(name: Uint8Array, length: number): LocalRecord | undefined {
    return this.#reverse.get(name, 0, length);
  }

  #add(record: LocalRecord): void {
    const { owner, type, rdata } = record;
    const existing = this.#owners.get(owner, 0, owner.length);
    // Names that only have others below them share one entry.
    const entry =
      existing === undefined || existing === NOTHING ? { records: [], types: [] } : existing;
    const isAddress = type === TYPE.A || type === TYPE.AAAA;
    const isDouble = (one: LocalRecord) =>
      one.type === type && Buffer.compare(one.rdata, rdata) === 0;
    if (!isAddress || !entry.records.some(isDouble)) entry.records.push(record);
    if (!entry.types.includes(type)) entry.types.push(type);
    this.#owners.set(owner, entry);
    addNamesAbove(this.#owners, owner, NOTHING);
  }

  #addReverse(record: LocalRecord): void {
    const { owner } = record;
    // One address has one PTR: the first that was given.
    if (this.#reverse.get(owner, 0, owner.length) === undefined) this.#reverse.set(owner, record);
  }
}

function isHost({ isOfHost }: LocalRecord): boolean {
  return isOfHost === true;
}

function isCname({ type }: LocalRecord): boolean {
  return type === TYPE.CNAME;
}

const NOTHING: OwnerRecords = { records: [], types: [] };

/**
 * The addresses of `--interface-name` and `--dynamic-host` and their reverse: those that the interface
 * has now, or hosts in its networks. Link-local ones are useless without their interface.
 */
export function interfaceRecords(named: InterfaceName, interfaces: Interfaces): LocalRecord[] {
  const { name, families, hosts } = named;
  return (interfaces[named.interface] ?? []).flatMap(({ address, family, netmask }) => {
    const own = parseAddress(address);
    const mask = parseAddress(netmask);
    const isWanted = families === 'both' || families === family.toLowerCase();
    if (own === undefined || mask === undefined || !isWanted || isLinkLocal(own)) return [];
    const host = hosts === undefined ? own : hosts.find(({ length }) => length === own.length);
    if (host === undefined) return [];
    const rdata = own.map((byte, i) => (byte & mask[i]!) | (host[i]! & ~mask[i]!));
    const type = rdata.length === 4 ? TYPE.A : TYPE.AAAA;
    return [
      { owner: name, type, ttlSeconds: undefined, rdata },
      {
        owner: encodeKey(reverseName(rdata)),
        type: TYPE.PTR,
        ttlSeconds: undefined,
        rdata: name,
        isReverseOfHost: true,
      },
    ];
  });
}

function isLinkLocal(address: Uint8Array): boolean {
  return address.length === 16 && address[0] === 0xfe && (address[1]! & 0xc0) === 0x80;
}

/** Maximum of records of one set in an answer; more do not fit a message of 64 KiB. */
const MAX_FOUND = 4_096;

/** The records of one look-up, gathered from several tables; reused, so that gathering allocates nothing. */
export class FoundRecords {
  count = 0;
  readonly #rdata: Uint8Array[] = [];
  readonly #ttlSeconds: number[] = [];

  clear(): void {
    this.count = 0;
  }

  add(rdata: Uint8Array, ttlSeconds: number): void {
    if (this.count >= MAX_FOUND) return;
    this.#rdata[this.count] = rdata;
    this.#ttlSeconds[this.count] = ttlSeconds;
    this.count++;
  }

  /** Retains only the records whose rdata are wanted; all when none is. */
  prefer(isWanted: (rdata: Uint8Array) => boolean): void {
    let retained = 0;
    for (let i = 0; i < this.count; i++) {
      if (!isWanted(this.#rdata[i]!)) continue;
      this.#rdata[retained] = this.#rdata[i]!;
      this.#ttlSeconds[retained] = this.#ttlSeconds[i]!;
      retained++;
    }
    if (retained > 0) this.count = retained;
  }

  /** The rdata in wire form of the record at an index below `count`. */
  rdataAt(index: number): Uint8Array {
    return this.#rdata[index]!;
  }

  ttlSecondsAt(index: number): number {
    return this.#ttlSeconds[index]!;
  }
}
