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
  EXTENDED_ERROR,
  extendedErrorOption,
  addressBytes,
  AnswerWriter,
  bindAddress,
  CLASS,
  encodeKey,
  encodeRdata,
  EVERY_ADDRESS,
  FLAG,
  NameTable,
  type Query,
  RCODE,
  RCODE_MASK,
  readUint16,
  SECTION,
  suffixOffset,
  TYPE,
} from '@kube-dns/wire';
import { hostname, networkInterfaces } from 'node:os';
import type { KubednsFlags } from '../config/flags.js';
import type { Upstreams } from '../config/upstreams.js';
import { federatedTarget, type Federations } from '../federation/federations.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { ZoneName } from '../zone/zone-names.js';
import { ExternalNames, ForwardedReplies, UpstreamRecords } from './forwarding.js';
import type { QueryStatistics, System } from './query-statistics.js';
import { ReverseAnswerer } from './reverse-answerer.js';
import { ZoneAnswerer } from './zone-answerer.js';

/** The zone is incomplete: a client would cache a negative answer. */
const NOT_READY = extendedErrorOption(EXTENDED_ERROR.NOT_READY, 'no list of the cluster yet');
/** A class or a name of class CHAOS that this server has nothing of. */
const NOT_OURS = extendedErrorOption(EXTENDED_ERROR.NOT_AUTHORITATIVE);
const NO_SERVERS = extendedErrorOption(EXTENDED_ERROR.NETWORK_ERROR, 'no name servers');

/** Clients time out after 5 s; they get SERVFAIL before. */
export const UPSTREAM_DEADLINE_MS = 4_000;

/** The parts that answers are made from. */
export interface CompositionOptions {
  readonly flags: KubednsFlags;
  readonly version: string;
  readonly zone: ClusterZone;
  readonly forwarder: QueryForwarder;
  readonly upstreams: Pick<Upstreams, 'groupFor'>;
  readonly federations: Pick<Federations, 'isActive' | 'find' | 'locality'>;
  readonly statistics: QueryStatistics;
  readonly isSynced: () => boolean;
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
    federate: (name: ZoneName) => federatedTarget(federations, name, zone),
  };
}

/** Composes the answerer from the flags. */
export function composeAnswerer(options: CompositionOptions): KubednsAnswerer {
  const { flags, version, zone, forwarder, upstreams, statistics, isSynced } = options;
  const ttls = { ttlSeconds: flags['record-ttl'], negativeTtlSeconds: flags['negative-ttl'] };
  const zoneAnswerer = new ZoneAnswerer({
    ...ttls,
    ...namingOf(options),
    ownAddresses: ownAddresses(bindAddress(flags['dns-bind-address'])),
  });
  const reverse = new ReverseAnswerer({ ...ttls, zone, mode: flags.ptr });
  const records = new UpstreamRecords({ zone: zoneAnswerer, reverse, isSynced });
  return new KubednsAnswerer({
    zone: zoneAnswerer,
    reverse,
    chaos: new ChaosAnswerer({ version: `kube-dns ${version}`, hostname: hostname() }),
    externalNames: new ExternalNames({
      zone: zoneAnswerer,
      records,
      forwarder,
      upstreams,
      ...ttls,
    }),
    upstreamRecords: records,
    forwarder,
    upstreams,
    statistics,
    isSynced,
  });
}

/** The addresses that clients use for this server, as far as they can be found out. */
function ownAddresses(given: string): Uint8Array[] {
  if (given !== EVERY_ADDRESS) return [given].filter(isIpAddress).map(addressBytes);
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
    .map(({ address }) => addressBytes(address));
}

export interface KubednsAnswererOptions {
  readonly zone: ZoneAnswerer;
  readonly reverse: ReverseAnswerer;
  readonly externalNames: ExternalNames;
  readonly upstreamRecords: UpstreamRecords;
  readonly chaos: ChaosAnswerer;
  readonly forwarder: QueryForwarder;
  /** The upstream servers for names outside the cluster. */
  readonly upstreams: Pick<Upstreams, 'groupFor'>;
  readonly statistics: QueryStatistics;
  /** Whether every object of the cluster was listed once. */
  readonly isSynced: () => boolean;
}

const IPV4_REVERSE = encodeKey('in-addr.arpa');
const IPV6_REVERSE = encodeKey('ip6.arpa');

/** Decides where the answer to a question comes from: the zone, the reverse names, or upstream. */
export class KubednsAnswerer implements Answerer {
  readonly #options: KubednsAnswererOptions;
  readonly #writer = new AnswerWriter();
  readonly #client: CountedClient;
  readonly #replies: ForwardedReplies;
  /** Where the zone's own name begins in the name of a question to the zone. */
  #apexAt = -1;

  constructor(options: KubednsAnswererOptions) {
    this.#options = options;
    this.#client = new CountedClient(options.statistics);
    this.#replies = new ForwardedReplies(options.upstreamRecords);
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    const startedMs = performance.now();
    const system = this.#systemOf(query);
    // A deferred answer is counted by the client.
    this.#client.start(client, system, startedMs);
    const length = this.#answerAs(system, query, out, this.#client);
    if (length > 0) {
      const flags = readUint16(out, 2);
      const seconds = (performance.now() - startedMs) / 1000;
      const isTruncated = (flags & FLAG.TC) !== 0;
      this.#options.statistics.count(system, seconds, length, flags & RCODE_MASK, isTruncated);
    }
    return length;
  }

  /** The kind of a question: the zone (and every refusal), an address, or any other name. */
  #systemOf(query: Query): System {
    if (query.class !== CLASS.IN && query.class !== CLASS.ANY) return 'auth';
    this.#apexAt = this.#options.zone.apexOffset(query.name, query.nameLength);
    if (this.#apexAt >= 0) return 'auth';
    return isReverse(query) ? 'reverse' : 'recursive';
  }

  #answerAs(system: System, query: Query, out: Uint8Array, client: Client): number {
    if (system === 'reverse') return this.#answerReverse(query, out, client);
    if (system === 'recursive') return this.#forward(query, out, client);
    if (query.class === CLASS.CH) return this.#answerChaos(query, out);
    const isOfZone = query.class === CLASS.IN || query.class === CLASS.ANY;
    return isOfZone
      ? this.#answerZone(query, out, client)
      : this.#refuse(query, out, RCODE.REFUSED, NOT_OURS);
  }

  #answerZone(query: Query, out: Uint8Array, client: Client): number {
    const { zone, externalNames, isSynced } = this.#options;
    if (!isSynced()) return this.#answerUnready(query, out);
    client.answersFrom(SOURCE.ZONE);
    zone.read(query.name, query.nameLength, this.#apexAt);
    if (zone.hasWildcard) this.#options.statistics.wildcards++;
    const target = zone.targetOf(query.type);
    if (target !== undefined) return externalNames.answer(target, query, out, client);
    this.#writer.begin(query, out, Math.min(query.maxAnswerBytes, zone.maxAnswerBytes));
    zone.answer(query, this.#writer);
    return this.#writer.finish();
  }

  /** Reverse names outside the cluster are forwarded: another server may have records for them. */
  #answerReverse(query: Query, out: Uint8Array, client: Client): number {
    const { reverse, isSynced } = this.#options;
    // Until then any address may be one of the cluster.
    if (!isSynced()) return this.#answerUnready(query, out);
    if (!reverse.find(query.name, query.nameLength)) return this.#forward(query, out, client);
    client.answersFrom(SOURCE.ZONE);
    this.#begin(query, out);
    this.#writer.setAuthoritative();
    reverse.answer(query.type, this.#writer);
    return this.#writer.finish();
  }

  #answerChaos(query: Query, out: Uint8Array): number {
    this.#begin(query, out);
    this.#options.chaos.answer(query, this.#writer);
    return this.#writer.finish();
  }

  #forward(query: Query, out: Uint8Array, client: Client): number {
    const { forwarder, upstreams } = this.#options;
    const group = upstreams.groupFor(query.name, query.nameLength);
    // A missing server is a failure, not a policy: SERVFAIL, as the original.
    if (group.servers.length === 0) {
      return this.#refuse(query, out, RCODE.SERVFAIL, NO_SERVERS);
    }
    return forwarder.forward(query, out, client, group, this.#replies.inspect);
  }

  /** Answers while the zone is incomplete: a client would cache a negative answer. */
  #answerUnready(query: Query, out: Uint8Array): number {
    return this.#refuse(query, out, RCODE.SERVFAIL, NOT_READY);
  }

  /** The size limit of the client holds from the start: an answer cut later would be counted as whole. */
  #begin(query: Query, out: Uint8Array): void {
    this.#writer.begin(query, out, query.maxAnswerBytes);
  }

  #refuse(query: Query, out: Uint8Array, rcode: number, reason: Uint8Array): number {
    this.#begin(query, out);
    this.#writer.setRcode(rcode, reason);
    return this.#writer.finish();
  }
}

/** Everything below in-addr.arpa and ip6.arpa. */
function isReverse({ name, nameLength }: Query): boolean {
  return (
    suffixOffset(name, nameLength, IPV4_REVERSE) >= 0 ||
    suffixOffset(name, nameLength, IPV6_REVERSE) >= 0
  );
}

/** The client of the current question; a deferred answer is counted when it is sent. */
export class CountedClient implements Client {
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

export interface ChaosFacts {
  /** As `kube-dns 1.2.3`. */
  readonly version: string;
  /** The host name, in a cluster the pod's name. */
  readonly hostname: string;
}

/** Answers about this server must not be cached. */
const TTL_SECONDS = 0;

/** Answers the questions of class CHAOS that servers are asked about themselves (RFC 4892). */
export class ChaosAnswerer {
  readonly #texts = new NameTable<Uint8Array>();

  constructor({ version, hostname }: ChaosFacts) {
    for (const name of ['version.bind', 'version.server']) this.#add(name, version);
    for (const name of ['hostname.bind', 'id.server']) this.#add(name, hostname);
  }

  /** Answers; the writer has begun. Other names are refused: this server has no such zone. */
  answer(query: Query, writer: AnswerWriter): void {
    const text = this.#texts.get(query.name, 0, query.nameLength);
    if (text === undefined) {
      writer.setRcode(RCODE.REFUSED, NOT_OURS);
      return;
    }
    writer.setAuthoritative();
    // Another type of these names is NODATA.
    if (query.type !== TYPE.TXT && query.type !== TYPE.ANY) return;
    writer.add(SECTION.ANSWER, undefined, TYPE.TXT, TTL_SECONDS, text);
  }

  #add(name: string, text: string): void {
    this.#texts.set(encodeKey(name), encodeRdata({ type: 'TXT', name, data: text }));
  }
}
