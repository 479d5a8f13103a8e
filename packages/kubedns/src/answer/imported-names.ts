import { type Trace, TraceKind } from '@kube-dns/base';
import {
  type AnswerWriter,
  encodeRdata,
  RCODE,
  SECTION,
  type Section,
  suffixOffset,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import {
  type AddressSize,
  IPV4_BYTES,
  IPV6_BYTES,
  type PackedAddresses,
  type Port,
  type PortList,
} from '../watch/projections.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import {
  addressesOf,
  type ImportedHost,
  type ImportedService,
  type ImportedZone,
} from '../zone/imported-zone.js';
import { addressType, ZoneName } from '../zone/zone-names.js';
import { ApexRecords } from './apex-records.js';
import type { LocalNames } from './local-names.js';
import { SERVICE_LABELS, SRV_PRIORITY, SRV_TOTAL_WEIGHT } from './service-answerer.js';

export interface ImportedNamesOptions {
  readonly zone: ImportedZone;
  /** The zone of the cluster, which has the namespaces. */
  readonly cluster: Pick<ClusterZone, 'hasAllNamespaces' | 'hasNamespace'>;
  readonly ttlSeconds: number;
  readonly negativeTtlSeconds: number;
  readonly isSynced: () => boolean;
  /** The addresses of this server, 4 or 16 bytes each. */
  readonly serverAddresses: () => readonly Uint8Array[];
  readonly random?: () => number;
  /** Milliseconds. */
  readonly now?: () => number;
}

/**
 * The kind of a name in the zone of imports. `interior` names exist without records; of an `import` there may be a `port`, of
 * all its endpoints.
 */
export type ImportedNameKind =
  'apex' | 'version' | 'name-server' | 'interior' | 'import' | 'port' | 'host' | 'absent';

/** What a name of the kind `absent` lacks. */
export type ImportedMissing =
  'subtree' | 'namespace' | 'import' | 'addresses' | 'endpoints' | 'host' | 'port';

/** How a name of the zone of imports was read, for its explanation. */
export interface ImportedReading {
  readonly kind: ImportedNameKind;
  readonly missing: ImportedMissing | undefined;
  /** Undefined where it is about none. */
  readonly service: ImportedService | undefined;
  readonly host: ImportedHost | undefined;
}

/** How the name of a question in the zone of imports was read. */
export const IMPORT_READ = new TraceKind<ImportedReading>();

/** The version of "Multicluster Services: DNS" of KEP-1645 that the zone follows. */
export const SCHEMA_VERSION = '1.0.0';
const SRV_TARGET_OFFSET = 6;
const MAX_NAME_BYTES = 255;
const FAMILIES = [IPV4_BYTES, IPV6_BYTES] as const;
/**
 * So many hosts fit into every answer, which then has all, in any order. Of more it may have a part: the same one of both
 * families, which are asked for at the same time, so for a second.
 */
const MAX_WHOLE = 16;
const PART_MS = 1_000;
const addressRdata = new Uint8Array(IPV6_BYTES);

/** Answers names of services that are imported from other clusters (KEP-1645). */
export class ImportedNames implements LocalNames {
  readonly #options: ImportedNamesOptions;
  readonly #zone: ImportedZone;
  readonly #schemaVersion: Uint8Array;
  readonly #apexRecords: ApexRecords;
  readonly #random: () => number;
  readonly #now: () => number;
  readonly #name = new ZoneName();
  #kind: ImportedNameKind = 'absent';
  #missing: ImportedMissing = 'subtree';
  #service: ImportedService | undefined;
  #host: ImportedHost | undefined;
  /** Of the kind `port`: where the labels are; of `import` there is none. */
  #portAt = 0;
  #protocolAt = 0;
  readonly #srv = new Uint8Array(SRV_TARGET_OFFSET + MAX_NAME_BYTES);

  constructor(options: ImportedNamesOptions) {
    this.#options = options;
    const { zone, random = Math.random, now = Date.now } = options;
    this.#zone = zone;
    this.#random = random;
    this.#now = now;
    this.#schemaVersion = encodeRdata({ type: 'TXT', name: '.', data: SCHEMA_VERSION });
    this.#apexRecords = new ApexRecords({ ...options, apex: zone.apex });
  }

  get isSynced(): boolean {
    return this.#options.isSynced();
  }

  find(name: Uint8Array, length: number, trace?: Trace): boolean {
    const apexAt = suffixOffset(name, length, this.#zone.apex);
    if (apexAt < 0) return false;
    this.#name.read(name, length, apexAt);
    this.#service = this.#host = undefined;
    this.#kind = this.#kindOf();
    trace?.note(IMPORT_READ, this.#reading());
    return true;
  }

  /** No import is a CNAME. */
  targetOf(): undefined {
    return undefined;
  }

  answer(type: number, writer: AnswerWriter, owner?: Uint8Array): void {
    if (this.#kind === 'absent') this.#answerNegative(owner, writer, RCODE.NXDOMAIN);
    else if (!this.#addRecords(type, owner, writer))
      this.#answerNegative(owner, writer, RCODE.NOERROR);
  }

  #reading(): ImportedReading {
    const missing = this.#kind === 'absent' ? this.#missing : undefined;
    return { kind: this.#kind, missing, service: this.#service, host: this.#host };
  }

  #kindOf(): ImportedNameKind {
    const name = this.#name;
    if (name.count === 0) return 'apex';
    if (name.is(0, 'svc')) return this.#kindBelowSvc();
    if (name.is(0, 'dns')) {
      if (name.count === 1) return 'interior';
      if (name.count === 2 && name.is(1, 'ns')) return 'name-server';
    } else if (name.count === 1 && name.is(0, 'dns-version')) return 'version';
    return this.#absent('subtree');
  }

  #absent(missing: ImportedMissing): ImportedNameKind {
    this.#missing = missing;
    return 'absent';
  }

  #kindBelowSvc(): ImportedNameKind {
    const name = this.#name;
    const { bytes, length, count } = name;
    const { cluster } = this.#options;
    if (count === 1) return 'interior';
    const namespaceAt = name.startOf(1);
    // Where namespaces cannot be listed, that of an import exists.
    const isListed = !cluster.hasAllNamespaces || cluster.hasNamespace(bytes, namespaceAt);
    if (!isListed) return this.#absent('namespace');
    if (count === 2) return 'interior';
    const serviceAt = name.startOf(SERVICE_LABELS - 1);
    const end = length - this.#zone.services.length;
    const service = this.#zone.find(bytes, serviceAt, end);
    this.#service = service;
    if (service === undefined) return this.#absent('import');
    if (!service.hasRecords) {
      return this.#absent(service.object?.isHeadless === true ? 'endpoints' : 'addresses');
    }
    if (count === SERVICE_LABELS) return 'import';
    return name.isService(SERVICE_LABELS)
      ? this.#kindOfPort(service)
      : this.#kindOfHost(service, serviceAt);
  }

  #kindOfHost(service: ImportedService, serviceAt: number): ImportedNameKind {
    const host = service.content.byLabels.get(this.#name.bytes, 0, serviceAt);
    if (host === undefined) return this.#absent('host');
    if (host === null) return 'interior';
    this.#host = host;
    return 'host';
  }

  /** `_PROTOCOL.S.N` exists without records, `_PORT._PROTOCOL.S.N` has SRV records. */
  #kindOfPort(service: ImportedService): ImportedNameKind {
    const name = this.#name;
    const isPort = name.count === SERVICE_LABELS + 2 && name.isService(SERVICE_LABELS + 1);
    if (!isPort && name.count !== SERVICE_LABELS + 1) return this.#absent('port');
    this.#protocolAt = name.startOf(SERVICE_LABELS);
    this.#portAt = isPort ? name.startOf(SERVICE_LABELS + 1) : -1;
    const { object, content } = service;
    const serves = object!.isHeadless
      ? content.hosts.some(this.#hasPort)
      : this.#findPort(object!.ports, 0) !== undefined;
    if (!serves) return this.#absent('port');
    return isPort ? 'port' : 'interior';
  }

  readonly #hasPort = ({ name, ports }: ImportedHost): boolean =>
    name.length > 0 && this.#findPort(ports, 0) !== undefined;

  /** The first port of a list from an index on that has the labels that were read; one without a name never has. */
  #findPort({ ports }: PortList, from: number): Port | undefined {
    const { bytes } = this.#name;
    for (let i = from; i < ports.length; i++) {
      const port = ports[i]!;
      if (port.name === '' || !isServiceLabel(port.protocol, bytes, this.#protocolAt)) continue;
      if (this.#portAt < 0 || isServiceLabel(port.name, bytes, this.#portAt)) return port;
    }
    return undefined;
  }

  /** Adds the records of a type; false when the name has none. */
  #addRecords(type: number, owner: Uint8Array | undefined, writer: AnswerWriter): boolean {
    switch (this.#kind) {
      case 'import':
        return this.#addOfImport(this.#service!, type, owner, writer);
      case 'port':
        if (type !== TYPE.SRV && type !== TYPE.ANY) return false;
        return this.#addTargets(this.#service!, owner, writer);
      case 'host':
        return (
          this.#isOf(type, IPV4_BYTES, this.#host!, owner, writer) ||
          this.#isOf(type, IPV6_BYTES, this.#host!, owner, writer)
        );
      case 'apex':
        return this.#apexRecords.add(type, this.#zone.soaRdata, owner, writer);
      case 'version':
        if (type !== TYPE.TXT && type !== TYPE.ANY) return false;
        writer.add(SECTION.ANSWER, owner, TYPE.TXT, this.#options.ttlSeconds, this.#schemaVersion);
        return true;
      case 'name-server':
        return this.#apexRecords.addServer(type, owner, writer);
      default:
        return false;
    }
  }

  /** Adds the addresses of a family, if it is that of the type; false when there are none. One RRset is enough for ANY. */
  #isOf(
    type: number,
    size: AddressSize,
    of: Pick<ImportedHost, 'ipv4' | 'ipv6'>,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    if (type !== TYPE.ANY && type !== addressType(size)) return false;
    const addresses = addressesOf(of, size);
    this.#addAddresses(SECTION.ANSWER, addresses, owner, writer);
    return addresses.bytes !== '';
  }

  #addOfImport(
    service: ImportedService,
    type: number,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    const { object } = service;
    if (type === TYPE.SRV) {
      this.#portAt = this.#protocolAt = -1;
      return this.#addTargets(service, owner, writer);
    }
    for (const size of FAMILIES) {
      if (object!.isHeadless) {
        if (this.#addHosts(service, type, size, owner, writer)) return true;
      } else if (this.#isOf(type, size, object!, owner, writer)) return true;
    }
    return false;
  }

  #addHosts(
    service: ImportedService,
    type: number,
    size: AddressSize,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    if (type !== TYPE.ANY && type !== addressType(size)) return false;
    const { hosts } = service.content;
    const first = this.#firstOf(hosts.length);
    let isAny = false;
    for (let i = 0; i < hosts.length && !writer.isFull; i++) {
      const addresses = addressesOf(hosts[(first + i) % hosts.length]!, size);
      isAny ||= addresses.bytes !== '';
      this.#addAddresses(SECTION.ANSWER, addresses, owner, writer);
    }
    return isAny;
  }

  /** Where an answer begins among so many hosts. */
  #firstOf(count: number): number {
    if (count <= MAX_WHOLE) return Math.floor(this.#random() * count);
    // A step that is prime to the count would do; the seconds alone lead through all of them.
    return (Math.floor(this.#now() / PART_MS) * MAX_WHOLE) % count;
  }

  /** Adds SRV records: of the port that was read, or of each port number of the import; then the addresses of targets. */
  #addTargets(
    service: ImportedService,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): boolean {
    const { object, name, content } = service;
    const before = writer.answerCount();
    if (!object!.isHeadless) {
      this.#addPorts(object!.ports, name, SRV_TOTAL_WEIGHT, owner, writer);
      if (writer.answerCount() === before) return false;
      for (const size of FAMILIES) {
        this.#addAddresses(SECTION.ADDITIONAL, addressesOf(object!, size), name, writer);
      }
      return true;
    }
    const { hosts } = content;
    const first = this.#firstOf(hosts.length);
    const weight = Math.floor(SRV_TOTAL_WEIGHT / Math.max(hosts.length, 1));
    let last = 0;
    for (; last < hosts.length && !writer.isFull; last++) {
      const host = hosts[(first + last) % hosts.length]!;
      if (host.name.length > 0) this.#addPorts(host.ports, host.name, weight, owner, writer);
    }
    if (writer.answerCount() === before) return false;
    for (let i = 0; i < last && !writer.isFull; i++) {
      const host = hosts[(first + i) % hosts.length]!;
      if (host.name.length === 0) continue;
      for (const size of FAMILIES) {
        this.#addAddresses(SECTION.ADDITIONAL, addressesOf(host, size), host.name, writer);
      }
    }
    return true;
  }

  #addPorts(
    list: PortList,
    target: Uint8Array,
    weight: number,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    const srv = this.#srv;
    writeUint16(srv, 0, SRV_PRIORITY);
    writeUint16(srv, 2, weight);
    srv.set(target, SRV_TARGET_OFFSET);
    const { ports, numbers } = list;
    const isOfImport = this.#protocolAt < 0;
    const count = isOfImport ? numbers.length : ports.length;
    for (let i = 0; i < count && !writer.isFull; i++) {
      if (!isOfImport && this.#findPort(list, i) !== ports[i]) continue;
      writeUint16(srv, 4, isOfImport ? numbers[i]! : ports[i]!.port);
      const length = SRV_TARGET_OFFSET + target.length;
      writer.add(SECTION.ANSWER, owner, TYPE.SRV, this.#options.ttlSeconds, srv, length);
    }
  }

  #addAddresses(
    section: Section,
    { size, bytes }: PackedAddresses,
    owner: Uint8Array | undefined,
    writer: AnswerWriter,
  ): void {
    for (let at = 0; at < bytes.length && !writer.isFull; at += size) {
      for (let i = 0; i < size; i++) addressRdata[i] = bytes.charCodeAt(at + i);
      const { ttlSeconds } = this.#options;
      writer.add(section, owner, addressType(size), ttlSeconds, addressRdata, size);
    }
  }

  /** With the SOA that limits how long it is cached (RFC 2308 section 3). */
  #answerNegative(owner: Uint8Array | undefined, writer: AnswerWriter, rcode: number): void {
    const { negativeTtlSeconds } = this.#options;
    const { apex, soaRdata } = this.#zone;
    writer.setRcode(rcode);
    if (owner === undefined) {
      const { apexAt } = this.#name;
      writer.addAbove(SECTION.AUTHORITY, apexAt, TYPE.SOA, negativeTtlSeconds, soaRdata);
    } else writer.add(SECTION.AUTHORITY, apex, TYPE.SOA, negativeTtlSeconds, soaRdata);
  }
}

/** Whether the label at `at`, lower-cased in wire form, is an underscore and this text. */
function isServiceLabel(text: string, name: Uint8Array, at: number): boolean {
  if (name[at] !== text.length + 1) return false;
  for (let i = 0; i < text.length; i++) {
    if (name[at + 2 + i] !== text.charCodeAt(i)) return false;
  }
  return true;
}
