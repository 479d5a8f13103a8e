import { NONE } from '../none.js';

/**
 * What is stored of an entry next to its bytes, and in how many bits: a column of numbers per field, with
 * the entry's slot as the index.
 */
const KINDS = {
  /** The hash of the name with the type. */
  hash: Int32Array,
  /** The first cell of the name, and the records and the server's reasons after it; NONE in a free slot. */
  cell: Int32Array,
  nameBytes: Uint8Array,
  recordBytes: Uint16Array,
  /** Of the Extended DNS Errors after the records. */
  reasonBytes: Uint8Array,
  /** EVERY_TYPE where the name does not exist. */
  type: Uint16Array,
  /** AA and the rcode, as in a header. */
  flags: Uint16Array,
  /** The numbers of records: CNAMEs, the requested set, and the SOA of a negative answer (0 or 1). */
  cnames: Uint8Array,
  setSize: Uint16Array,
  authorities: Uint8Array,
  /** By how many records the next answer rotates the set. */
  turn: Uint16Array,
  /** How much it counts towards the cache's size. */
  weight: Uint16Array,
  /** The number of its insertion, from 1. */
  serial: Float64Array,
  /** Seconds by the cache's clock. */
  storedAt: Float64Array,
  expiresAt: Float64Array,
  /** How often it was asked for, up to a limit; FETCHED when a newer one was asked for. */
  hits: Uint8Array,
  /** Whether it is of the cluster, where an address soon has another owner. */
  isOfCluster: Uint8Array,
  /**
   * When it was asked for in vain after its end, in milliseconds by the forwarder's clock; 0 is never, and negative
   * when no server replied to anything.
   */
  triedAtMs: Float64Array,
  /** The next entry of the same hash bucket, or the next free slot. */
  next: Int32Array,
  /** The subscription that tells when it changes; 0 is none. */
  subscription: Uint8Array,
  /** Of those with a subscription: the hash of the name whose changes change it, and the next of the same bucket. */
  owner: Int32Array,
  nextOfOwner: Int32Array,
  /** The entries that were used before and after it. */
  older: Int32Array,
  newer: Int32Array,
} as const;

type Field = keyof typeof KINDS;

/** The columns of a table of entries. */
export type EntryColumns = { readonly [F in Field]: InstanceType<(typeof KINDS)[F]> };

/** Bytes that the columns take for one entry. */
export const BYTES_PER_ENTRY = Object.values(KINDS).reduce(
  (sum, { BYTES_PER_ELEMENT }) => sum + BYTES_PER_ELEMENT,
  0,
);

/** Columns for this many entries, with the contents of columns of at most that size; the new slots are free. */
export function createColumns(capacity: number, others?: EntryColumns): EntryColumns {
  const columns = Object.entries(KINDS).map(([field, Kind]) => {
    const column = new Kind(capacity);
    if (others !== undefined) column.set(others[field as Field]);
    return [field, column];
  });
  // Each field of the table above has a column of its kind.
  const created = Object.fromEntries(columns) as EntryColumns;
  created.cell.fill(NONE, others?.cell.length ?? 0);
  return created;
}
