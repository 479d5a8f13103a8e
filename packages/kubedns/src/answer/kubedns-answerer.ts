import type { Answerer, Client, Forwarder, ServerAddress } from '@kube-dns/transport';
import {
  AnswerWriter,
  CLASS,
  encodeKey,
  EXTENDED_ERROR,
  type Query,
  RCODE,
  suffixOffset,
  TYPE,
} from '@kube-dns/wire';
import type { ExternalNames } from './external-name.js';
import type { ZoneAnswerer } from './zone-answerer.js';

export interface KubednsAnswererOptions {
  readonly zone: ZoneAnswerer;
  readonly externalNames: ExternalNames;
  readonly forwarder: Forwarder;
  /** Where names outside the cluster are asked for. */
  readonly servers: () => readonly ServerAddress[];
  /** Whether every object of the cluster has been seen once. */
  readonly isSynced: () => boolean;
}

/**
 * What a question is about: the zone (and all that is refused), an address, or any other name. The
 * label `system` of the original's metrics.
 */
type QuestionKind = 'auth' | 'recursive' | 'reverse';

const IPV4_REVERSE = encodeKey('in-addr.arpa');
const IPV6_REVERSE = encodeKey('ip6.arpa');

/** Decides where the answer to a question comes from: the zone, the reverse names, or upstream. */
export class KubednsAnswerer implements Answerer {
  /** Questions so far, by kind. */
  readonly questions: Record<QuestionKind, number> = { auth: 0, recursive: 0, reverse: 0 };
  readonly #options: KubednsAnswererOptions;
  readonly #writer = new AnswerWriter();

  constructor(options: KubednsAnswererOptions) {
    this.#options = options;
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    const { zone } = this.#options;
    if (query.class !== CLASS.IN && query.class !== CLASS.ANY) {
      this.questions.auth++;
      return this.#refuse(query, out, RCODE.REFUSED);
    }
    if (zone.owns(query)) {
      this.questions.auth++;
      return this.#answerZone(query, out, client);
    }
    if (isReverse(query)) {
      this.questions.reverse++;
      return this.#answerReverse(query, out, client);
    }
    this.questions.recursive++;
    return this.#forward(query, out, client);
  }

  #answerZone(query: Query, out: Uint8Array, client: Client): number {
    const { zone, externalNames, isSynced } = this.#options;
    if (!isSynced()) return this.#answerUnready(query, out);
    const node = zone.findNode(query);
    if (node !== undefined && zone.isFollowed(node, query.type)) {
      return externalNames.answer(node, query, out, client);
    }
    this.#writer.begin(query, out);
    zone.answer(node, query, this.#writer);
    return this.#writer.finish();
  }

  /** Reverse names that the cluster does not own are somebody else's to deny. */
  #answerReverse(query: Query, out: Uint8Array, client: Client): number {
    const { zone, isSynced } = this.#options;
    if (query.type !== TYPE.PTR) return this.#forward(query, out, client);
    // Until then any address may turn out to be the cluster's own.
    if (!isSynced()) return this.#answerUnready(query, out);
    const node = zone.findReverse(query);
    if (node === undefined) return this.#forward(query, out, client);
    this.#writer.begin(query, out);
    zone.answerReverse(node, query, this.#writer);
    return this.#writer.finish();
  }

  #forward(query: Query, out: Uint8Array, client: Client): number {
    const { forwarder, servers } = this.#options;
    const current = servers();
    // Nobody to ask is a failure of ours, not a policy: SERVFAIL, as the original has it.
    if (current.length === 0) {
      return this.#refuse(query, out, RCODE.SERVFAIL, EXTENDED_ERROR.NETWORK_ERROR);
    }
    return forwarder.forward(query, out, client, current);
  }

  /** Answers while the zone is not complete yet: a denial would be believed and kept. */
  #answerUnready(query: Query, out: Uint8Array): number {
    return this.#refuse(query, out, RCODE.SERVFAIL, EXTENDED_ERROR.NOT_READY);
  }

  #refuse(query: Query, out: Uint8Array, rcode: number, extendedError?: number): number {
    this.#writer.begin(query, out);
    this.#writer.setRcode(rcode, extendedError);
    return this.#writer.finish();
  }
}

/** PTR below in-addr.arpa, and everything below ip6.arpa: what the original counts as reverse. */
function isReverse(query: Query): boolean {
  const { name, nameLength, type } = query;
  if (suffixOffset(name, nameLength, IPV6_REVERSE) >= 0) return true;
  return type === TYPE.PTR && suffixOffset(name, nameLength, IPV4_REVERSE) >= 0;
}
