import { type Trace, TraceKind } from '@kube-dns/base';
import {
  type AnswerWriter,
  encodeKey,
  MAX_NAME_BYTES,
  NameTable,
  nameBytes,
  prependLabels,
  RCODE,
  SECTION,
  suffixOffset,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import type { LocalNames } from '../answer/local-names.js';
import type { ZoneChanges } from '../subscription/announced-records.js';
import {
  type HostRecords,
  isSameHost,
  equalPorts,
  type PortList,
  type Service,
} from '../watch/projections.js';
import { SoaRecord } from '../zone/soa-record.js';
import { ZoneName } from '../zone/zone-names.js';
import { HostAnswers, targetFor } from './host-answers.js';
import { privateReverseNames, ReverseNames } from './reverse-names.js';

export interface ExternalZoneOptions {
  /** The zone, as `example.com.`. */
  readonly domain: string;
  readonly ttlSeconds: number;
  readonly negativeTtlSeconds: number;
  /** Takes the names whose records changed. */
  readonly changes: ZoneChanges;
  readonly isSynced: () => boolean;
  /** The addresses of this server, for its own name in the zone; those of the DNS service outside of the cluster come first. */
  readonly ownRecords: () => HostRecords;
  readonly now?: (() => number) | undefined;
  readonly random?: () => number;
}

/** A service with an address outside of the cluster. */
export interface OutsideService {
  /** `namespace/name`. */
  readonly key: string;
  /** `<service>.<namespace>.<zone>`. */
  readonly name: Uint8Array;
  readonly records: HostRecords;
  readonly ports: PortList;
  /** The reverse names that lead to it. */
  readonly reverse: readonly Uint8Array[];
}

/** The kind of a name in the zone; `interior` names exist without records (RFC 4592 section 2.2.2). */
type Kind = 'apex' | 'interior' | 'name-server' | 'service' | 'port' | 'reverse' | 'absent';

/** What a name of the zone led to, for its explanation. */
export interface ExternalFinding {
  readonly kind: Kind;
  readonly service: OutsideService | undefined;
}

export const EXTERNAL_FOUND = new TraceKind<ExternalFinding>();

/** The service whose outside addresses are those of the zone's name server. */
const DNS_SERVICE = 'kube-system/kube-dns';
/** As in the cluster's zone. */
const SRV_PRIORITY = 10;
const SRV_TOTAL_WEIGHT = 100;
const SRV_TARGET_OFFSET = 6;
const NO_PORT = 0;

/**
 * The zone of `--external-domain`: the services that have an address outside of the cluster, under `<service>.<namespace>`. Nothing
 * else of the cluster is in it: a namespace without such a service does not exist, and neither does a service without an address.
 */
export class ExternalZone implements LocalNames {
  readonly apex: Uint8Array;
  readonly #options: ExternalZoneOptions;
  readonly #soa: SoaRecord;
  readonly #nameServer: Uint8Array;
  readonly #answers: HostAnswers;
  /** By the labels of service and namespace. */
  readonly #services = new NameTable<OutsideService>();
  readonly #byKey = new Map<string, OutsideService>();
  /** The number of these services, by the label of the namespace. */
  readonly #namespaces = new NameTable<number>();
  readonly #reverse = new ReverseNames();
  readonly #name = new ZoneName();
  readonly #srv = new Uint8Array(SRV_TARGET_OFFSET + MAX_NAME_BYTES);
  /** How many names are too long for the zone. */
  #tooLong = 0;
  #kind: Kind = 'absent';
  #service: OutsideService | undefined;
  /** The ports that a name of the kind `port` asks for. */
  #firstPort = 0;
  #endPort = 0;

  constructor(options: ExternalZoneOptions) {
    const { domain, negativeTtlSeconds, ttlSeconds, now, random } = options;
    this.#options = options;
    this.apex = encodeKey(domain);
    this.#soa = new SoaRecord({ domain, negativeTtlSeconds, now });
    this.#nameServer = prependLabels(['ns', 'dns'], this.apex);
    this.#answers = new HostAnswers(ttlSeconds, random);
  }

  get soaRdata(): Uint8Array {
    return this.#soa.rdata;
  }

  /** A copy of the SOA's data for a secondary: the next change has a newer serial. */
  tellSoa(): Uint8Array {
    return this.#soa.tell();
  }

  get isSynced(): boolean {
    return this.#options.isSynced();
  }

  /** The services of the zone. */
  get services(): Iterable<OutsideService> {
    return this.#byKey.values();
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Services whose names are too long for the zone. */
  get tooLong(): number {
    return this.#tooLong;
  }

  /** A service was added, changed or deleted (undefined). */
  putService(key: string, service: Service | undefined): void {
    const before = this.#byKey.get(key);
    const after = this.#read(key, service, before);
    if (key === DNS_SERVICE) this.#add(this.#nameServer);
    if (before === after) return;
    if (before !== undefined) this.#remove(before);
    if (after !== undefined) this.#insert(after);
    this.#soa.change();
    this.#announce(before ?? after!, before?.reverse, after?.reverse);
  }

  /** What the service has in the zone; the same object as before where nothing of it changed. */
  #read(
    key: string,
    service: Service | undefined,
    before: OutsideService | undefined,
  ): OutsideService | undefined {
    const records = service?.outside;
    if (service === undefined || records === undefined) return undefined;
    const { ports } = service;
    if (before !== undefined) {
      if (isSameHost(before.records, records) && equalPorts(before.ports, ports)) return before;
    }
    const name = this.#nameOf(key);
    if (name === undefined) return undefined;
    return { key, name, records, ports, reverse: privateReverseNames(records) };
  }

  /** Undefined where it is too long. */
  #nameOf(key: string): Uint8Array | undefined {
    const [namespace = '', name = ''] = key.split('/');
    if (name.length + namespace.length + 2 + this.apex.length > MAX_NAME_BYTES) {
      this.#tooLong++;
      return undefined;
    }
    return prependLabels([name, namespace], this.apex);
  }

  #insert(service: OutsideService): void {
    const { key, name, reverse } = service;
    const labels = name.subarray(0, name.length - this.apex.length);
    const namespace = labels.subarray(1 + labels[0]!);
    this.#services.set(labels, service);
    this.#byKey.set(key, service);
    const count = this.#namespaces.get(namespace, 0, namespace.length) ?? 0;
    this.#namespaces.set(namespace, count + 1);
    for (const each of reverse) this.#reverse.add(each, name);
  }

  #remove({ key, name, reverse }: OutsideService): void {
    const labels = name.subarray(0, name.length - this.apex.length);
    const namespace = labels.subarray(1 + labels[0]!);
    this.#services.delete(labels);
    this.#byKey.delete(key);
    const count = this.#namespaces.get(namespace, 0, namespace.length) ?? 0;
    if (count > 1) this.#namespaces.set(namespace, count - 1);
    else this.#namespaces.delete(namespace);
    for (const each of reverse) this.#reverse.remove(each, name);
  }

  #announce(
    { key, name }: OutsideService,
    before: readonly Uint8Array[] = [],
    after: readonly Uint8Array[] = [],
  ): void {
    if (!this.#options.changes.isObserved) return;
    this.#add(name);
    // Whether the namespace exists: negative answers about names below it are of that, too (RFC 8020).
    const namespaceAt = 1 + name[0]!;
    const label = name.subarray(namespaceAt, name.length - this.apex.length);
    const count = this.#namespaces.get(label, 0, label.length) ?? 0;
    if (count === 0 || (count === 1 && this.#byKey.has(key))) this.#add(name.slice(namespaceAt));
    for (const reverse of [...before, ...after]) this.#add(reverse);
  }

  #add(name: Uint8Array): void {
    const { changes } = this.#options;
    if (changes.isObserved) changes.add(name);
  }

  find(name: Uint8Array, length: number, trace?: Trace): boolean {
    const apexAt = suffixOffset(name, length, this.apex);
    this.#service = undefined;
    if (apexAt >= 0) this.#kind = this.#kindOf(name, length, apexAt);
    else if (this.#reverse.find(name, length)) this.#kind = 'reverse';
    else return false;
    trace?.note(EXTERNAL_FOUND, { kind: this.#kind, service: this.#service });
    return true;
  }

  #kindOf(bytes: Uint8Array, length: number, apexAt: number): Kind {
    const name = this.#name;
    name.read(bytes, length, apexAt);
    const { count } = name;
    if (count === 0) return 'apex';
    const isOfServer = name.is(0, 'dns');
    if (count === 1) {
      const exists = isOfServer || this.#namespaces.get(bytes, 0, apexAt) !== undefined;
      return exists ? 'interior' : 'absent';
    }
    if (count === 2 && isOfServer && name.is(1, 'ns')) return 'name-server';
    this.#service = this.#services.get(bytes, name.startOf(1), apexAt);
    if (this.#service === undefined || count > 4) return 'absent';
    if (count === 2) return 'service';
    return this.#portKind(this.#service.ports, count);
  }

  /** `_tcp` and `_http._tcp`: named ports alone. */
  #portKind({ ports }: PortList, count: number): Kind {
    const name = this.#name;
    if (!name.isService(2) || (count === 4 && !name.isService(3))) return 'absent';
    let first = 0;
    let end = 0;
    for (let i = 0; i < ports.length; i++) {
      const { name: portName, protocol } = ports[i]!;
      if (portName === '' || !this.#isLabel(2, protocol)) continue;
      if (count === 3) return 'interior';
      if (!this.#isLabel(3, portName)) continue;
      // Ports of one protocol and name are next to each other.
      if (end === 0) first = i;
      end = i + 1;
    }
    this.#firstPort = first;
    this.#endPort = end;
    return end > 0 ? 'port' : 'absent';
  }

  /** Whether a label is this text after its underscore. */
  #isLabel(fromApex: number, text: string): boolean {
    const { bytes } = this.#name;
    const at = this.#name.startOf(fromApex);
    if (bytes[at] !== text.length + 1) return false;
    for (let i = 0; i < text.length; i++) {
      if (bytes[at + 2 + i] !== text.charCodeAt(i)) return false;
    }
    return true;
  }

  targetOf(type: number): Uint8Array | undefined {
    const service = this.#kind === 'service' ? this.#service : undefined;
    return service === undefined ? undefined : targetFor(service.records, type);
  }

  answer(type: number, writer: AnswerWriter, owner?: Uint8Array): void {
    if (this.#kind === 'absent') this.#addNegative(writer, owner, RCODE.NXDOMAIN);
    else if (!this.#addRecords(type, writer, owner))
      this.#addNegative(writer, owner, RCODE.NOERROR);
  }

  /** False where the name has none of the type. */
  #addRecords(type: number, writer: AnswerWriter, owner: Uint8Array | undefined): boolean {
    const { ttlSeconds } = this.#options;
    switch (this.#kind) {
      case 'apex':
        return this.#addApex(type, writer, owner);
      case 'name-server':
        return this.#answers.add(this.serverRecords(), type, owner, writer);
      case 'reverse':
        return this.#reverse.answer(type, ttlSeconds, writer, owner);
      case 'service':
        return (
          this.#answers.add(this.#service!.records, type, owner, writer) ||
          (type === TYPE.SRV && this.#addServices(writer, owner, true))
        );
      case 'port':
        return (type === TYPE.SRV || type === TYPE.ANY) && this.#addServices(writer, owner, false);
      default:
        return false;
    }
  }

  #addApex(type: number, writer: AnswerWriter, owner: Uint8Array | undefined): boolean {
    const { ttlSeconds } = this.#options;
    if (type === TYPE.SOA || type === TYPE.ANY) {
      writer.add(SECTION.ANSWER, owner, TYPE.SOA, ttlSeconds, this.#soa.rdata);
      return true;
    }
    if (type !== TYPE.NS) return false;
    writer.add(SECTION.ANSWER, owner, TYPE.NS, ttlSeconds, this.#nameServer);
    this.#answers.addGlue(this.serverRecords(), this.#nameServer, writer);
    return true;
  }

  /** A name server has addresses: an alias would be no answer (RFC 2181 section 10.3). */
  serverRecords(): HostRecords {
    const outside = this.#byKey.get(DNS_SERVICE)?.records;
    return outside === undefined || outside.target !== undefined
      ? this.#options.ownRecords()
      : outside;
  }

  /** Adds the SRV records of all ports, or of those that the name asks for, with the addresses of their target. */
  #addServices(writer: AnswerWriter, owner: Uint8Array | undefined, areAll: boolean): boolean {
    const { records, ports, name } = this.#service!;
    const { ports: all, numbers } = ports;
    // A target must not be an alias (RFC 2782).
    const target = records.target ?? name;
    const first = areAll ? 0 : this.#firstPort;
    const count = areAll ? Math.max(numbers.length, 1) : this.#endPort - first;
    const weight = Math.floor(SRV_TOTAL_WEIGHT / count);
    const bytes = nameBytes(target);
    writeUint16(this.#srv, 0, SRV_PRIORITY);
    writeUint16(this.#srv, 2, weight);
    this.#srv.set(target, SRV_TARGET_OFFSET);
    for (let i = first; i < first + count; i++) {
      writeUint16(this.#srv, 4, (areAll ? numbers[i] : all[i]!.port) ?? NO_PORT);
      const { ttlSeconds } = this.#options;
      const length = SRV_TARGET_OFFSET + bytes;
      if (!writer.add(SECTION.ANSWER, owner, TYPE.SRV, ttlSeconds, this.#srv, length)) return true;
    }
    if (records.target === undefined) this.#answers.addGlue(records, name, writer);
    return true;
  }

  /** NXDOMAIN or NODATA, with the SOA that limits how long it is cached (RFC 2308 section 3). */
  #addNegative(writer: AnswerWriter, owner: Uint8Array | undefined, rcode: number): void {
    const { negativeTtlSeconds } = this.#options;
    const { rdata } = this.#soa;
    writer.setRcode(rcode);
    if (this.#kind === 'reverse') {
      // No zone of reverse names has an SOA here: it is under the name itself.
      writer.add(SECTION.AUTHORITY, owner, TYPE.SOA, negativeTtlSeconds, rdata);
    } else if (owner === undefined) {
      const { apexAt } = this.#name;
      writer.addAbove(SECTION.AUTHORITY, apexAt, TYPE.SOA, negativeTtlSeconds, rdata);
    } else writer.add(SECTION.AUTHORITY, this.apex, TYPE.SOA, negativeTtlSeconds, rdata);
  }
}
