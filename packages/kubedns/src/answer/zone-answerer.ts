import { TraceKind } from '@kube-dns/base';
import {
  type AnswerWriter,
  decodeName,
  encodeRdata,
  EXTENDED_ERROR,
  extendedErrorOption,
  MAX_MESSAGE_BYTES,
  prependLabels,
  type Query,
  RCODE,
  SECTION,
  suffixOffset,
  TYPE,
} from '@kube-dns/wire';
import type { PodMode } from '../config/flags.js';
import { IPV4_BYTES, type Service } from '../watch/projections.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { NO_SERVICE } from '../zone/service-index.js';
import { addressType, podAddress, readPodIpv4, ZoneName } from '../zone/zone-names.js';
import type { ZoneService } from '../zone/zone-service.js';
import {
  type MissingPart,
  type Part,
  SERVICE_LABELS,
  ServiceAnswerer,
  ServiceQuestion,
} from './service-answerer.js';
import { isZonal } from '../zone/zonal-names.js';

export interface ZoneQuestionOptions {
  readonly zone: ClusterZone;
  readonly pods: PodMode;
  /** Whether `*` is a wildcard; else no name with it exists. */
  readonly wildcards: boolean;
  /** Whether headless services have zonal names: see zonal-names.ts. */
  readonly zonal: boolean;
  /** Their services are never answered. */
  readonly hiddenNamespaces: readonly string[];
  readonly random: () => number;
  /**
   * The CNAME target of a federated name, in wire form; `undefined` for any other name, `null` while the
   * target is unknown.
   */
  readonly federate?: ((name: ZoneName) => Uint8Array | null | undefined) | undefined;
}

/**
 * The kind of a name in the zone. `interior` names exist without records (empty non-terminals, RFC 4592
 * section 2.2.2); `absent` ones do not exist; `unavailable` ones cannot be answered now; of `unfinished`
 * ones nothing was found within the limits of a wildcard.
 */
export type NameKind =
  | 'apex'
  | 'version'
  | 'name-server'
  | 'interior'
  | 'service'
  | 'cname'
  | 'pod'
  | 'wildcard'
  | 'unfinished'
  | 'unavailable'
  | 'absent';

/** What a name of the kind `absent` lacks. */
export type Missing =
  /** Directly below the zone there is no such name, or none below one that has no names below it. */
  | 'subtree'
  | 'wildcard'
  | 'namespace'
  | 'service'
  /** A service of type ExternalName has no names below it. */
  | 'below-external-name'
  | 'endpoints'
  | MissingPart
  /** The names of pods are off. */
  | 'pod-names'
  /** The label is no address. */
  | 'pod-address'
  | 'below-pod';

/** How a name of the zone was read, for its explanation. */
export interface ZoneReading {
  readonly kind: NameKind;
  readonly missing: Missing | undefined;
  /** The labels below the zone, the one next to it first; safe to show. */
  readonly labels: readonly string[];
  readonly hasWildcard: boolean;
  readonly isFederated: boolean;
  /** Of the kind `service`. */
  readonly part: Part;
  /** Of the kind `pod`. */
  readonly address: Uint8Array;
  /** Of the kind `cname`. */
  readonly cname: Uint8Array;
  /** Of the kind `wildcard`: the services, and whether these are all. */
  readonly matches: readonly ZoneService[];
  readonly areAllMatched: boolean;
}

/** How the name of a question in the zone was read. */
export const ZONE_READ = new TraceKind<ZoneReading>();

/** The name of a question, or of a CNAME target, and its kind. Reused for every question. */
export class ZoneQuestion {
  kind: NameKind = 'absent';
  /** For the kind `absent`. */
  missing: Missing = 'subtree';
  readonly name = new ZoneName();
  /** The part of the service, for the kind `service`. */
  readonly service: ServiceQuestion;
  /** The matching services, for the kind `wildcard`. */
  matches: readonly ZoneService[] = [];
  /** Whether these are all, or as many as one question may find. */
  areAllMatched = true;
  /** The target in wire form, for the kind `cname`. */
  cname: Uint8Array = new Uint8Array(0);
  /** Whether the CNAME is that of a federated name. */
  isFederated = false;
  /** The address, for the kind `pod`. */
  address: Uint8Array = new Uint8Array(0);
  readonly #ipv4 = new Uint8Array(IPV4_BYTES);
  readonly #options: ZoneQuestionOptions;
  readonly #zone: ClusterZone;

  constructor(options: ZoneQuestionOptions) {
    this.#options = options;
    this.#zone = options.zone;
    this.service = new ServiceQuestion(options.zone.index);
  }

  /** Reads a lower-cased name that the zone contains; `apexAt`: where the zone's own name begins in it. */
  read(
    bytes: Uint8Array,
    length: number,
    apexAt = suffixOffset(bytes, length, this.#zone.apex),
  ): void {
    const { name } = this;
    this.isFederated = false;
    name.read(bytes, length, apexAt);
    this.kind = name.hasWildcard ? this.#wildcardKind() : this.#kindOf();
  }

  #kindOf(): NameKind {
    const { name } = this;
    if (name.count === 0) return 'apex';
    if (name.is(0, 'svc')) return this.#serviceKind();
    if (name.is(0, 'pod')) return this.#podKind();
    if (name.is(0, 'dns')) {
      if (name.count === 1) return 'interior';
      if (name.count === 2 && name.is(1, 'ns')) return 'name-server';
    } else if (name.count === 1 && name.is(0, 'dns-version')) return 'version';
    return this.#absent('subtree');
  }

  #absent(missing: Missing): NameKind {
    this.missing = missing;
    return 'absent';
  }

  /** Whether objects could give records to a name of the kind `absent`, by its labels. */
  get couldExist(): boolean {
    const { name, missing } = this;
    if (name.hasWildcard) {
      const isBelow = name.count > 1 && (name.is(0, 'svc') || name.isWildcard(0));
      return isBelow && this.#options.wildcards;
    }
    if (name.is(0, 'pod')) return missing === 'namespace' && name.isDnsLabel(1);
    if (!name.is(0, 'svc') || !name.isDnsLabel(1)) return false;
    return name.count < SERVICE_LABELS || this.#couldBeOfService();
  }

  /** Whether it is `S.N`, `H.S.N`, `_PROTOCOL.S.N`, `_PORT._PROTOCOL.S.N`, `H._PORT._PROTOCOL.S.N`, or zonal. */
  #couldBeOfService(): boolean {
    const { name } = this;
    const { hiddenNamespaces } = this.#options;
    for (const hidden of hiddenNamespaces) if (name.is(1, hidden)) return false;
    if (!name.isDnsLabel(2)) return false;
    const below = name.count - SERVICE_LABELS;
    if (below === 0) return true;
    const hasProtocol = name.isService(SERVICE_LABELS);
    if (this.#options.zonal && isZonal(name, SERVICE_LABELS)) return true;
    if (below === 1) return hasProtocol || name.isDnsLabel(SERVICE_LABELS);
    if (!hasProtocol || !name.isService(SERVICE_LABELS + 1)) return false;
    return below === 2 || (below === 3 && name.isDnsLabel(SERVICE_LABELS + 2));
  }

  /** What was read, as it stays when the next name is read. */
  reading(): ZoneReading {
    const { kind, name, isFederated, address, cname, matches, areAllMatched } = this;
    const { hasWildcard } = name;
    return {
      kind,
      missing: kind === 'absent' ? this.missing : undefined,
      labels: Array.from({ length: name.count }, (_, i) => shownLabel(name.bytes, name.startOf(i))),
      hasWildcard,
      isFederated,
      part: this.service.part,
      address: address.slice(),
      cname,
      matches,
      areAllMatched,
    };
  }

  /** Addresses win over CNAMEs: an answer can have only one CNAME, and nothing beside it. */
  #wildcardKind(): NameKind {
    if (!this.#options.wildcards) return this.#absent('wildcard');
    const hasPart = (service: ZoneService) => {
      if (service.service!.cname !== undefined) return true;
      this.service.read(service.number, this.name);
      return this.service.part !== 'absent';
    };
    const { random } = this.#options;
    const found = this.#zone.matchWildcard(this.name, hasPart, random);
    this.areAllMatched = found.isComplete;
    this.matches = found.services.filter(({ service }) => service!.cname === undefined);
    if (this.matches.length > 0) return 'wildcard';
    const cnames = found.services.filter(({ service }) => service!.cname !== undefined);
    if (cnames.length === 0) return this.areAllMatched ? this.#absent('wildcard') : 'unfinished';
    this.cname = cnames[Math.floor(random() * cnames.length)]!.service!.cname!;
    return 'cname';
  }

  #serviceKind(): NameKind {
    const { name } = this;
    const { bytes, length, count } = name;
    if (count === 1) return 'interior';
    if (count === 2) {
      if (this.#zone.hasNamespace(bytes, name.startOf(1))) return 'interior';
      return this.#absent('namespace');
    }
    const target = this.#options.federate?.(name);
    if (target === null) return 'unavailable';
    if (target !== undefined) {
      this.cname = target;
      this.isFederated = true;
      return 'cname';
    }
    const { index, services } = this.#zone;
    const number = index.find(bytes, name.startOf(SERVICE_LABELS - 1), length - services.length);
    if (number === NO_SERVICE) return this.#absent('service');
    if (!index.isSingle(number)) {
      const service = index.serviceAt(number);
      // Also without a ready endpoint: that a zone has none is no error, and is to be seen as such.
      if (this.#options.zonal && service.isHeadless && isZonal(name, SERVICE_LABELS)) {
        this.service.readZonal(number, name);
        return 'service';
      }
      const kind = this.#kindOfService(service, count);
      if (kind !== 'service') return kind;
    }
    this.service.read(number, name);
    return this.service.part === 'absent' ? this.#absent(this.service.missing) : 'service';
  }

  #kindOfService(service: ZoneService, labels: number): NameKind {
    // Its endpoints arrived before its Service object.
    if (service.service === undefined) return this.#absent('service');
    const { cname } = service.service;
    if (cname !== undefined) {
      this.cname = cname;
      return labels === SERVICE_LABELS ? 'cname' : this.#absent('below-external-name');
    }
    // A headless service without a ready endpoint has no name (schema 1.1.0 section 2.4.1).
    return service.isHeadless && !service.hasEndpoints ? this.#absent('endpoints') : 'service';
  }

  /** `<address>.<namespace>.pod.<zone>` is answered from the question alone. */
  #podKind(): NameKind {
    const { name } = this;
    const { hasAllNamespaces } = this.#zone;
    if (this.#options.pods === 'disabled') return this.#absent('pod-names');
    if (name.count === 1) return 'interior';
    if (name.count > 3) return this.#absent('below-pod');
    if (hasAllNamespaces && !this.#zone.hasNamespace(name.bytes, name.startOf(1))) {
      return this.#absent('namespace');
    }
    // Without a list any namespace may exist; NXDOMAIN would cover its pods, too (RFC 8020).
    if (name.count === 2) return 'interior';
    const at = name.startOf(2);
    const address = readPodIpv4(name.bytes, at, this.#ipv4) ? this.#ipv4 : podAddress(name.text(2));
    if (address === undefined) return this.#absent('pod-address');
    this.address = address;
    return 'pod';
  }
}

/** A label at an offset, as it can be shown. */
function shownLabel(bytes: Uint8Array, at: number): string {
  return decodeName(Uint8Array.of(...bytes.subarray(at, at + 1 + bytes[at]!), 0));
}

/** Of a federated name, while the zone and region of this node are not known. */
const UNAVAILABLE = extendedErrorOption(EXTENDED_ERROR.NOT_READY, 'zone of this node unknown');
/** The API server was not reached since the start, and a snapshot does not have the name. */
const NOT_KNOWN = extendedErrorOption(EXTENDED_ERROR.NOT_READY, 'not in the snapshot');
/** Of all other answers of that time. */
const OF_SNAPSHOT = extendedErrorOption(EXTENDED_ERROR.STALE_ANSWER, 'from a snapshot');
/** A wildcard has more names than are looked at. */
const UNFINISHED = extendedErrorOption(EXTENDED_ERROR.OTHER, 'too many names match');
/** The address of a pod is part of the name; whether there is such a pod is not looked up. */
const POD_NAME = extendedErrorOption(EXTENDED_ERROR.SYNTHESIZED, 'address from the name');
export const NO_TRANSFERS = extendedErrorOption(EXTENDED_ERROR.NOT_SUPPORTED, 'no zone transfers');

export interface ZoneAnswererOptions {
  readonly zone: ClusterZone;
  readonly ttlSeconds: number;
  readonly negativeTtlSeconds: number;
  /** `insecure` unless said otherwise. */
  readonly pods?: PodMode;
  /** The addresses of this server, 4 or 16 bytes each, used when the cluster has no service for it. */
  readonly ownAddresses?: readonly Uint8Array[];
  /** See ZoneQuestionOptions; no name is federated unless said otherwise. */
  readonly federate?: ZoneQuestionOptions['federate'];
  /** Whether `*` is a wildcard; it is unless said otherwise. */
  readonly wildcards?: boolean;
  /** Whether headless services have names by zone; they have none unless said otherwise. */
  readonly zonal?: boolean;
  /** Their services are never answered; there are none unless said otherwise. */
  readonly hiddenNamespaces?: ReadonlySet<string>;
  /** Whether the zone is that of a snapshot, so that other names may exist by now; never unless said otherwise. */
  readonly isFromSnapshot?: () => boolean;
  readonly random?: () => number;
}

/** The version of the schema "Kubernetes DNS-Based Service Discovery" that the zone follows. */
export const SCHEMA_VERSION = '1.1.0';
/** The conventional service of the cluster's DNS. */
const DNS_SERVICE = { namespace: 'kube-system', name: 'kube-dns' };
/** Limit of an answer to a name with a wildcard, over TCP as well: more take too long to be written. */
const MAX_WILDCARD_BYTES = 4_096;
/** Whether a question asks for all names of a zone. */
export function isTransfer(type: number): boolean {
  return type === TYPE.AXFR || type === TYPE.IXFR;
}

/** Types for which a CNAME is not followed. */
const NOT_FOLLOWED: ReadonlySet<number> = new Set([TYPE.CNAME, TYPE.ANY, TYPE.AXFR, TYPE.IXFR]);

/**
 * Writes the answers to questions about one zone. An `owner` that is undefined means the question's
 * name.
 */
export class ZoneAnswerer {
  readonly #options: ZoneAnswererOptions;
  readonly #question: ZoneQuestion;
  readonly #services: ServiceAnswerer;
  readonly #schemaVersion: Uint8Array;
  readonly #nameServer: Uint8Array;
  readonly #isFromSnapshot: () => boolean;

  constructor(options: ZoneAnswererOptions) {
    this.#options = options;
    const { zone, ttlSeconds, federate } = options;
    const { pods = 'insecure', wildcards = true, zonal = false, random = Math.random } = options;
    const hiddenNamespaces = [...(options.hiddenNamespaces ?? [])];
    const reading = { zone, pods, wildcards, zonal, hiddenNamespaces, random, federate };
    this.#question = new ZoneQuestion(reading);
    this.#isFromSnapshot = options.isFromSnapshot ?? (() => false);
    this.#services = new ServiceAnswerer(zone.index, ttlSeconds, random);
    this.#schemaVersion = encodeRdata({ type: 'TXT', name: '.', data: SCHEMA_VERSION });
    this.#nameServer = prependLabels(['ns', 'dns'], zone.apex);
  }

  /** Whether a lower-cased name is the zone or is below it. */
  contains(name: Uint8Array, length: number): boolean {
    return this.apexOffset(name, length) >= 0;
  }

  /** Where the zone's own name begins in a lower-cased name; -1 when the zone does not contain that. */
  apexOffset(name: Uint8Array, length: number): number {
    return suffixOffset(name, length, this.#options.zone.apex);
  }

  /** Reads a name of the zone; the following calls are about it. `apexAt`: its `apexOffset`. */
  read(name: Uint8Array, length: number, apexAt?: number): void {
    this.#question.read(name, length, apexAt);
  }

  /** What was read, for an explanation. */
  reading(): ZoneReading {
    return this.#question.reading();
  }

  /** The CNAME target of the name that was read, in wire form; undefined when there is none for this type. */
  targetOf(type: number): Uint8Array | undefined {
    const { kind, cname } = this.#question;
    return kind !== 'cname' || NOT_FOLLOWED.has(type) ? undefined : cname;
  }

  /** Whether the name that was read has a label `*`. */
  get hasWildcard(): boolean {
    return this.#question.name.hasWildcard;
  }

  /** Says that the records of an answer are those of a snapshot, where they are and nothing else is said. */
  markSnapshot(writer: AnswerWriter): void {
    if (this.#isFromSnapshot() && !writer.isExplained) writer.explain(OF_SNAPSHOT);
  }

  /** The most bytes of an answer about the name that was read. */
  get maxAnswerBytes(): number {
    return this.hasWildcard ? MAX_WILDCARD_BYTES : MAX_MESSAGE_BYTES;
  }

  /** Whether the name that was read is federated: its answer must not be cached, as in kubernetes/dns. */
  get isFederated(): boolean {
    return this.#question.isFederated;
  }

  /** Answers a question about the name that was read; the writer has begun. */
  answer(query: Query, writer: AnswerWriter): void {
    if (isTransfer(query.type)) {
      writer.setRcode(RCODE.REFUSED, NO_TRANSFERS);
      return;
    }
    writer.setAuthoritative();
    this.#answer(undefined, query.type, writer);
    const { kind, areAllMatched } = this.#question;
    if (kind !== 'wildcard') return;
    // Over TCP there is nothing to ask again for.
    if (query.isOverTcp) writer.setTruncated(false);
    else if (!areAllMatched && writer.answerCount() > 0) writer.setTruncated();
  }

  /** Writes the records of the end of a CNAME chain in the zone; `owner` is its name, which was read. */
  answerTarget(owner: Uint8Array, query: Query, writer: AnswerWriter): void {
    this.#answer(owner, query.type, writer);
  }

  #answer(owner: Uint8Array | undefined, type: number, writer: AnswerWriter): void {
    const { kind, areAllMatched } = this.#question;
    if (kind === 'unavailable') writer.setRcode(RCODE.SERVFAIL, UNAVAILABLE);
    else if (kind === 'absent') this.#answerAbsent(owner, writer);
    else if (!this.#addRecords(owner, type, writer)) {
      // What was not found within the limits of a wildcard may exist all the same.
      if (kind === 'unfinished' || (kind === 'wildcard' && !areAllMatched)) {
        writer.setRcode(RCODE.SERVFAIL, UNFINISHED);
      } else this.#answerNegative(owner, writer, RCODE.NOERROR);
    }
  }

  /** Adds the records of a type; false when the name has none. */
  #addRecords(owner: Uint8Array | undefined, type: number, writer: AnswerWriter): boolean {
    const question = this.#question;
    switch (question.kind) {
      case 'service':
        return this.#services.answer(question.service, type, owner, writer);
      case 'wildcard': {
        const { matches, name, service } = question;
        return this.#services.answerAll(matches, name, service, type, owner, writer);
      }
      case 'cname':
        return this.#addOne(TYPE.CNAME, question.cname, owner, type, writer);
      case 'pod': {
        const { address } = question;
        writer.explain(POD_NAME);
        return this.#addOne(addressType(address.length), address, owner, type, writer);
      }
      case 'apex':
        return this.#addApex(owner, type, writer);
      case 'version':
        return this.#addOne(TYPE.TXT, this.#schemaVersion, owner, type, writer);
      case 'name-server':
        return this.#addOwnAddresses(SECTION.ANSWER, owner, type, writer);
      default:
        return false;
    }
  }

  /** Adds the only record of a name; false when another type is asked for. */
  #addOne(
    type: number,
    rdata: Uint8Array,
    owner: Uint8Array | undefined,
    qtype: number,
    writer: AnswerWriter,
  ): boolean {
    if (qtype !== type && qtype !== TYPE.ANY) return false;
    const ttl = this.isFederated ? 0 : this.#options.ttlSeconds;
    writer.add(SECTION.ANSWER, owner, type, ttl, rdata);
    return true;
  }

  #addApex(owner: Uint8Array | undefined, type: number, writer: AnswerWriter): boolean {
    const { zone, ttlSeconds } = this.#options;
    if (type === TYPE.SOA || type === TYPE.ANY) {
      writer.add(SECTION.ANSWER, owner, TYPE.SOA, ttlSeconds, zone.soaRdata);
      return true;
    }
    if (type !== TYPE.NS) return false;
    writer.add(SECTION.ANSWER, owner, TYPE.NS, ttlSeconds, this.#nameServer);
    this.#addOwnAddresses(SECTION.ADDITIONAL, this.#nameServer, TYPE.ANY, writer);
    return true;
  }

  /**
   * Adds the addresses of this server: those of the cluster's DNS service, else those of this machine.
   * False when there are none of the type.
   */
  #addOwnAddresses(
    section: (typeof SECTION)['ANSWER' | 'ADDITIONAL'],
    owner: Uint8Array | undefined,
    type: number,
    writer: AnswerWriter,
  ): boolean {
    const { zone, ttlSeconds, ownAddresses = [] } = this.#options;
    const addresses = nameServerAddresses(zone, ownAddresses);
    const wanted = addresses.filter(
      ({ length }) => type === TYPE.ANY || type === addressType(length),
    );
    for (const address of wanted) {
      writer.add(section, owner, addressType(address.length), ttlSeconds, address);
    }
    return wanted.length > 0;
  }

  /** A client would believe NXDOMAIN of a name that a snapshot does not have yet. */
  #answerAbsent(owner: Uint8Array | undefined, writer: AnswerWriter): void {
    if (this.#isFromSnapshot() && this.#question.couldExist)
      writer.setRcode(RCODE.SERVFAIL, NOT_KNOWN);
    else this.#answerNegative(owner, writer, RCODE.NXDOMAIN);
  }

  /** NXDOMAIN or NODATA, with the SOA that limits how long it is cached (RFC 2308 section 3). */
  #answerNegative(owner: Uint8Array | undefined, writer: AnswerWriter, rcode: number): void {
    const { zone, negativeTtlSeconds } = this.#options;
    const { soaRdata } = zone;
    writer.setRcode(rcode);
    if (owner === undefined) {
      const { apexAt } = this.#question.name;
      writer.addAbove(SECTION.AUTHORITY, apexAt, TYPE.SOA, negativeTtlSeconds, soaRdata);
    } else writer.add(SECTION.AUTHORITY, zone.apex, TYPE.SOA, negativeTtlSeconds, soaRdata);
  }
}

/** The addresses of `ns.dns.<zone>`: those of the cluster's DNS service, else those of this machine. */
export function nameServerAddresses(
  zone: Pick<ClusterZone, 'namespaces'>,
  ownAddresses: readonly Uint8Array[],
): readonly Uint8Array[] {
  const { services } = zone.namespaces.get(DNS_SERVICE.namespace) ?? {};
  const service = services?.get(DNS_SERVICE.name)?.service;
  return service?.kind === 'cluster-ip' ? addressesOf(service) : ownAddresses;
}

function addressesOf({ ipv4, ipv6 }: Service): Uint8Array[] {
  return [ipv4, ipv6].flatMap(({ size, bytes }) =>
    Array.from({ length: bytes.length / size }, (_, i) =>
      Uint8Array.from(Buffer.from(bytes.slice(i * size, (i + 1) * size), 'latin1')),
    ),
  );
}
