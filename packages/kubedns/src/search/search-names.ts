import { type Trace, TraceKind } from '@kube-dns/base';
import {
  AnswerWriter,
  buildQuery,
  encodeKey,
  EXTENDED_ERROR,
  extendedErrorOption,
  MAX_NAME_BYTES,
  Query,
  RCODE,
  RCODE_MASK,
  readUint16,
  SAFE_UDP_BYTES,
  SECTION,
  suffixOffset,
  TYPE,
} from '@kube-dns/wire';
import { ApexRecords } from '../answer/apex-records.js';
import type { Candidates, LocalNames } from '../answer/local-names.js';
import { ZoneQuestion, type ZoneQuestionOptions } from '../answer/zone-answerer.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { SoaRecord } from '../zone/soa-record.js';
import { ZoneName } from '../zone/zone-names.js';

export interface SearchNamesOptions {
  /** The zone, as `ap.k8s.io.`. */
  readonly domain: string;
  /** Domains that are searched after those of the cluster, without a final dot. */
  readonly extra: readonly string[];
  readonly zone: ClusterZone;
  /** How names of the zone are read. */
  readonly reading: Omit<ZoneQuestionOptions, 'zone'>;
  /** The other names that are answered here. */
  readonly others: LocalNames | undefined;
  readonly ttlSeconds: number;
  readonly negativeTtlSeconds: number;
  readonly isSynced: () => boolean;
  /** Whether the zone is that of a snapshot, so that other names may exist by now. */
  readonly isFromSnapshot: () => boolean;
  /** The addresses of this server, 4 or 16 bytes each. */
  readonly serverAddresses: () => readonly Uint8Array[];
}

/** The kind of a name in the zone; `interior` names exist without records (RFC 4592 section 2.2.2). */
type Kind = 'apex' | 'interior' | 'name-server' | 'search' | 'absent';

/** What a name of the zone was read as, for its explanation. */
export const SEARCH_FOUND = new TraceKind<Kind>();

/** One of the names that a search name stands for. */
export interface TriedName {
  /** In wire form. */
  readonly name: Uint8Array;
  /** `unknown`: its server is asked. */
  readonly state: 'exists' | 'absent' | 'unknown';
}

export const SEARCH_TRIED = new TraceKind<TriedName>();

/** The label between the name that is looked up and the namespace. */
const SEARCH_LABEL = 'search';
/** With the name before it: `<name>.search.<namespace>`. */
const LEAST_LABELS = 3;
const ROOT = Uint8Array.of(0);
/** Which of the names is that in the namespace of the client. */
const IN_NAMESPACE = 0;
/** The API server was not reached since the start, and a snapshot does not have the name. */
const NOT_KNOWN = extendedErrorOption(EXTENDED_ERROR.NOT_READY, 'not in the snapshot');

/**
 * The zone of `--search-zone` (KEP-2009): `<name>.search.<namespace>.<cluster zone>.<search zone>` stands for the first of these that
 * exists: `<name>.<namespace>.svc.<cluster zone>`, `<name>.svc.<cluster zone>`, `<name>.<cluster zone>`, `<name>` below each domain of
 * `--search-extra`, `<name>`. So a client with this search domain alone asks one question in place of one for each of its search
 * domains. Which name exists is the same for every type, and depends on nothing but the question and what is known of the cluster.
 */
export class SearchNames implements LocalNames {
  readonly apex: Uint8Array;
  readonly #options: SearchNamesOptions;
  /** The name of the cluster's zone in this one. */
  readonly #base: Uint8Array;
  readonly #apexRecords: ApexRecords;
  readonly #soa: SoaRecord;
  readonly #suffixes: readonly Uint8Array[];
  readonly #question: ZoneQuestion;
  readonly #name = new ZoneName();
  #kind: Kind = 'absent';
  /** A name that may exist, lower-cased in wire form. */
  readonly #tried = new Uint8Array(MAX_NAME_BYTES);
  /** For names that other parts answer. */
  readonly #writer = new AnswerWriter();
  readonly #asked = new Query();
  readonly #out = new Uint8Array(SAFE_UDP_BYTES);

  constructor(options: SearchNamesOptions) {
    const { domain, extra, zone, reading, negativeTtlSeconds } = options;
    this.#options = options;
    this.apex = encodeKey(domain);
    this.#base = joined(zone.apex, this.apex);
    this.#apexRecords = new ApexRecords({ ...options, apex: this.apex });
    this.#soa = new SoaRecord({ domain: domain.replace(/\.$/, ''), negativeTtlSeconds });
    const others = extra.map((each) => encodeKey(each));
    this.#suffixes = [zone.services, zone.services, zone.apex, ...others, ROOT];
    this.#question = new ZoneQuestion({ ...reading, zone });
  }

  get isSynced(): boolean {
    return this.#options.isSynced();
  }

  find(name: Uint8Array, length: number, trace?: Trace): boolean {
    const apexAt = suffixOffset(name, length, this.apex);
    if (apexAt < 0) return false;
    this.#kind = this.#kindOf(name, length, apexAt);
    trace?.note(SEARCH_FOUND, this.#kind);
    return true;
  }

  #kindOf(bytes: Uint8Array, length: number, apexAt: number): Kind {
    const name = this.#name;
    const baseAt = suffixOffset(bytes, length, this.#base);
    if (baseAt < 0) {
      name.read(bytes, length, apexAt);
      if (name.count === 0) return 'apex';
      if (name.is(0, 'dns')) {
        if (name.count === 1) return 'interior';
        if (name.count === 2 && name.is(1, 'ns')) return 'name-server';
      }
      return suffixOffset(this.#base, this.#base.length, bytes.subarray(0, length)) > 0
        ? 'interior'
        : 'absent';
    }
    name.read(bytes, length, baseAt);
    if (name.count === 0) return 'interior';
    // Whether the namespace exists is of no matter: names of the cluster and of the world are found from any.
    if (!name.isDnsLabel(0)) return 'absent';
    if (name.count === 1) return 'interior';
    if (!name.is(1, SEARCH_LABEL)) return 'absent';
    return name.count < LEAST_LABELS ? 'interior' : 'search';
  }

  candidates(): Candidates | undefined {
    if (this.#kind !== 'search') return undefined;
    const { bytes, length } = this.#name;
    const nameEnd = this.#name.startOf(1);
    const place = { nameEnd, namespaceAt: this.#name.startOf(0) };
    return new SearchedNames(this, bytes.slice(0, length), place);
  }

  targetOf(): undefined {
    return undefined;
  }

  answer(type: number, writer: AnswerWriter, owner?: Uint8Array): void {
    if (this.#kind === 'absent') this.deny(RCODE.NXDOMAIN, writer);
    else if (!this.#addRecords(type, writer, owner)) this.deny(RCODE.NOERROR, writer);
  }

  /** False where the name has none of the type. */
  #addRecords(type: number, writer: AnswerWriter, owner: Uint8Array | undefined): boolean {
    if (this.#kind === 'name-server') return this.#apexRecords.addServer(type, owner, writer);
    return this.#kind === 'apex' && this.#apexRecords.add(type, this.#soa.rdata, owner, writer);
  }

  /** Writes a negative answer with the SOA that limits how long it is cached (RFC 2308 section 3). */
  deny(rcode: number, writer: AnswerWriter): void {
    const { negativeTtlSeconds } = this.#options;
    writer.setRcode(rcode);
    writer.add(SECTION.AUTHORITY, this.apex, TYPE.SOA, negativeTtlSeconds, this.#soa.rdata);
  }

  /** How many names a search name stands for. */
  get count(): number {
    return this.#suffixes.length;
  }

  /** The TTL of the CNAME to the name of this number: the names before it do not exist, for so long as any denial is good. */
  ttlSeconds(number: number): number {
    const { ttlSeconds, negativeTtlSeconds } = this.#options;
    return number === IN_NAMESPACE ? ttlSeconds : Math.min(ttlSeconds, negativeTtlSeconds);
  }

  /** The name of this number, valid until the next call; undefined where it is too long. */
  compose(
    number: number,
    bytes: Uint8Array,
    { nameEnd, namespaceAt }: SearchPlace,
  ): Uint8Array | undefined {
    const suffix = this.#suffixes[number]!;
    const labelBytes = number === IN_NAMESPACE ? bytes[namespaceAt]! + 1 : 0;
    const length = nameEnd + labelBytes + suffix.length;
    if (length > MAX_NAME_BYTES) return undefined;
    const name = this.#tried;
    for (let i = 0; i < nameEnd; i++) name[i] = bytes[i]!;
    for (let i = 0; i < labelBytes; i++) name[nameEnd + i] = bytes[namespaceAt + i]!;
    name.set(suffix, nameEnd + labelBytes);
    return name.subarray(0, length);
  }

  /** Whether a name exists; `maybe`: a snapshot does not have it; `unknown`: its server knows. */
  stateOf(name: Uint8Array): TriedName['state'] | 'maybe' {
    const { length } = name;
    const { zone, others, isFromSnapshot } = this.#options;
    const apexAt = suffixOffset(name, length, zone.apex);
    if (apexAt >= 0) {
      this.#question.read(name, length, apexAt);
      if (this.#question.kind !== 'absent') return 'exists';
      return isFromSnapshot() && this.#question.couldExist ? 'maybe' : 'absent';
    }
    // A name that is looked up is no search name itself: else one question could ask for many.
    if (suffixOffset(name, length, this.apex) >= 0) return 'absent';
    if (others?.find(name, length) !== true) return 'unknown';
    // Of what is not known yet the answer is SERVFAIL.
    return !others.isSynced || this.#isAnswered(name, others) ? 'exists' : 'absent';
  }

  /** Whether a name that was found does exist: of some zones all names are found. */
  #isAnswered(name: Uint8Array, others: LocalNames): boolean {
    const message = buildQuery(name, TYPE.A);
    this.#asked.read(message, message.length, false, SAFE_UDP_BYTES);
    this.#writer.begin(this.#asked, this.#out);
    others.answer(TYPE.A, this.#writer);
    const length = this.#writer.finish();
    return length > 0 && (readUint16(this.#out, 2) & RCODE_MASK) !== RCODE.NXDOMAIN;
  }
}

/** Where in a search name the name that is looked up ends, and the label of the namespace begins. */
interface SearchPlace {
  readonly nameEnd: number;
  readonly namespaceAt: number;
}

/** The names that one search name stands for. */
class SearchedNames implements Candidates {
  readonly #names: SearchNames;
  readonly #bytes: Uint8Array;
  readonly #place: SearchPlace;
  #number = -1;
  #isUnknown = false;
  /** Whether one that was passed over may exist. */
  #isMissed = false;

  constructor(names: SearchNames, bytes: Uint8Array, place: SearchPlace) {
    this.#names = names;
    this.#bytes = bytes;
    this.#place = place;
  }

  get isUnknown(): boolean {
    return this.#isUnknown;
  }

  get ttlSeconds(): number {
    return this.#names.ttlSeconds(this.#number);
  }

  next(trace: Trace | undefined): Uint8Array | undefined {
    while (++this.#number < this.#names.count) {
      const name = this.#names.compose(this.#number, this.#bytes, this.#place);
      if (name === undefined) continue;
      const state = this.#names.stateOf(name);
      trace?.note(SEARCH_TRIED, {
        name: name.slice(),
        state: state === 'maybe' ? 'absent' : state,
      });
      this.#isUnknown = state === 'unknown';
      if (state === 'exists' || state === 'unknown') return name.slice();
      this.#isMissed ||= state === 'maybe';
    }
    this.#isUnknown = false;
    return undefined;
  }

  deny(writer: AnswerWriter): void {
    if (this.#isMissed) writer.setRcode(RCODE.SERVFAIL, NOT_KNOWN);
    else this.#names.deny(RCODE.NXDOMAIN, writer);
  }
}

/** A name before another one. */
function joined(name: Uint8Array, suffix: Uint8Array): Uint8Array {
  const all = new Uint8Array(name.length - 1 + suffix.length);
  all.set(name.subarray(0, -1));
  all.set(suffix, name.length - 1);
  return all;
}
