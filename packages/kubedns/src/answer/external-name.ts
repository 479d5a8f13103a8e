import {
  type AskCallback,
  type Client,
  NO_ANSWER_YET,
  type QueryForwarder,
  SOURCE,
} from '@kube-dns/transport';
import {
  AnswerWriter,
  buildQuery,
  copyQuery,
  equalNames,
  lowerCaseByte,
  MAX_MESSAGE_BYTES,
  type Query,
  RCODE,
  RecordCursor,
  SECTION,
  TYPE,
  writeUint32,
} from '@kube-dns/wire';
import type { Upstreams } from '../config/upstreams.js';
import { NO_TARGET } from './explanations.js';
import type { UpstreamRecords } from './upstream-records.js';
import type { ZoneAnswerer } from './zone-answerer.js';

export interface ExternalNamesOptions {
  readonly zone: ZoneAnswerer;
  readonly records: UpstreamRecords;
  readonly forwarder: QueryForwarder;
  readonly upstreams: Pick<Upstreams, 'groupFor'>;
  readonly ttlSeconds: number;
}

/** The CNAMEs of an answer. */
interface Chain {
  /** The targets; the owner of each CNAME is the target before it. */
  readonly targets: Uint8Array[];
  /** Whether one of the owners is a federated name: the answer then has TTL 0. */
  isFederated: boolean;
}

/** Maximum CNAMEs of a chain; a longer one counts as a loop (skydns: 8). */
const MAX_LINKS = 8;

/**
 * Answers questions about ExternalName services: the CNAME, then the records of its target, from the zone
 * or from upstream. The CNAME is always in the answer; the rcode is the target's (RFC 6604). An answer with
 * anything from upstream is not authoritative.
 */
export class ExternalNames {
  readonly #options: ExternalNamesOptions;
  readonly #writer = new AnswerWriter();
  readonly #out = new Uint8Array(MAX_MESSAGE_BYTES);

  constructor(options: ExternalNamesOptions) {
    this.#options = options;
  }

  /** Answers by the target of the first CNAME, in wire form; returns what an Answerer returns. */
  answer(first: Uint8Array, query: Query, out: Uint8Array, client: Client): number {
    const { zone } = this.#options;
    const chain: Chain = { targets: [first], isFederated: zone.isFederated };
    for (let target = first; ;) {
      const key = target.map(lowerCaseByte);
      if (!zone.contains(key, key.length)) return this.#askUpstream(query, out, client, chain);
      zone.read(key, key.length);
      const next = zone.targetOf(query.type);
      if (next === undefined) {
        this.#begin(query, out, chain);
        zone.answerTarget(target, query, this.#writer);
        return this.#finish(out, chain);
      }
      const { targets } = chain;
      const isLoop = targets.some((each) => equalNames(each, next));
      if (isLoop || targets.length === MAX_LINKS) return this.#fail(query, out, chain);
      targets.push(next);
      chain.isFederated ||= zone.isFederated;
      target = next;
    }
  }

  /** Asks an upstream server for the end of a chain that is outside of the zone. */
  #askUpstream(query: Query, out: Uint8Array, client: Client, chain: Chain): number {
    const { forwarder, upstreams } = this.#options;
    const target = chain.targets.at(-1)!;
    const key = target.map(lowerCaseByte);
    const group = upstreams.groupFor(key, key.length);
    if (group.servers.length === 0) return this.#fail(query, out, chain);
    const copy = copyQuery(query);
    const done: AskCallback = (message, server) => {
      const length =
        message === null
          ? this.#fail(copy, this.#out, chain)
          : this.#relay(message, copy, this.#out, chain);
      reply.send(this.#out, length, SOURCE.UPSTREAM, server);
    };
    const isAsked = forwarder.ask(buildQuery(target, query.type), group, done, client.address);
    if (!isAsked) return this.#fail(query, out, chain);
    // A query that is answered now has no reply path: it would have two answers.
    const reply = client.defer();
    return NO_ANSWER_YET;
  }

  #relay(message: Buffer, query: Query, out: Uint8Array, chain: Chain): number {
    this.#begin(query, out, chain);
    const { records } = this.#options;
    return records.add(message, chain.targets.at(-1)!, query, this.#writer)
      ? this.#finish(out, chain)
      : this.#fail(query, out, chain);
  }

  #fail(query: Query, out: Uint8Array, chain: Chain): number {
    this.#begin(query, out, chain);
    this.#writer.setRcode(RCODE.SERVFAIL, NO_TARGET);
    return this.#finish(out, chain);
  }

  #begin(query: Query, out: Uint8Array, chain: Chain): void {
    this.#writer.begin(query, out, query.maxAnswerBytes);
    this.#writer.setAuthoritative();
    const { ttlSeconds } = this.#options;
    chain.targets.forEach((target, i) => {
      // The first owner is the question's name, in the case that the client sent.
      const owner = i === 0 ? undefined : chain.targets[i - 1];
      this.#writer.add(SECTION.ANSWER, owner, TYPE.CNAME, ttlSeconds, target);
    });
  }

  #finish(out: Uint8Array, { isFederated }: Chain): number {
    const length = this.#writer.finish();
    if (!isFederated) return length;
    const cursor = new RecordCursor().reset(out, length);
    // The TTL of an OPT record holds its flags.
    while (cursor.next()) if (cursor.type !== TYPE.OPT) writeUint32(out, cursor.ttlAt, 0);
    return length;
  }
}
