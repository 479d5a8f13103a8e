import type { ChangeSource, PublisherProcess, Subscriptions } from '@kube-dns/push';
import {
  expandKey,
  FLAG,
  INSTANCE_BYTES,
  MAX_NAME_BYTES,
  QUESTION_OFFSET,
  readSerial,
  readUint16,
  zoneVersionAt,
} from '@kube-dns/wire';
import type { AnswerCache } from '../cache/answer-cache.js';
import type { CacheableAnswer } from '../cache/cacheable-answer.js';

/** The serial of a reply that has none. */
const LATEST = Number.POSITIVE_INFINITY;

/** The process that has given a reply, if it announces when its answers change: they are kept until then. */
export class ReplyPublisher {
  /** Whether the reply is of a process that announces its changes. */
  isKnown = false;
  /** Whether it is of that process's own zone: a server does not announce changes of what it has from others. */
  isOfZone = false;
  readonly #subscriptions: Pick<Subscriptions, 'find' | 'search' | 'publisherOf'>;
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  #instance: PublisherProcess | undefined;
  /** The last change that it knew. */
  #serial = 0;

  constructor(subscriptions: Pick<Subscriptions, 'find' | 'search' | 'publisherOf'>) {
    this.#subscriptions = subscriptions;
  }

  /** Finds the process of a reply. A reply has a version when it was asked for, and its server knows it. */
  find(reply: Buffer): void {
    this.#instance = this.#instanceOf(reply);
    this.isKnown = this.#instance !== undefined;
    this.isOfZone = this.isKnown && (readUint16(reply, 2) & FLAG.AA) !== 0;
  }

  /** Whether the name of an answer is in the zones of the process. */
  has({ name, nameLength }: CacheableAnswer): boolean {
    return this.#instance?.has(name, nameLength) === true;
  }

  /** Stores the answer of the reply for as long as it may be kept; see `AnswerCache.store`. */
  store(
    cache: Pick<AnswerCache, 'store'>,
    answer: CacheableAnswer,
    isStored: (target: CacheableAnswer) => boolean,
  ): boolean {
    return this.has(answer)
      ? cache.store(answer, isStored, this.#source, this.#serial)
      : cache.store(answer, isStored, this.#sourceBeside(answer), LATEST);
  }

  /** Whether the reply knows every change that the process has announced, of any name. */
  get knowsAll(): boolean {
    return this.#instance?.changes.areAllKnown(this.#serial) === true;
  }

  /** The process, if the name of the reply's question is in its zones. */
  instanceFor(reply: Buffer): PublisherProcess | undefined {
    if (this.#instance === undefined) return undefined;
    const length = expandKey(reply, QUESTION_OFFSET, reply.length, this.#name);
    return length > 0 && this.#instance.has(this.#name, length) ? this.#instance : undefined;
  }

  #instanceOf(reply: Buffer): PublisherProcess | undefined {
    const at = zoneVersionAt(reply);
    if (at < 0) return undefined;
    this.#serial = readSerial(reply, at + INSTANCE_BYTES);
    const instance = this.#subscriptions.find(reply, at);
    if (instance !== undefined) return instance;
    const length = expandKey(reply, QUESTION_OFFSET, reply.length, this.#name);
    if (length > 0) this.#subscriptions.search(this.#name, length);
    return undefined;
  }

  get #source(): ChangeSource | undefined {
    return this.isOfZone ? this.#instance : this.#instance?.relayed;
  }

  /** Another process behind the server's address announces nothing itself: its answers go with the changes that are announced. */
  #sourceBeside({ name, nameLength }: CacheableAnswer): ChangeSource | undefined {
    return this.#subscriptions.publisherOf(name, nameLength)?.relayed;
  }
}
