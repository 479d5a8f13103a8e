import { type Client, NO_ANSWER_YET, type QueryForwarder } from '@kube-dns/transport';
import {
  AnswerWriter,
  buildQuery,
  copyQuery,
  equalNames,
  EXTENDED_ERROR,
  lowerCaseByte,
  MAX_MESSAGE_BYTES,
  type Query,
  RCODE,
  RCODE_MASK,
  readUint16,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import type { Upstreams } from '../config/upstreams.js';
import { chainRecords } from './upstream-chain.js';
import type { ZoneAnswerer } from './zone-answerer.js';

export interface ExternalNamesOptions {
  readonly zone: ZoneAnswerer;
  readonly forwarder: QueryForwarder;
  readonly upstreams: Pick<Upstreams, 'groupFor'>;
  readonly ttlSeconds: number;
}

/** Maximum CNAMEs of a chain; a longer one counts as a loop (skydns: 8). */
const MAX_LINKS = 8;

/**
 * Answers questions about ExternalName services: the CNAME, then the records of its target, from the zone
 * or from upstream. The CNAME is always in the answer; the rcode is the target's (RFC 6604).
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
    /** The targets of the chain; the owner of each CNAME is the target before it. */
    const chain = [first];
    for (let target = first; ;) {
      const key = target.map(lowerCaseByte);
      if (!zone.contains(key, key.length)) return this.#askUpstream(query, out, client, chain);
      zone.read(key, key.length);
      const next = zone.targetOf(query.type);
      if (next === undefined) {
        this.#begin(query, out, chain);
        zone.answerTarget(target, query, this.#writer);
        return this.#writer.finish();
      }
      const isLoop = chain.some((each) => equalNames(each, next));
      if (isLoop || chain.length === MAX_LINKS) return this.#fail(query, out, chain);
      chain.push(next);
      target = next;
    }
  }

  /** Asks an upstream server for the end of a chain that is outside of the zone. */
  #askUpstream(
    query: Query,
    out: Uint8Array,
    client: Client,
    chain: readonly Uint8Array[],
  ): number {
    const { forwarder, upstreams } = this.#options;
    const target = chain.at(-1)!;
    const key = target.map(lowerCaseByte);
    const group = upstreams.groupFor(key, key.length);
    if (group.servers.length === 0) return this.#fail(query, out, chain);
    const copy = copyQuery(query);
    const reply = client.defer();
    const isAsked = forwarder.ask(buildQuery(target, query.type), group, (message) => {
      const length =
        message === null
          ? this.#fail(copy, this.#out, chain)
          : this.#relay(message, copy, this.#out, chain);
      reply.send(this.#out, length);
    });
    if (isAsked) return NO_ANSWER_YET;
    reply.abandon();
    return this.#fail(query, out, chain);
  }

  #relay(message: Buffer, query: Query, out: Uint8Array, chain: readonly Uint8Array[]): number {
    this.#begin(query, out, chain);
    this.#writer.setRcode(readUint16(message, 2) & RCODE_MASK);
    for (const record of chainRecords(message, query.type)) {
      this.#writer.add(record.section, record.owner, record.type, record.ttlSeconds, record.rdata);
    }
    return this.#writer.finish();
  }

  #fail(query: Query, out: Uint8Array, chain: readonly Uint8Array[]): number {
    this.#begin(query, out, chain);
    this.#writer.setRcode(RCODE.SERVFAIL, EXTENDED_ERROR.NETWORK_ERROR);
    return this.#writer.finish();
  }

  #begin(query: Query, out: Uint8Array, chain: readonly Uint8Array[]): void {
    this.#writer.begin(query, out, query.maxAnswerBytes);
    this.#writer.setAuthoritative();
    const { ttlSeconds } = this.#options;
    chain.forEach((target, i) => {
      // The first owner is the question's name, in the case that the client sent.
      const owner = i === 0 ? undefined : chain[i - 1];
      this.#writer.add(SECTION.ANSWER, owner, TYPE.CNAME, ttlSeconds, target);
    });
  }
}
