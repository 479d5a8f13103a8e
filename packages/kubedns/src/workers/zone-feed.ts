import type { Follower } from '@kube-dns/daemon';
import type { RecordKeeper } from '../cluster/cluster-state.js';
import type { EndpointSlice } from '../cluster/endpoint-slice.js';
import type { Service } from '../cluster/service.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { Change, NumberedSlice } from './worker-messages.js';

/**
 * Stands between the watch and the leader's zone and passes everything on to the workers' zones, which
 * are told the same in the same order. A clone of a slice is not the slice, so slices have numbers.
 */
export class ZoneFeed implements RecordKeeper {
  readonly #zone: ClusterZone;
  readonly #followers = new Set<Follower<Change>>();
  readonly #numbers = new Map<EndpointSlice, number>();
  #lastNumber = 0;

  constructor(zone: ClusterZone) {
    this.#zone = zone;
  }

  follow(follower: Follower<Change>): void {
    this.#followers.add(follower);
  }

  unfollow(follower: Follower<Change>): void {
    this.#followers.delete(follower);
  }

  /** Tells every follower; for what is not the zone's, in its place among the changes. */
  tell(change: Change): void {
    for (const follower of this.#followers) follower(change);
  }

  // The zone throws for what it refuses, after it has forgotten the state before; a worker's does so too.

  putService(key: string, service: Service | undefined): void {
    this.tell(['service', key, service]);
    this.#zone.putService(key, service);
  }

  replaceSlice(before: EndpointSlice | undefined, after: EndpointSlice | undefined): void {
    const number = before && this.#numbers.get(before);
    if (before !== undefined) this.#numbers.delete(before);
    this.tell(['slice', number, after && this.#numbered(after)]);
    this.#zone.replaceSlice(before, after);
  }

  putNamespace(name: string, exists: boolean): void {
    this.tell(['namespace', name, exists]);
    this.#zone.putNamespace(name, exists);
  }

  /**
   * All that the zone knows, for who followed before: each piece is the state at the moment when it is
   * taken, and changes of what was not taken yet may have been told already.
   */
  *snapshot(): Generator<Change, void> {
    for (const [name, namespace] of this.#zone.namespaces) {
      if (namespace.isDeclared) yield ['namespace', name, true];
      for (const { key, service, slices } of namespace.services.values()) {
        yield ['whole', key, service, slices.map((slice) => this.#numbered(slice))];
      }
    }
  }

  #numbered(slice: EndpointSlice): NumberedSlice {
    let number = this.#numbers.get(slice);
    if (number === undefined) this.#numbers.set(slice, (number = ++this.#lastNumber));
    return [number, slice];
  }
}
