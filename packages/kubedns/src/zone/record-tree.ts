import { NameTable, TYPE } from '@kube-dns/wire';

/** A record as a service brings it; `owner` is lower-cased, both names and rdata in wire form. */
export interface ZoneRecord {
  readonly owner: Uint8Array;
  readonly type: number;
  readonly rdata: Uint8Array;
  /** Lower ranks come first where the order of a set is fixed (PTR); 0 where it does not matter. */
  readonly rank: number;
}

/** The records of one name and type. */
export interface RecordSet {
  readonly type: number;
  readonly rdata: readonly Uint8Array[];
  /** The different targets of an SRV set; empty for other types. */
  readonly targets: readonly Uint8Array[];
}

const SRV_TARGET_OFFSET = 6;

/** A name that exists: it has records, or names below it do, or somebody says that it exists. */
export class ZoneNode {
  readonly name: Uint8Array;
  #sets: readonly RecordSet[] = [];
  /** Which records each source brought. */
  readonly #bySource = new Map<string, readonly ZoneRecord[]>();
  /** Nodes one label below. */
  children = 0;

  constructor(name: Uint8Array) {
    this.name = name;
  }

  get sets(): readonly RecordSet[] {
    return this.#sets;
  }

  find(type: number): RecordSet | undefined {
    for (const set of this.#sets) {
      if (set.type === type) return set;
    }
    return undefined;
  }

  isNeeded(): boolean {
    return this.#bySource.size > 0 || this.children > 0;
  }

  /** Takes over what `source` says of this name; an empty list says that the name exists. */
  put(source: string, records: readonly ZoneRecord[]): void {
    this.#bySource.set(source, records);
    this.#rebuild();
  }

  drop(source: string): void {
    this.#bySource.delete(source);
    this.#rebuild();
  }

  #rebuild(): void {
    const records = [...this.#bySource.values()].flat().sort(compareRecords);
    const byType = new Map<number, Map<string, Uint8Array>>();
    for (const { type, rdata } of records) {
      let set = byType.get(type);
      if (set === undefined) byType.set(type, (set = new Map<string, Uint8Array>()));
      set.set(bytesKey(rdata), rdata);
    }
    this.#sets = [...byType].map(([type, set]) => {
      const rdata = [...set.values()];
      return { type, rdata, targets: type === TYPE.SRV ? targetsOf(rdata) : [] };
    });
  }
}

/**
 * Names and their records. Each source (a service, a namespace) owns its records and replaces them
 * whole; what it said before is gone without a trace. With an apex, the names between a record and
 * the apex exist too (RFC 4592 section 2.2.2).
 */
export class RecordTree {
  readonly #nodes = new NameTable<ZoneNode>();
  readonly #namesBySource = new Map<string, readonly Uint8Array[]>();
  readonly #apex: Uint8Array | undefined;

  constructor(apex?: Uint8Array) {
    this.#apex = apex;
    if (apex !== undefined) this.#nodes.set(apex, new ZoneNode(apex));
  }

  /** How many names exist. */
  get size(): number {
    return this.#nodes.size;
  }

  find(bytes: Uint8Array, start: number, end: number): ZoneNode | undefined {
    return this.#nodes.get(bytes, start, end);
  }

  /** Replaces all that `source` brought before. `emptyNames` exist without records of their own. */
  replace(
    source: string,
    records: readonly ZoneRecord[],
    emptyNames: readonly Uint8Array[] = [],
  ): void {
    const groups = new Map<string, { name: Uint8Array; records: ZoneRecord[] }>();
    for (const name of emptyNames) groups.set(bytesKey(name), { name, records: [] });
    for (const record of records) {
      const key = bytesKey(record.owner);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { name: record.owner, records: [record] });
      else group.records.push(record);
    }
    const before = this.#namesBySource.get(source) ?? [];
    for (const group of groups.values()) this.#nodeAt(group.name).put(source, group.records);
    for (const name of before) {
      if (!groups.has(bytesKey(name))) this.#drop(source, name);
    }
    if (groups.size === 0) this.#namesBySource.delete(source);
    else
      this.#namesBySource.set(
        source,
        [...groups.values()].map(({ name }) => name),
      );
  }

  #drop(source: string, name: Uint8Array): void {
    const node = this.#nodes.get(name, 0, name.length);
    if (node === undefined) return;
    node.drop(source);
    this.#prune(node);
  }

  /** The node of a name, made if need be together with the nodes above it. */
  #nodeAt(name: Uint8Array): ZoneNode {
    const found = this.#nodes.get(name, 0, name.length);
    if (found !== undefined) return found;
    const node = new ZoneNode(name);
    this.#nodes.set(name, node);
    if (this.#isBelowApex(name)) this.#nodeAt(parentOf(name)).children++;
    return node;
  }

  #prune(node: ZoneNode): void {
    if (node.isNeeded() || node.name === this.#apex) return;
    this.#nodes.delete(node.name);
    if (!this.#isBelowApex(node.name)) return;
    const parent = this.#nodes.get(node.name, node.name[0]! + 1, node.name.length)!;
    parent.children--;
    this.#prune(parent);
  }

  #isBelowApex(name: Uint8Array): boolean {
    return this.#apex !== undefined && name.length > this.#apex.length;
  }
}

/** Addresses first, and then by the bytes: an order must not depend on the order of events. */
function compareRecords(left: ZoneRecord, right: ZoneRecord): number {
  return (
    left.rank - right.rank || left.type - right.type || Buffer.compare(left.rdata, right.rdata)
  );
}

function parentOf(name: Uint8Array): Uint8Array {
  return name.subarray(name[0]! + 1);
}

function bytesKey(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function targetsOf(srv: readonly Uint8Array[]): Uint8Array[] {
  const targets = new Map<string, Uint8Array>();
  for (const rdata of srv) {
    const target = rdata.subarray(SRV_TARGET_OFFSET);
    targets.set(bytesKey(target), target);
  }
  return [...targets.values()];
}
