import { type Answerer, type Client, type QueryForwarder, SOURCE } from '@kube-dns/transport';
import {
  AnswerWriter,
  CLASS,
  encodeKey,
  FLAG,
  type Query,
  RCODE,
  RCODE_MASK,
  readUint16,
  suffixOffset,
} from '@kube-dns/wire';
import type { Upstreams } from '../config/upstreams.js';
import type { ChaosAnswerer } from './chaos-answerer.js';
import { CountedClient } from './counted-client.js';
import { NO_SERVERS, NOT_OURS, NOT_READY } from './explanations.js';
import type { ExternalNames } from './external-name.js';
import { ForwardedReplies } from './forwarded-replies.js';
import type { QueryStatistics, System } from './query-statistics.js';
import type { ReverseAnswerer } from './reverse-answerer.js';
import type { UpstreamRecords } from './upstream-records.js';
import type { ZoneAnswerer } from './zone-answerer.js';

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
