import { encodeKey, MAX_NAME_BYTES, NameTable, prependLabels } from '@kube-dns/wire';
import {
  type AddressSize,
  addressTexts,
  countOf,
  dashedLabel,
  type EndpointGroup,
  type EndpointSlice,
  IPV4_BYTES,
  IPV6_BYTES,
  joinPorts,
  type PackedAddresses,
  type PortList,
} from '../watch/projections.js';
import type { ServiceImport } from '../watch/service-imports.js';
import { SoaRecord } from './soa-record.js';

/** An endpoint of a headless import, or several with the same hostname in one cluster. */
export interface ImportedHost {
  /** `HOST.CLUSTER.S.N.svc.<zone>` in wire form; empty where that is too long for a name. */
  readonly name: Uint8Array;
  ipv4: PackedAddresses;
  ipv6: PackedAddresses;
  ports: PortList;
}

/** What the names of one import are answered with. */
export interface ImportContent {
  /** Of an import that is headless; their order is that of the slices. */
  readonly hosts: readonly ImportedHost[];
  /** By the labels before the name of the import; null for a name above those of hosts. */
  readonly byLabels: NameTable<ImportedHost | null>;
  /** Endpoints without a name, as it would be too long, or there are too many; those are in no answer. */
  readonly leftOut: number;
}

/** An import as it was at one time. Its parts are never changed, only replaced. */
export interface ImportState {
  /** `S.N.svc.<zone>` in wire form. */
  readonly name: Uint8Array;
  readonly object: ServiceImport;
  /** Of a headless one; others have none. */
  readonly content: () => ImportContent;
}

/** More endpoints of one import have no names: they would take too long to be indexed, and fit into no answer. */
const MAX_HOSTS = 4_096;

/** A ServiceImport, and the slices of its endpoints; these may arrive before it. */
export class ImportedService {
  /** `namespace/name`. */
  readonly key: string;
  /** `S.N.svc.<zone>` in wire form. */
  readonly name: Uint8Array;
  object: ServiceImport | undefined;
  readonly #slices = new Set<EndpointSlice>();
  #endpointCount = 0;
  #content: ImportContent | undefined;

  constructor(key: string, name: Uint8Array) {
    this.key = key;
    this.name = name;
  }

  get isEmpty(): boolean {
    return this.object === undefined && this.#slices.size === 0;
  }

  /** Whether it has records: its addresses, or those of an endpoint that is ready. */
  get hasRecords(): boolean {
    const { object } = this;
    if (object === undefined) return false;
    if (!object.isHeadless) return countOf(object.ipv4) + countOf(object.ipv6) > 0;
    return this.#endpointCount > 0;
  }

  /** Of all clusters; one that is in two slices counts twice. */
  get endpointCount(): number {
    return this.#endpointCount;
  }

  /** The clusters of its slices. */
  get clusters(): string[] {
    return [...new Set(Array.from(this.#slices, ({ imported }) => imported!.cluster))].sort();
  }

  /** Made at the first use after a change. */
  get content(): ImportContent {
    const isHeadless = this.object?.isHeadless === true;
    return (this.#content ??= contentOf(this.name, isHeadless ? this.#slices : []));
  }

  addSlice(slice: EndpointSlice): void {
    this.#slices.add(slice);
    this.#endpointCount += endpointsIn(slice);
    this.#content = undefined;
  }

  dropSlice(slice: EndpointSlice): void {
    if (!this.#slices.delete(slice)) return;
    this.#endpointCount -= endpointsIn(slice);
    this.#content = undefined;
  }

  put(object: ServiceImport | undefined): void {
    this.object = object;
    this.#content = undefined;
  }

  /** As it is now; undefined without a ServiceImport, and without records. */
  get state(): ImportState | undefined {
    const { object, name } = this;
    if (object === undefined || !this.hasRecords) return undefined;
    const made = this.#content;
    const slices = made === undefined && object.isHeadless ? [...this.#slices] : [];
    return { name, object, content: () => made ?? contentOf(name, slices) };
  }
}

function contentOf(service: Uint8Array, slices: Iterable<EndpointSlice>): ImportContent {
  const hosts: ImportedHost[] = [];
  const byLabels = new NameTable<ImportedHost | null>();
  let leftOut = 0;
  for (const { groups, imported } of slices) {
    const clusters = imported!.cluster.split('.');
    for (const group of groups) {
      for (const [i, address] of addressTexts(group).entries()) {
        const hostname = group.labels?.[i] ?? '';
        const label = hostname === '' ? dashedLabel(address) : hostname;
        const before = prependLabels([label, ...clusters], NO_LABELS);
        const labels = before.subarray(0, before.length - 1);
        const known = byLabels.get(labels, 0, labels.length);
        if (known) {
          addTo(known, group, i);
          continue;
        }
        const isTooLong = labels.length + service.length > MAX_NAME_BYTES;
        if (isTooLong || hosts.length === MAX_HOSTS) leftOut++;
        if (hosts.length === MAX_HOSTS) continue;
        const host = hostOf(labels, isTooLong ? NO_NAME : service, group, i);
        hosts.push(host);
        if (isTooLong) continue;
        byLabels.set(labels, host);
        for (let at = labels[0]! + 1; at < labels.length; at += labels[at]! + 1) {
          const above = labels.subarray(at);
          if (byLabels.get(above, 0, above.length) === undefined) byLabels.set(above, null);
        }
      }
    }
  }
  return { hosts, byLabels, leftOut };
}

function endpointsIn({ groups }: EndpointSlice): number {
  return groups.reduce((sum, group) => sum + countOf(group), 0);
}

/** A name without labels, which others are put before. */
const NO_LABELS = Uint8Array.of(0);
const NO_NAME = new Uint8Array(0);

function joined(labels: Uint8Array, name: Uint8Array): Uint8Array {
  const whole = new Uint8Array(labels.length + name.length);
  whole.set(labels);
  whole.set(name, labels.length);
  return whole;
}

function hostOf(
  labels: Uint8Array,
  name: Uint8Array,
  group: EndpointGroup,
  i: number,
): ImportedHost {
  const host = {
    name: name === NO_NAME ? NO_NAME : joined(labels, name),
    ipv4: { size: IPV4_BYTES, bytes: '' },
    ipv6: { size: IPV6_BYTES, bytes: '' },
    ports: group.ports,
  } as const satisfies ImportedHost;
  addTo(host, group, i);
  return host;
}

/** Adds an endpoint to a host, unless it is known: it may be in two slices. */
function addTo(host: ImportedHost, group: EndpointGroup, i: number): void {
  const { size, ports } = group;
  const address = group.bytes.slice(i * size, (i + 1) * size);
  const family = size === IPV4_BYTES ? 'ipv4' : 'ipv6';
  const { bytes } = host[family];
  for (let at = 0; at < bytes.length; at += size) if (bytes.startsWith(address, at)) return;
  host[family] = { size, bytes: bytes + address };
  if (host.ports !== ports) host.ports = joinPorts(host.ports, ports);
}

/** Takes the names whose records changed. */
interface Changes {
  readonly isObserved: boolean;
  add(name: Uint8Array): void;
}

/** The service whose addresses are those of `ns.dns.<zone>`. */
const DNS_SERVICE = 'kube-system/kube-dns';

export interface ImportedZoneOptions {
  /** As `clusterset.local.`; every label is valid. */
  readonly domain: string;
  /** The SOA's minimum, in seconds. */
  readonly negativeTtlSeconds: number;
  readonly changes: Changes;
  readonly now?: () => number;
}

/**
 * The services that are imported from other clusters (KEP-1645), by their names. As in the zone of the cluster, records are
 * made of the objects when they are asked for.
 */
export class ImportedZone {
  readonly apex: Uint8Array;
  /** `svc.<zone>`. */
  readonly services: Uint8Array;
  readonly #soa: SoaRecord;
  readonly #changes: Changes;
  readonly #imports = new Map<string, ImportedService>();
  /** By the labels of service and namespace. */
  readonly #byLabels = new NameTable<ImportedService>();
  /** How many imports a namespace has; none has 0. */
  readonly #namespaces = new Map<string, number>();

  constructor(options: ImportedZoneOptions) {
    this.apex = encodeKey(options.domain);
    this.services = prependLabels(['svc'], this.apex);
    this.#changes = options.changes;
    this.#soa = new SoaRecord(options);
  }

  get soaRdata(): Uint8Array {
    return this.#soa.rdata;
  }

  /** A copy of the SOA's data for a secondary: the next change has a newer serial. */
  tellSoa(): Uint8Array {
    return this.#soa.tell();
  }

  /** Those with a ServiceImport, by `namespace/name`; some have no records now. */
  get imports(): ReadonlyMap<string, ImportedService> {
    return this.#imports;
  }

  /** Endpoints without a name: it would be too long, or there are too many. They are counted anew each time. */
  countLeftOut(): number {
    let sum = 0;
    for (const each of this.#imports.values()) sum += each.content.leftOut;
    return sum;
  }

  /** The import with these lower-cased labels of service and namespace; undefined when there is no ServiceImport. */
  find(bytes: Uint8Array, start: number, end: number): ImportedService | undefined {
    const found = this.#byLabels.get(bytes, start, end);
    return found?.object === undefined ? undefined : found;
  }

  /** A ServiceImport was added, changed or deleted. Throws for a name that is too long for this zone. */
  putImport(key: string, object: ServiceImport | undefined): void {
    const entry = object === undefined ? this.#imports.get(key) : this.#entryOf(key);
    if (entry === undefined) return;
    entry.put(object);
    this.#settle(entry);
  }

  replaceSlice(before: EndpointSlice | undefined, after: EndpointSlice | undefined): void {
    const from = before?.imported;
    const to = after?.imported;
    if (from === undefined && to === undefined) return;
    const last = from && this.#imports.get(from.service);
    last?.dropSlice(before!);
    const entry = to && this.#entryOf(to.service);
    entry?.addSlice(after!);
    if (last !== undefined && last !== entry) this.#settleSlices(last);
    if (entry !== undefined) this.#settleSlices(entry);
  }

  /** It exists in this zone where it does in the cluster, and so do its imports. */
  putNamespace(name: string): void {
    if (this.#namespaces.has(name)) this.#soa.change();
    if (this.#changes.isObserved) this.#changes.add(prependLabels([name], this.services));
  }

  /** A service of the cluster changed: one has the addresses of the zone's name server. */
  putService(key: string): void {
    if (key !== DNS_SERVICE) return;
    this.#soa.change();
    this.#announce(prependLabels(['ns', 'dns'], this.apex));
  }

  /** Whether imports are only where their namespace is changed: see ImportedNames. */
  noteChange(): void {
    this.#soa.change();
  }

  /** The slices of an import with addresses of its own are in no answer. */
  #settleSlices(entry: ImportedService): void {
    if (entry.object?.isHeadless === true) this.#settle(entry);
    else this.#dropUnused(entry);
  }

  #settle(entry: ImportedService): void {
    this.#soa.change();
    this.#announce(entry.name);
    this.#dropUnused(entry);
  }

  #announce(name: Uint8Array): void {
    if (this.#changes.isObserved) this.#changes.add(name);
  }

  #dropUnused(entry: ImportedService): void {
    if (!entry.isEmpty) return;
    this.#imports.delete(entry.key);
    this.#byLabels.delete(this.#labelsOf(entry.name));
    this.#countIn(namespaceOf(entry.key), -1);
  }

  #entryOf(key: string): ImportedService {
    const found = this.#imports.get(key);
    if (found !== undefined) return found;
    const [namespace = '', service = ''] = key.split('/');
    const entry = new ImportedService(key, prependLabels([service, namespace], this.services));
    this.#imports.set(key, entry);
    this.#byLabels.set(this.#labelsOf(entry.name), entry);
    this.#countIn(namespace, 1);
    return entry;
  }

  #countIn(namespace: string, difference: number): void {
    const count = (this.#namespaces.get(namespace) ?? 0) + difference;
    if (count > 0) this.#namespaces.set(namespace, count);
    else this.#namespaces.delete(namespace);
  }

  #labelsOf(name: Uint8Array): Uint8Array {
    return name.subarray(0, name.length - this.services.length);
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

/** The addresses of a host, or of an import, of one family. */
export function addressesOf(
  of: Pick<ImportedHost, 'ipv4' | 'ipv6'>,
  size: AddressSize,
): PackedAddresses {
  return size === IPV4_BYTES ? of.ipv4 : of.ipv6;
}
