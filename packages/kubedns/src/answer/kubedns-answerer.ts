import { hostname, networkInterfaces } from 'node:os';
import { TraceKind } from '@kube-dns/base';
import { isIpAddress } from '@kube-dns/daemon';
import {
  type Answerer,
  type AnswerSource,
  type Client,
  type QueryForwarder,
  type ReplyPath,
  SOURCE,
} from '@kube-dns/transport';
import {
  addressBytes,
  AnswerWriter,
  bindAddress,
  CLASS,
  encodeKey,
  encodeRdata,
  EVERY_ADDRESS,
  EXTENDED_ERROR,
  extendedErrorOption,
  FLAG,
  NameTable,
  type Query,
  RCODE,
  RCODE_MASK,
  readUint16,
  SECTION,
  isInZone,
  TYPE,
} from '@kube-dns/wire';
import type { KubednsFlags, PtrMode } from '../config/flags.js';
import type { Upstreams } from '../config/upstreams.js';
import { type FederatedNames, federatedTarget } from '../federation/federations.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { ZoneName } from '../zone/zone-names.js';
import { Forwarding } from './forwarding.js';
import type { LocalNames } from './local-names.js';
import type { QueryStatistics, System } from './query-statistics.js';
import { ReverseAnswerer } from './reverse-answerer.js';
import {
  isTransfer,
  NO_TRANSFERS,
  ZONE_READ,
  ZoneAnswerer,
  type ZoneAnswererOptions,
} from './zone-answerer.js';

export interface KubednsAnswererOptions extends ZoneAnswererOptions {
  readonly ptr: PtrMode;
  /** As `kube-dns 1.2.3`. */
  readonly version: string;
  /** The host name, in a cluster the pod's name. */
  readonly hostname: string;
  readonly forwarder: QueryForwarder;
  /** The upstream servers for names outside the cluster. */
  readonly upstreams: Pick<Upstreams, 'groupFor'>;
  readonly statistics: QueryStatistics;
  /** Whether every object of the cluster was listed once. */
  readonly isSynced: () => boolean;
  /** Names that are not in the zone, and that are answered here; there are none unless given. */
  readonly localNames?: LocalNames | undefined;
}

/** Clients time out after 5 s; they get SERVFAIL before. */
export const UPSTREAM_DEADLINE_MS = 4_000;

const IPV4_REVERSE = encodeKey('in-addr.arpa');
const IPV6_REVERSE = encodeKey('ip6.arpa');
/** Answers about this server must not be cached. */
const CHAOS_TTL_SECONDS = 0;
/** A client would cache a negative answer while the zone is incomplete. */
const NOT_READY = extendedErrorOption(EXTENDED_ERROR.NOT_READY, 'no list of the cluster yet');
/** A class, or a name of class CHAOS, that this server has nothing of. */
const NOT_OURS = extendedErrorOption(EXTENDED_ERROR.NOT_AUTHORITATIVE);

/** What kind of question it is. */
export const SYSTEM = new TraceKind<System>();
/** It is refused, as not every object of the cluster was listed yet. */
export const UNSYNCED = new TraceKind<true>();

/** Decides where the answer to a question comes from: the zone, the reverse names, other names of the cluster, or upstream. */
export class KubednsAnswerer implements Answerer {
  readonly #zone: ZoneAnswerer;
  readonly #reverse: ReverseAnswerer;
  readonly #forwarding: Forwarding;
  readonly #localNames: LocalNames | undefined;
  readonly #statistics: QueryStatistics;
  readonly #isSynced: () => boolean;
  /** The texts that servers are asked about themselves (RFC 4892). */
  readonly #chaosTexts = new NameTable<Uint8Array>();
  readonly #writer = new AnswerWriter();
  readonly #client: CountedClient;
  /** Where the zone's own name begins in the name of a question of class IN; -1 where it is not in the zone. */
  #apexAt = -1;
  /** Whether the name of a question that is not in the zone is one of the local names. */
  #isLocal = false;

  constructor(options: KubednsAnswererOptions) {
    const { zone, ttlSeconds, negativeTtlSeconds, ptr, statistics, isSynced } = options;
    this.#zone = new ZoneAnswerer(options);
    this.#reverse = new ReverseAnswerer({ zone, ttlSeconds, negativeTtlSeconds, mode: ptr });
    const { forwarder, upstreams } = options;
    const { localNames } = options;
    const own = { zone: this.#zone, reverse: this.#reverse, ttlSeconds, isSynced, localNames };
    this.#forwarding = new Forwarding({ ...own, forwarder, upstreams });
    this.#localNames = localNames;
    this.#statistics = statistics;
    this.#isSynced = isSynced;
    this.#client = new CountedClient(statistics);
    for (const [name, text] of [
      ['version.bind', options.version],
      ['version.server', options.version],
      ['hostname.bind', options.hostname],
      ['id.server', options.hostname],
    ] as const) {
      this.#chaosTexts.set(encodeKey(name), encodeRdata({ type: 'TXT', name, data: text }));
    }
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    const startedMs = performance.now();
    const system = this.#systemOf(query);
    query.trace?.note(SYSTEM, system);
    // A deferred answer is counted by the client.
    this.#client.start(client, system, startedMs);
    const length = this.#answerAs(system, query, out, this.#client);
    // As for a deferred answer, but here: a time that is passed to a function may become an object, for each query.
    if (length > 0) {
      const flags = readUint16(out, 2);
      const seconds = (performance.now() - startedMs) / 1000;
      const isTruncated = (flags & FLAG.TC) !== 0;
      this.#statistics.count(system, seconds, length, flags & RCODE_MASK, isTruncated);
    }
    return length;
  }

  /** The kind of a question: the zone, and other names of the cluster (and every refusal), an address, or any other name. */
  #systemOf(query: Query): System {
    if (query.class !== CLASS.IN && query.class !== CLASS.ANY) return 'auth';
    this.#apexAt = this.#zone.apexOffset(query.name, query.nameLength);
    if (this.#apexAt >= 0) return 'auth';
    const local = this.#localNames;
    this.#isLocal = local?.find(query.name, query.nameLength, query.trace) === true;
    if (isReverse(query)) return 'reverse';
    return this.#isLocal ? 'auth' : 'recursive';
  }

  #answerAs(system: System, query: Query, out: Uint8Array, client: Client): number {
    if (system === 'reverse') return this.#answerReverse(query, out, client);
    if (system === 'recursive') return this.#forwarding.forward(query, out, client);
    if (query.class === CLASS.CH) return this.#answerChaos(query, out);
    const isOfZone = query.class === CLASS.IN || query.class === CLASS.ANY;
    if (!isOfZone) return this.#refuse(query, out, RCODE.REFUSED, NOT_OURS);
    return this.#apexAt >= 0
      ? this.#answerZone(query, out, client)
      : this.#answerLocal(query, out, client);
  }

  #answerZone(query: Query, out: Uint8Array, client: Client): number {
    const zone = this.#zone;
    if (!this.#isSynced()) return this.#refuseUnsynced(query, out);
    client.answersFrom(SOURCE.ZONE);
    zone.read(query.name, query.nameLength, this.#apexAt);
    query.trace?.note(ZONE_READ, zone.reading());
    if (zone.hasWildcard) this.#statistics.wildcards++;
    const target = zone.targetOf(query.type);
    if (target !== undefined) return this.#forwarding.follow(target, query, out, client);
    this.#writer.begin(query, out, Math.min(query.maxAnswerBytes, zone.maxAnswerBytes));
    zone.answer(query, this.#writer);
    zone.markSnapshot(this.#writer);
    return this.#writer.finish();
  }

  /** Reverse names outside the cluster are forwarded: another server may have records for them. */
  #answerReverse(query: Query, out: Uint8Array, client: Client): number {
    // Until then any address may be one of the cluster.
    if (!this.#isSynced()) return this.#refuseUnsynced(query, out);
    if (!this.#reverse.find(query.name, query.nameLength, query.trace)) {
      if (this.#isLocal) return this.#answerLocal(query, out, client);
      return this.#forwarding.forward(query, out, client);
    }
    client.answersFrom(SOURCE.ZONE);
    this.#begin(query, out);
    this.#writer.setAuthoritative();
    this.#reverse.answer(query.type, this.#writer);
    this.#zone.markSnapshot(this.#writer);
    return this.#writer.finish();
  }

  /** A name of the cluster that is not in its zone. */
  #answerLocal(query: Query, out: Uint8Array, client: Client): number {
    const local = this.#localNames!;
    if (!local.isSynced) return this.#refuseUnsynced(query, out);
    client.answersFrom(SOURCE.ZONE);
    if (isTransfer(query.type)) return this.#refuse(query, out, RCODE.REFUSED, NO_TRANSFERS);
    const candidates = local.candidates?.();
    if (candidates !== undefined) return this.#forwarding.search(candidates, query, out, client);
    const target = local.targetOf(query.type);
    if (target !== undefined) return this.#forwarding.follow(target, query, out, client, false);
    this.#begin(query, out);
    this.#writer.setAuthoritative();
    local.answer(query.type, this.#writer);
    this.#zone.markSnapshot(this.#writer);
    return this.#writer.finish();
  }

  /** Other names of this class are refused: this server has no such zone. */
  #answerChaos(query: Query, out: Uint8Array): number {
    const text = this.#chaosTexts.get(query.name, 0, query.nameLength);
    if (text === undefined) return this.#refuse(query, out, RCODE.REFUSED, NOT_OURS);
    this.#begin(query, out);
    this.#writer.setAuthoritative();
    // Another type of these names is NODATA.
    if (query.type === TYPE.TXT || query.type === TYPE.ANY) {
      this.#writer.add(SECTION.ANSWER, undefined, TYPE.TXT, CHAOS_TTL_SECONDS, text);
    }
    return this.#writer.finish();
  }

  /** The size limit of the client holds from the start: an answer cut later would be counted as whole. */
  #begin(query: Query, out: Uint8Array): void {
    this.#writer.begin(query, out, query.maxAnswerBytes);
  }

  #refuseUnsynced(query: Query, out: Uint8Array): number {
    query.trace?.note(UNSYNCED, true);
    return this.#refuse(query, out, RCODE.SERVFAIL, NOT_READY);
  }

  #refuse(query: Query, out: Uint8Array, rcode: number, reason: Uint8Array): number {
    this.#begin(query, out);
    this.#writer.setRcode(rcode, reason);
    return this.#writer.finish();
  }
}

/** Everything below in-addr.arpa and ip6.arpa. */
function isReverse({ name, nameLength }: Query): boolean {
  return isInZone(name, nameLength, IPV4_REVERSE) || isInZone(name, nameLength, IPV6_REVERSE);
}

/** The client of the current question; a deferred answer is counted when it is sent. */
class CountedClient implements Client {
  readonly #statistics: QueryStatistics;
  #client!: Client;
  #system: System = 'auth';
  #startedMs = 0;

  constructor(statistics: QueryStatistics) {
    this.#statistics = statistics;
  }

  /** Sets the client of the next question. */
  start(client: Client, system: System, startedMs: number): void {
    this.#client = client;
    this.#system = system;
    this.#startedMs = startedMs;
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

  defer(): ReplyPath {
    const reply = this.#client.defer();
    const system = this.#system;
    const startedMs = this.#startedMs;
    return {
      get address() {
        return reply.address;
      },
      get port() {
        return reply.port;
      },
      send: (message, length, source, server) => {
        reply.send(message, length, source, server);
        const flags = readUint16(message, 2);
        const seconds = (performance.now() - startedMs) / 1000;
        const isTruncated = (flags & FLAG.TC) !== 0;
        this.#statistics.count(system, seconds, length, flags & RCODE_MASK, isTruncated);
      },
      abandon: () => reply.abandon(),
    };
  }
}

/** The parts that answers are made from. */
export interface CompositionOptions {
  readonly flags: KubednsFlags;
  readonly version: string;
  readonly zone: ClusterZone;
  readonly forwarder: QueryForwarder;
  readonly upstreams: Pick<Upstreams, 'groupFor'>;
  readonly federations: FederatedNames;
  readonly statistics: QueryStatistics;
  /** Never unless given. */
  readonly isFromSnapshot?: () => boolean;
  readonly isSynced: () => boolean;
  /** None unless given. */
  readonly localNames?: LocalNames | undefined;
}

/** Composes the answerer from the flags. */
export function composeAnswerer(options: CompositionOptions): KubednsAnswerer {
  const { flags, version, forwarder, upstreams, statistics, isFromSnapshot, isSynced } = options;
  const { localNames } = options;
  return new KubednsAnswerer({
    ...namingOf(options),
    ...(isFromSnapshot && { isFromSnapshot }),
    hiddenNamespaces: flags['hidden-namespaces'],
    ttlSeconds: flags['record-ttl'],
    negativeTtlSeconds: flags['negative-ttl'],
    ownAddresses: ownAddresses(bindAddress(flags['dns-bind-address'])),
    ptr: flags.ptr,
    version: `kube-dns ${version}`,
    hostname: hostname(),
    forwarder,
    upstreams,
    statistics,
    isSynced,
    localNames,
  });
}

/** How the names of the zone are read, from the flags. */
export function namingOf({
  flags,
  zone,
  federations,
}: Pick<CompositionOptions, 'flags' | 'zone' | 'federations'>) {
  return {
    zone,
    pods: flags.pods,
    wildcards: flags.wildcards,
    zonal: flags.zonal,
    federate: (name: ZoneName) => federatedTarget(federations, name, zone),
  };
}

/** The addresses that clients use for this server, as far as they can be found out. */
export function ownAddresses(bound: string): Uint8Array[] {
  if (bound !== EVERY_ADDRESS) return [bound].filter(isIpAddress).map(addressBytes);
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
    .map(({ address }) => addressBytes(address));
}
