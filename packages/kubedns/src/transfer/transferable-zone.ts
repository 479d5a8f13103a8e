import type { ResourceRecord } from '@kube-dns/wire';

/** A zone that secondaries may transfer (RFC 5936). */
export interface TransferableZone {
  /** Lower-cased, in wire form. */
  readonly apex: Uint8Array;
  /** Whether all of it is known, where it needs more than the cluster: before that a secondary would drop what it has. */
  isKnown?(): boolean;
  /**
   * The data of its SOA record, for a secondary: the next change has a serial that is newer than this one, also within the
   * same second.
   */
  tellSoa(): Uint8Array;
  /** All of the zone as it is now; to be closed. */
  openView(): ZoneView;
}

/** One state of a zone. What changes in the zone later changes nothing here. */
export interface ZoneView {
  /** The data of its SOA record, with the serial of this state. */
  readonly soaRdata: Uint8Array;
  /**
   * Every record but the SOA, each once. `undefined` is none: it is passed after a piece of work without a record, so that the
   * caller can let others work.
   */
  records(): Iterator<ResourceRecord | undefined, void>;
  /** Ends it; may be called twice. */
  close(): void;
}

/** Finds the zones that can be transferred. */
export interface TransferableZones {
  /** The zone with exactly this apex, lower-cased in wire form. */
  find(name: Uint8Array, length: number): TransferableZone | undefined;
  /** Whether a name is in one of the zones, or may be in a zone that has another apex. */
  concerns(name: Uint8Array, length: number): boolean;
}
