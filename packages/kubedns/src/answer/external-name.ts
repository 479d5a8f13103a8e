import {
  type Client,
  type Forwarder,
  NO_ANSWER_YET,
  type ServerAddress,
} from '@kube-dns/transport';
import {
  AnswerWriter,
  buildQuery,
  copyQuery,
  EXTENDED_ERROR,
  lowerCaseByte,
  MAX_MESSAGE_BYTES,
  type Query,
  RCODE,
  readUint16,
  SECTION,
  TYPE,
} from '@kube-dns/wire';
import type { ZoneNode } from '../zone/record-tree.js';
import { chainRecords } from './upstream-chain.js';
import type { ZoneAnswerer } from './zone-answerer.js';

export interface ExternalNamesOptions {
  readonly zone: ZoneAnswerer;
  readonly forwarder: Forwarder;
  readonly servers: () => readonly ServerAddress[];
  readonly ttlSeconds: number;
}

/** One CNAME of a chain, both names in wire form. */
interface Link {
  readonly owner: Uint8Array;
  readonly target: Uint8Array;
}

/** Links of a chain that are followed before it is taken for a loop (skydns: 8). */
const MAX_LINKS = 8;

/**
 * Answers questions about ExternalName services: the CNAME, and behind it what its target has, from the
 * zone or from upstream. The CNAME is always there; the target's rcode is the answer's (RFC 6604).
 */
export class ExternalNames {
  readonly #options: ExternalNamesOptions;
  readonly #writer = new AnswerWriter();
  readonly #out = new Uint8Array(MAX_MESSAGE_BYTES);

  constructor(options: ExternalNamesOptions) {
    this.#options = options;
  }

  /** Answers from a node with a CNAME; returns what an Answerer returns. */
  answer(start: ZoneNode, query: Query, out: Uint8Array, client: Client): number {
    const { zone } = this.#options;
    const chain: Link[] = [];
    let node: ZoneNode | undefined = start;
    for (;;) {
      const target: Uint8Array | undefined = node?.find(TYPE.CNAME)?.rdata[0];
      const last = chain.at(-1);
      if (target === undefined) {
        this.#begin(query, out, chain);
        zone.answerTarget(last!.target.map(lowerCaseByte), query, this.#writer);
        return this.#writer.finish();
      }
      if (chain.length === MAX_LINKS) return this.#fail(query, out, chain);
      chain.push({ owner: last?.target ?? start.name, target });
      const key = target.map(lowerCaseByte);
      if (!zone.contains(key)) return this.#askUpstream(query, out, client, chain);
      node = zone.find(key);
    }
  }

  /** Asks for the end of a chain that leads out of the zone. */
  #askUpstream(query: Query, out: Uint8Array, client: Client, chain: readonly Link[]): number {
    const { forwarder, servers } = this.#options;
    const current = servers();
    if (current.length === 0 || forwarder.isFull()) return this.#fail(query, out, chain);
    const kept = copyQuery(query);
    const reply = client.defer();
    const question = buildQuery(chain.at(-1)!.target, query.type);
    forwarder.ask(question, false, current, (message) => {
      const length =
        message === null
          ? this.#fail(kept, this.#out, chain)
          : this.#relay(message, kept, this.#out, chain);
      reply.send(this.#out, length);
    });
    return NO_ANSWER_YET;
  }

  #relay(message: Buffer, query: Query, out: Uint8Array, chain: readonly Link[]): number {
    this.#begin(query, out, chain);
    this.#writer.setRcode(readUint16(message, 2) & 0xf);
    for (const record of chainRecords(message, query.type)) {
      this.#writer.add(record.section, record.owner, record.type, record.ttlSeconds, record.rdata);
    }
    return this.#writer.finish();
  }

  #fail(query: Query, out: Uint8Array, chain: readonly Link[]): number {
    this.#begin(query, out, chain);
    this.#writer.setRcode(RCODE.SERVFAIL, EXTENDED_ERROR.NETWORK_ERROR);
    return this.#writer.finish();
  }

  #begin(query: Query, out: Uint8Array, chain: readonly Link[]): void {
    this.#writer.begin(query, out);
    this.#writer.setAuthoritative();
    const { ttlSeconds } = this.#options;
    chain.forEach(({ owner, target }, i) => {
      // The first is the name that was asked for, in the client's spelling.
      const name = i === 0 ? undefined : owner;
      this.#writer.add(SECTION.ANSWER, name, TYPE.CNAME, ttlSeconds, target);
    });
  }
}
