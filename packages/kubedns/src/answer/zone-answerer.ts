import {
  type AnswerWriter,
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
import type { Service } from '../watch/projections.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { addressType } from '../zone/zone-names.js';
import { ServiceAnswerer } from './service-answerer.js';
import { ZoneQuestion, type ZoneQuestionOptions, type ZoneReading } from './zone-question.js';

/** Of a federated name, while the zone and region of this node are not known. */
const UNAVAILABLE = extendedErrorOption(EXTENDED_ERROR.NOT_READY, 'zone of this node unknown');
/** A wildcard has more names than are looked at. */
const UNFINISHED = extendedErrorOption(EXTENDED_ERROR.OTHER, 'too many names match');
/** The address of a pod is part of the name; whether there is such a pod is not looked up. */
const POD_NAME = extendedErrorOption(EXTENDED_ERROR.SYNTHESIZED, 'address from the name');
const NO_TRANSFERS = extendedErrorOption(EXTENDED_ERROR.NOT_SUPPORTED, 'no zone transfers');

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
  readonly random?: () => number;
}

/** The version of the schema "Kubernetes DNS-Based Service Discovery" that the zone follows. */
const SCHEMA_VERSION = '1.1.0';
/** The conventional service of the cluster's DNS. */
const DNS_SERVICE = { namespace: 'kube-system', name: 'kube-dns' };
/** Limit of an answer to a name with a wildcard, over TCP as well: more take too long to be written. */
const MAX_WILDCARD_BYTES = 4_096;
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

  constructor(options: ZoneAnswererOptions) {
    this.#options = options;
    const { zone, ttlSeconds, federate } = options;
    const { pods = 'insecure', wildcards = true, random = Math.random } = options;
    this.#question = new ZoneQuestion({ zone, pods, wildcards, random, federate });
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
    if (query.type === TYPE.AXFR || query.type === TYPE.IXFR) {
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
    else if (kind === 'absent') this.#answerNegative(owner, writer, RCODE.NXDOMAIN);
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
    const { services } = zone.namespaces.get(DNS_SERVICE.namespace) ?? {};
    const service = services?.get(DNS_SERVICE.name)?.service;
    const addresses = service?.kind === 'cluster-ip' ? addressesOf(service) : ownAddresses;
    const wanted = addresses.filter(
      ({ length }) => type === TYPE.ANY || type === addressType(length),
    );
    for (const address of wanted) {
      writer.add(section, owner, addressType(address.length), ttlSeconds, address);
    }
    return wanted.length > 0;
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

function addressesOf({ ipv4, ipv6 }: Service): Uint8Array[] {
  return [ipv4, ipv6].flatMap(({ size, bytes }) =>
    Array.from({ length: bytes.length / size }, (_, i) =>
      Uint8Array.from(Buffer.from(bytes.slice(i * size, (i + 1) * size), 'latin1')),
    ),
  );
}
