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
import type { Teller } from '../cache/announced-changes.js';
import type { ServerInstance } from './server-instance.js';
import type { Subscriptions } from './subscriptions.js';

/** The serial of a reply that has none. */
const LATEST = Number.POSITIVE_INFINITY;

/** The process that has given a reply, if it tells when its answers change: they are kept until then. */
export class ReplyTeller {
  /** Whether the reply is of a process that tells its changes. */
  isKnown = false;
  /** Whether it is of that process's own zone: a server does not tell changes of what it was told itself. */
  isOfZone = false;
  readonly #subscriptions: Pick<Subscriptions, 'find' | 'search' | 'tellerOf'>;
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  #instance: ServerInstance | undefined;
  /** The last change that it knew. */
  #serial = 0;

  constructor(subscriptions: Pick<Subscriptions, 'find' | 'search' | 'tellerOf'>) {
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
      ? cache.store(answer, isStored, this.#keptBy, this.#serial)
      : cache.store(answer, isStored, this.#tellerBeside(answer), LATEST);
  }

  /** Whether the reply knows every change that the process has told, of any name. */
  get knowsAll(): boolean {
    return this.#instance?.changes.areAllKnown(this.#serial) === true;
  }

  /** The process, if the name of the reply's question is in its zones. */
  instanceFor(reply: Buffer): ServerInstance | undefined {
    if (this.#instance === undefined) return undefined;
    const length = expandKey(reply, QUESTION_OFFSET, reply.length, this.#name);
    return length > 0 && this.#instance.has(this.#name, length) ? this.#instance : undefined;
  }

  #instanceOf(reply: Buffer): ServerInstance | undefined {
    const at = zoneVersionAt(reply);
    if (at < 0) return undefined;
    this.#serial = readSerial(reply, at + INSTANCE_BYTES);
    const instance = this.#subscriptions.find(reply, at);
    if (instance !== undefined) return instance;
    const length = expandKey(reply, QUESTION_OFFSET, reply.length, this.#name);
    if (length > 0) this.#subscriptions.search(this.#name, length);
    return undefined;
  }

  get #keptBy(): Teller | undefined {
    return this.isOfZone ? this.#instance : this.#instance?.relayed;
  }

  /** Another process behind the server's address tells nothing itself: its answers go with the changes that are told. */
  #tellerBeside({ name, nameLength }: CacheableAnswer): Teller | undefined {
    return this.#subscriptions.tellerOf(name, nameLength)?.relayed;
  }
}
