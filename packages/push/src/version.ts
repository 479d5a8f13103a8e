import type { Answerer, AnswerSource, Client, ReplyPath } from '@kube-dns/transport';
import {
  appendZoneVersion,
  isInZone,
  NO_ZONE_LABELS,
  type Query,
  type ZoneVersion,
} from '@kube-dns/wire';

/** The most subscriptions that the entries of a cache can have. */
export const MAX_SUBSCRIPTIONS = 63;
/** Added to the number of a subscription for entries that go with a change, and with their TTL, too: */
export const WITH_TTL = 64;
/** those that are only partly of the zone, with the version of that part; and those of which no version tells how old they are. */
export const UNVERSIONED = 128;

/** A process that announces when answers change. */
export interface ChangeSource {
  /** The number of the subscription, from 1 to MAX_SUBSCRIPTIONS, or WITH_TTL or UNVERSIONED more. */
  readonly number: number;
  /** An answer may be cached for so long at most. */
  readonly maxSeconds: number;
  /** The apex of the server's zone, lower-cased in wire form. */
  readonly apex: Uint8Array;
  readonly changes: AnnouncedChanges;
}

/**
 * When the server of each subscription, by its number, was last seen, in seconds by the cache's clock: every change
 * until then is known. -Infinity before; WITH_TTL and above are never set.
 */
export type LastSeen = Float64Array;

/** With no subscription that ever lived. */
export function neverSeen(): LastSeen {
  return new Float64Array(2 * UNVERSIONED).fill(Number.NEGATIVE_INFINITY);
}

/** Owners share these by their hash: a reply that is taken for old costs another question. */
const OWNERS = 4_096;
const NEVER = Number.NEGATIVE_INFINITY;

/** What a server has announced, each by its serial: when names changed last. */
export class AnnouncedChanges {
  readonly #ofOwner = new Float64Array(OWNERS);
  #ofAny = 0;
  /** Of a name above services, or of all. */
  #ofMany = 0;
  /** What changed with a lower serial was not announced here. */
  #first = NEVER;

  /** The name whose hash this is has changed. */
  note(owner: number, serial: number): void {
    this.#ofOwner[owner & (OWNERS - 1)] = this.#ofAny = serial;
  }

  /** Every name may have changed. Serials before are of no use: another process may begin with lower ones. */
  noteAll(serial: number): void {
    this.#ofOwner.fill(0);
    this.#ofAny = 0;
    this.#ofMany = serial;
  }

  /** Changes are announced from this serial on; whether an answer that knows less is old is not known. */
  begin(serial: number): void {
    this.#ofOwner.fill(NEVER);
    this.#ofAny = this.#ofMany = NEVER;
    this.#first = serial;
  }

  /** Whether each change that an answer with this serial does not know was announced. */
  covers(serial: number): boolean {
    return serial >= this.#first;
  }

  /** Whether an answer with this serial knows the last change of an owner. */
  isKnown(owner: number, serial: number): boolean {
    return serial >= this.#ofOwner[owner & (OWNERS - 1)]! && serial >= this.#ofMany;
  }

  /** The same of every owner. */
  areAllKnown(serial: number): boolean {
    return serial >= this.#ofAny && serial >= this.#ofMany;
  }
}

/** Labels of in-addr.arpa and ip6.arpa. */
const REVERSE_ZONE_LABELS = 2;

const NO_ZONES: readonly Uint8Array[] = [];

/**
 * Labels of the zone that a name (lower-cased, in wire form) is in: one with this apex, one of those beside it, or one of
 * reverse names (RFC 9660).
 */
export function versionLabels(
  name: Uint8Array,
  length: number,
  apex: Uint8Array,
  beside = NO_ZONES,
): number {
  for (let i = 0; !isInZone(name, length, apex); i++) {
    if (i === beside.length) return REVERSE_ZONE_LABELS;
    apex = beside[i]!;
  }
  let count = 0;
  for (let at = 0; apex[at]! > 0; at += 1 + apex[at]!) count++;
  return count;
}

/** Whether one of two zones (lower-cased, in wire form) is the other, or in it. */
export function overlaps(one: Uint8Array, other: Uint8Array): boolean {
  return isInZone(one, one.length, other) || isInZone(other, other.length, one);
}

/** What the versions of all answers come from. */
export interface VersionSource extends Pick<ZoneVersion, 'instance' | 'serial' | 'cluster'> {
  /** The zone's name, lower-cased in wire form. */
  readonly apex: Uint8Array;
  /** Those of other zones; none unless given. */
  readonly beside?: readonly Uint8Array[];
  /** Zones whose answers have their TTL: not every change of them is announced. None unless given. */
  readonly unannounced?: readonly Uint8Array[];
}

/**
 * Adds the zone's version (RFC 9660) to the answers of clients that ask for it: subscribers, who keep an answer only
 * if no later change of its name was announced.
 */
export class VersionedAnswerer implements Answerer {
  readonly #answerer: Answerer;
  readonly #client: VersionedClient;

  constructor(answerer: Answerer, source: VersionSource) {
    this.#answerer = answerer;
    this.#client = new VersionedClient(source);
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    if (!query.asksZoneVersion) return this.#answerer.answer(query, out, client);
    this.#client.start(query, client);
    const length = this.#answerer.answer(query, out, this.#client);
    return length > 0 ? this.#client.append(out, length) : length;
  }
}

/** The client of the current question, and the version at the time when it came: no answer is older. */
class VersionedClient implements Client, ZoneVersion {
  labelCount = 0;
  serial = 0;
  /** Valid as long as the records do not change. */
  cluster: Uint8Array | undefined;
  readonly #source: VersionSource;
  #client!: Client;
  #maxBytes = 0;

  constructor(source: VersionSource) {
    this.#source = source;
  }

  /** Sets the question, and its client. */
  start({ name, nameLength, maxAnswerBytes, knowsClusterVersion }: Query, client: Client): void {
    const { apex, beside, unannounced = NO_ZONES, serial, cluster } = this.#source;
    this.labelCount = versionLabels(name, nameLength, apex, beside);
    for (const zone of unannounced) {
      if (isInZone(name, nameLength, zone)) this.labelCount = NO_ZONE_LABELS;
    }
    this.serial = serial;
    this.cluster = knowsClusterVersion ? cluster : undefined;
    this.#client = client;
    this.#maxBytes = maxAnswerBytes;
  }

  get instance(): Uint8Array {
    return this.#source.instance;
  }

  get address(): string {
    return this.#client.address;
  }

  get port(): number {
    return this.#client.port;
  }

  answersFrom(source: AnswerSource): void {
    this.#client.answersFrom(source);
  }

  append(out: Uint8Array, length: number): number {
    return appendZoneVersion(out, length, this.#maxBytes, this);
  }

  defer(): ReplyPath {
    const reply = this.#client.defer();
    const { labelCount, serial, instance } = this;
    const version = { labelCount, serial, instance, cluster: this.cluster?.slice() };
    const maxBytes = this.#maxBytes;
    return {
      get address() {
        return reply.address;
      },
      get port() {
        return reply.port;
      },
      send: (message, length, source, server) => {
        const versioned = appendZoneVersion(message, length, maxBytes, version);
        reply.send(message, versioned, source, server);
      },
      abandon: () => reply.abandon(),
    };
  }
}
