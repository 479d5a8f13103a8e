import { overlaps, type PublishedZones } from '@kube-dns/push';
import { encodeKey, RCODE } from '@kube-dns/wire';

const REVERSE_ZONES = ['in-addr.arpa', 'ip6.arpa'].map(encodeKey);

/** The cluster's zone and those of reverse names: what changes there is told. */
export class ClusterZones implements PublishedZones {
  readonly apex: Uint8Array;
  readonly isKnown = true;
  readonly #isSynced: () => boolean;

  /** `isSynced`: the zone is complete; before, a change is no news. */
  constructor(apex: Uint8Array, isSynced: () => boolean) {
    this.apex = apex;
    this.#isSynced = isSynced;
  }

  /** Names of a zone can be told that is one of ours, or above or below one. */
  rcodeFor(zone: Uint8Array): number {
    const isTold = [this.apex, ...REVERSE_ZONES].some((own) => overlaps(own, zone));
    if (!isTold) return RCODE.NOTAUTH;
    return this.#isSynced() ? RCODE.NOERROR : RCODE.SERVFAIL;
  }
}
