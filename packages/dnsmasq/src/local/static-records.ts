import { NameTable, TYPE } from '@kube-dns/wire';
import type { LocalRecord } from '../options/record-values.js';
import type { FoundRecords } from './found-records.js';

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
    addAncestors(this.#owners, owner, NOTHING);
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

/** Adds the names above `name`, up to the first that exists. */
function addAncestors<V>(table: NameTable<V>, name: Uint8Array, nothing: V): void {
  const end = name.length;
  for (let at = name[0]! + 1; at < end - 1; at += name[at]! + 1) {
    if (table.get(name, at, end) !== undefined) return;
    table.set(name.subarray(at), nothing);
  }
}
