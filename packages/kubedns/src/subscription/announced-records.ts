import { encodeKey, prependLabels } from '@kube-dns/wire';
import type { RecordStore } from '../cluster/cluster-state.js';
import type { EndpointGroup, EndpointSlice } from '../cluster/endpoint-slice.js';
import type { PackedAddresses } from '../cluster/packed-addresses.js';
import type { Service } from '../cluster/service.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { ZoneService } from '../zone/zone-service.js';

/** Is told the names whose records changed. */
export interface ZoneChanges {
  /** Whether anybody wants to know; else the names need not be found. */
  readonly isWatched: boolean;
  /** The records of a name, lower-cased in wire form, or of names below it. */
  add(name: Uint8Array): void;
  /** The records of the reverse name of an address, which is at an offset among others. */
  addAddress(addresses: PackedAddresses, at: number): void;
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
    if (!this.#changes.isWatched) return this.#zone.putService(key, service);
    const [namespace = '', name = ''] = key.split('/');
    const hadNamespace = this.#hasNamespace(namespace);
    this.#addAddressesOf(this.#zone.namespaces.get(namespace)?.services.get(name));
    this.#zone.putService(key, service);
    this.#addAddressesOf(this.#zone.namespaces.get(namespace)?.services.get(name));
    this.#addService(key);
    if (this.#hasNamespace(namespace) !== hadNamespace) this.#addNamespace(namespace);
    if (key === DNS_SERVICE) this.#changes.add(this.#nameServer);
  }

  replaceSlice(before: EndpointSlice | undefined, after: EndpointSlice | undefined): void {
    this.#zone.replaceSlice(before, after);
    if (!this.#changes.isWatched) return;
    const keys = new Set([before?.service ?? '', after?.service ?? '']);
    keys.delete('');
    // Of a service with an address they are in no answer, but whether there are any is in federated ones.
    const isAnswered = Array.from(keys).some((key) => this.#isHeadless(key));
    if (!isAnswered && !this.#zone.hasFederations) return;
    for (const key of keys) this.#addService(key);
    if (keys.size > 1) this.#addChangedAddresses(before, undefined);
    this.#addChangedAddresses(keys.size > 1 ? undefined : before, after);
  }

  putNamespace(name: string, exists: boolean): void {
    if (!this.#changes.isWatched) return this.#zone.putNamespace(name, exists);
    const had = this.#hasNamespace(name);
    this.#zone.putNamespace(name, exists);
    if (this.#hasNamespace(name) !== had) this.#addNamespace(name);
  }

  #isHeadless(key: string): boolean {
    const [namespace = '', name = ''] = key.split('/');
    return this.#zone.namespaces.get(namespace)?.services.get(name)?.isHeadless ?? false;
  }

  #hasNamespace(name: string): boolean {
    return this.#zone.hasNamespace(encodeKey(name), 0);
  }

  #addService(key: string): void {
    const [namespace = '', name = ''] = key.split('/');
    this.#changes.add(prependLabels([name, namespace], this.#zone.services));
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
        this.#changes.addAddress(addresses, at);
      }
    }
  }

  /** Adds the addresses that came, went, or have another label now. */
  #addChangedAddresses(before: EndpointSlice | undefined, after: EndpointSlice | undefined): void {
    const labels = new Map<string, string>();
    eachAddress(before, (group, at, address) => labels.set(address, labelAt(group, at)));
    const kept = new Set<string>();
    eachAddress(after, (group, at, address) => {
      if (labels.get(address) === labelAt(group, at)) kept.add(address);
      else this.#changes.addAddress(group, at);
    });
    eachAddress(before, (group, at, address) => {
      if (!kept.has(address)) this.#changes.addAddress(group, at);
    });
  }
}

function eachAddress(
  slice: EndpointSlice | undefined,
  look: (group: EndpointGroup, at: number, address: string) => void,
): void {
  for (const group of slice?.groups ?? []) {
    for (let at = 0; at < group.bytes.length; at += group.size) {
      look(group, at, group.bytes.slice(at, at + group.size));
    }
  }
}

function labelAt({ size, labels }: EndpointGroup, at: number): string {
  return labels?.[at / size] ?? '';
}
