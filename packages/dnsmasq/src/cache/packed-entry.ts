import { MAX_NAME_BYTES } from '@kube-dns/wire';

/** What an entry of the cache is made of; a KeptAnswer is one. */
export interface NewEntry {
  /** Lower-cased, in wire form, up to `nameLength`. */
  readonly name: Uint8Array;
  readonly nameLength: number;
  /** EVERY_TYPE where the name does not exist. */
  readonly type: number;
  readonly rcode: number;
  /** The records, up to `length`, as they stand in KeptAnswer. */
  readonly bytes: Uint8Array;
  readonly length: number;
  readonly aliases: number;
  readonly setSize: number;
  readonly authorities: number;
  /** What it counts of the cache's size. */
  readonly weight: number;
  readonly lifetimeSeconds: number;
}

/** Where the fields stand; behind them are the name and the records. */
const AT = {
  storedAt: 0,
  lifetime: 8,
  weight: 16,
  setSize: 18,
  type: 20,
  rcode: 22,
  aliases: 23,
  authorities: 24,
  nameLength: 25,
} as const;
const HEAD_BYTES = 26;

/** An entry as bytes that nobody else has, for a copy of the cache; seconds by the cache's clock. */
export function packEntry(entry: NewEntry, storedAtSeconds: number): Uint8Array<ArrayBuffer> {
  const { nameLength, length } = entry;
  const packed = new Uint8Array(HEAD_BYTES + nameLength + length);
  const view = new DataView(packed.buffer);
  view.setFloat64(AT.storedAt, storedAtSeconds);
  view.setFloat64(AT.lifetime, entry.lifetimeSeconds);
  view.setUint16(AT.weight, entry.weight);
  view.setUint16(AT.setSize, entry.setSize);
  view.setUint16(AT.type, entry.type);
  view.setUint8(AT.rcode, entry.rcode);
  view.setUint8(AT.aliases, entry.aliases);
  view.setUint8(AT.authorities, entry.authorities);
  view.setUint8(AT.nameLength, nameLength);
  packed.set(entry.name.subarray(0, nameLength), HEAD_BYTES);
  packed.set(entry.bytes.subarray(0, length), HEAD_BYTES + nameLength);
  return packed;
}

/** Reads packed entries, one after the other, in place. */
export class PackedEntry implements NewEntry {
  readonly name = new Uint8Array(MAX_NAME_BYTES);
  nameLength = 0;
  type = 0;
  rcode = 0;
  bytes = new Uint8Array(0);
  length = 0;
  aliases = 0;
  setSize = 0;
  authorities = 0;
  weight = 0;
  lifetimeSeconds = 0;
  storedAtSeconds = 0;

  /** Reads what `packEntry` has made; it is valid while these bytes are. */
  read(packed: Uint8Array): void {
    const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
    this.storedAtSeconds = view.getFloat64(AT.storedAt);
    this.lifetimeSeconds = view.getFloat64(AT.lifetime);
    this.weight = view.getUint16(AT.weight);
    this.setSize = view.getUint16(AT.setSize);
    this.type = view.getUint16(AT.type);
    this.rcode = view.getUint8(AT.rcode);
    this.aliases = view.getUint8(AT.aliases);
    this.authorities = view.getUint8(AT.authorities);
    this.nameLength = view.getUint8(AT.nameLength);
    const recordsAt = HEAD_BYTES + this.nameLength;
    this.name.set(packed.subarray(HEAD_BYTES, recordsAt));
    this.bytes = packed.subarray(recordsAt) as Uint8Array<ArrayBuffer>;
    this.length = this.bytes.length;
  }
}
