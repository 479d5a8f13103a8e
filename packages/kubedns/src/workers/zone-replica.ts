import type { EndpointSlice } from '../cluster/endpoint-slice.js';
import type { Kept } from '../cluster/object-store.js';
import type { Service } from '../cluster/service.js';
import { ClusterZone, type ClusterZoneOptions } from '../zone/cluster-zone.js';
import type { Batch, Change, Facts, NumberedSlice } from './worker-messages.js';

/** A worker's zone: equal to the leader's after each batch, in its records, their order and its serial. */
export class ZoneReplica {
  readonly zone: ClusterZone;
  readonly #onFacts: (facts: Facts) => void;
  readonly #slices = new Map<number, EndpointSlice>();

  /** `serial` is that of the leader's zone; `onFacts` hears what is not the zone's, in its place. */
  constructor(
    options: Omit<ClusterZoneOptions, 'now'>,
    serial: number,
    onFacts: (facts: Facts) => void,
  ) {
    this.#onFacts = onFacts;
    this.zone = new ClusterZone(options);
    this.zone.serial = serial;
  }

  take({ changes, serial }: Batch): void {
    for (const change of changes) {
      try {
        this.#apply(change);
      } catch {
        // The leader's zone has refused the same, and the log says so.
      }
    }
    // The time of the last change is the leader's to tell: it may have been nothing new here.
    this.zone.serial = serial;
  }

  #apply(change: Change): void {
    switch (change[0]) {
      case 'service':
        this.#putService(change[1], change[2]);
        break;
      case 'slice':
        this.#replaceSlice(change[1], change[2]);
        break;
      case 'namespace':
        this.zone.putNamespace(change[1], change[2]);
        break;
      case 'whole':
        this.#putWhole(change[1], change[2], change[3]);
        break;
      case 'facts':
        this.zone.knowsNamespaces = change[1].knowsNamespaces;
        this.#onFacts(change[1]);
    }
  }

  #putService(key: string, service: Service | undefined): void {
    if (service !== undefined) forgetVersion(service);
    this.zone.putService(key, service);
  }

  #replaceSlice(number: number | undefined, after: NumberedSlice | undefined): void {
    // None when the slice came before this worker, and its service was not told whole yet.
    const before = number === undefined ? undefined : this.#slices.get(number);
    if (number !== undefined) this.#slices.delete(number);
    if (after !== undefined) {
      this.#slices.set(after[0], after[1]);
      forgetVersion(after[1]);
    }
    this.zone.replaceSlice(before, after?.[1]);
  }

  #putWhole(key: string, service: Service | undefined, slices: readonly NumberedSlice[]): void {
    for (const slice of this.#slicesOf(key)) this.zone.replaceSlice(slice, undefined);
    this.#putService(key, service);
    for (const numbered of slices) this.#replaceSlice(undefined, numbered);
  }

  /** Those that were told before their service was told whole; their numbers are told again. */
  #slicesOf(key: string): EndpointSlice[] {
    const [namespace = '', name = ''] = key.split('/');
    return [...(this.zone.namespaces.get(namespace)?.services.get(name)?.slices ?? [])];
  }
}

/** Only the watch compares versions. */
function forgetVersion(kept: Kept): void {
  kept.version = '';
}
