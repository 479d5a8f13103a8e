import { overlaps, type PublishedZones } from '@kube-dns/push';
import { encodeKey, encodeReverseName, prependLabels, RCODE } from '@kube-dns/wire';
import type {
  EndpointGroup,
  EndpointSlice,
  PackedAddresses,
  RecordStore,
  Service,
} from '../watch/projections.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { ZoneService } from '../zone/zone-service.js';

/** Takes the names whose records changed. */
export interface ZoneChanges {
  /** Whether there are subscribers. */
  readonly isObserved: boolean;
  /** Whether names are taken; else they need not be found. */
  readonly takesNames: boolean;
  /** The records of a name, lower-cased in wire form, or of names below it. */
  add(name: Uint8Array): void;
}

/** The service whose addresses are those of `ns.dns.<zone>`. */
const DNS_SERVICE = 'kube-system/kube-dns';

/** Passes changes on to the zone, and announces the names whose records they change. */
export class AnnouncedRecords implements RecordStore {
  readonly #zone: ClusterZone;
  readonly #changes: ZoneChanges;
  readonly #pods: Uint8Array;
  readonly #nameServer: Uint8Array;

  constructor(zone: ClusterZone, changes: ZoneChanges) {
    this.#zone = zone;
    this.#changes = changes;
    this.#pods = prependLabels(['pod'], zone.apex);
    this.#nameServer = prependLabels(['ns', 'dns'], zone.apex);
  }

  putService(key: string, service: Service | undefined): void {
    if (!this.#changes.isObserved) {
      this.#zone.putService(key, service);
      return;
    }
    const [namespace = ''] = key.split('/');
    const hadNamespace = this.#hasNamespace(namespace);
    const before = this.#find(key);
    const hasOtherAddresses = !hasSameAddresses(before?.service, service);
    if (hasOtherAddresses) this.#addAddressesOf(before);
    this.#addService(before);
    this.#zone.putService(key, service);
    const after = this.#find(key);
    if (hasOtherAddresses) this.#addAddressesOf(after);
    if (before === undefined) this.#addService(after);
    if (this.#hasNamespace(namespace) !== hadNamespace) this.#addNamespace(namespace);
    if (key === DNS_SERVICE) this.#changes.add(this.#nameServer);
  }

  replaceSlice(before: EndpointSlice | undefined, after: EndpointSlice | undefined): void {
    // A name that is too long for the zone ends the change half-way.
    if (this.#changes.isObserved) this.#announceSlice(before, after);
    this.#zone.replaceSlice(before, after);
  }

  putNamespace(name: string, exists: boolean): void {
    if (!this.#changes.isObserved) {
      this.#zone.putNamespace(name, exists);
      return;
    }
    const had = this.#hasNamespace(name);
    this.#zone.putNamespace(name, exists);
    if (this.#hasNamespace(name) !== had) this.#addNamespace(name);
  }

  /** Of a service with an address, endpoints are in no answer, but whether there are any is in federated ones. */
  #announceSlice(before: EndpointSlice | undefined, after: EndpointSlice | undefined): void {
    if (before?.service === after?.service) {
      this.#announceEndpoints(before?.service, before, after);
    } else {
      this.#announceEndpoints(before?.service, before, undefined);
      this.#announceEndpoints(after?.service, undefined, after);
    }
  }

  #announceEndpoints(
    key = '',
    before: EndpointSlice | undefined,
    after: EndpointSlice | undefined,
  ): void {
    const entry = this.#find(key);
    const isAnswered = this.#zone.hasFederations && entry?.service !== undefined;
    if (isAnswered || entry?.isHeadless === true) this.#addService(entry);
    if (entry?.isHeadless !== true) return;
    this.#addAddressesBeside(before, after);
    this.#addAddressesBeside(after, before);
  }

  #find(key: string): ZoneService | undefined {
    const slash = key.indexOf('/');
    const namespace = this.#zone.namespaces.get(key.slice(0, slash));
    return namespace?.services.get(key.slice(slash + 1));
  }

  #hasNamespace(name: string): boolean {
    return this.#zone.hasNamespace(encodeKey(name), 0);
  }

  #addService(entry: ZoneService | undefined): void {
    if (entry !== undefined) this.#changes.add(this.#zone.index.nameOf(entry.number));
  }

  #addNamespace(name: string): void {
    this.#changes.add(prependLabels([name], this.#zone.services));
    this.#changes.add(prependLabels([name], this.#pods));
  }

  #addAddressesOf(entry: ZoneService | undefined): void {
    const { service } = entry ?? {};
    if (entry === undefined || service === undefined || service.kind === 'external-name') return;
    const slices = entry.isHeadless ? entry.slices.flatMap(({ groups }) => groups) : [];
    for (const addresses of [service.ipv4, service.ipv6, ...slices]) {
      for (let at = 0; at < addresses.bytes.length; at += addresses.size) {
        this.#addAddress(addresses, at);
      }
    }
  }

  /** The reverse name of the address at an offset among others. */
  #addAddress({ size, bytes }: PackedAddresses, at: number): void {
    if (!this.#changes.takesNames) return;
    const address = Buffer.from(bytes.slice(at, at + size), 'latin1');
    this.#changes.add(encodeReverseName(address));
  }

  /** Adds the addresses of a slice that the other state of it does not have, or with another label. Most are in the same place. */
  #addAddressesBeside(slice: EndpointSlice | undefined, other: EndpointSlice | undefined): void {
    let others: ReadonlySet<string> | undefined;
    for (const [i, group] of (slice?.groups ?? []).entries()) {
      const twin = other?.groups[i];
      for (let at = 0; at < group.bytes.length; at += group.size) {
        if (twin !== undefined && isSameEndpoint(group, twin, at)) continue;
        others ??= endpointTexts(other);
        if (!others.has(endpointText(group, at))) this.#addAddress(group, at);
      }
    }
  }
}

/** Whether a service that changes has the same reverse names: those of its addresses, or of its endpoints, which are the same. */
function hasSameAddresses(before: Service | undefined, after: Service | undefined): boolean {
  return (
    before !== undefined &&
    before.kind === after?.kind &&
    before.ipv4.bytes === after.ipv4.bytes &&
    before.ipv6.bytes === after.ipv6.bytes
  );
}

/** Whether the endpoint at an offset of one group is at the same one of another group, with its label. */
function isSameEndpoint(one: EndpointGroup, other: EndpointGroup, at: number): boolean {
  const { size, bytes } = one;
  if (other.size !== size || labelAt(one, at) !== labelAt(other, at)) return false;
  for (let i = at; i < at + size; i++) {
    if (bytes.charCodeAt(i) !== other.bytes.charCodeAt(i)) return false;
  }
  return true;
}

function endpointTexts(slice: EndpointSlice | undefined): ReadonlySet<string> {
  const texts = new Set<string>();
  for (const group of slice?.groups ?? []) {
    for (let at = 0; at < group.bytes.length; at += group.size) texts.add(endpointText(group, at));
  }
  return texts;
}

function endpointText(group: EndpointGroup, at: number): string {
  return `${labelAt(group, at)}/${group.bytes.slice(at, at + group.size)}`;
}

function labelAt({ labels, size }: EndpointGroup, at: number): string {
  return labels?.[at / size] ?? '';
}

const REVERSE_ZONES = ['in-addr.arpa', 'ip6.arpa'].map(encodeKey);

/** So long without a contact with the API server, and it is not known whether there are changes. */
const MAX_NO_CONTACT_MS = 10_000;

interface OtherZones {
  /** Zones whose answers have their TTL, and go with the changes of the names that they lead to; none unless given. */
  readonly unannounced?: readonly Uint8Array[];
  /** Whether names of any zone are announced, as those of hosts are; never unless given. */
  readonly mayBeAny?: () => boolean;
}

/**
 * The cluster's zone and those of reverse names: what changes there is announced. Before the zone is complete, or while it is of a
 * snapshot, there is no change to announce: who subscribes is better off with another replica, or with the TTLs.
 */
export function clusterZones(
  apex: Uint8Array,
  watch: {
    readonly isSynced: boolean;
    readonly isFromSnapshot: boolean;
    readonly noContactMs: number;
  },
  version: { readonly bytes: Uint8Array | undefined },
  /** Of other zones whose changes are announced. */
  beside: readonly Uint8Array[] = [],
  others: OtherZones = {},
): PublishedZones {
  const { unannounced = [], mayBeAny = () => false } = others;
  return {
    apex,
    beside,
    unannounced,
    get isKnown() {
      return !watch.isFromSnapshot && watch.noContactMs <= MAX_NO_CONTACT_MS;
    },
    get version() {
      return version.bytes;
    },
    // It is to be one of ours, or above or below one.
    rcodeFor: (zone) => {
      const all = [apex, ...beside, ...unannounced, ...REVERSE_ZONES];
      if (!mayBeAny() && !all.some((own) => overlaps(own, zone))) return RCODE.NOTAUTH;
      return watch.isSynced && !watch.isFromSnapshot ? RCODE.NOERROR : RCODE.SERVFAIL;
    },
  };
}
