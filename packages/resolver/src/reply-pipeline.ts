import {
  type ChangeSource,
  NOT_KNOWN,
  type PublisherProcess,
  type Relay,
  type Subscriptions,
} from '@kube-dns/push';
import {
  expandKey,
  FLAG,
  isInZone,
  markReasons,
  MAX_NAME_BYTES,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  NO_ZONE_LABELS,
  RCODE,
  RCODE_MASK,
  readUint16,
  reasonsOf,
  RecordCursor,
  ReplyOutline,
  SECTION,
  TYPE,
  voidZoneVersion,
  writeUint16,
  writeUint32,
  zoneLabelsAt,
  zoneVersionAt,
} from '@kube-dns/wire';
import type { AnswerCache, Hit } from './cache/answer-cache.js';
import { type CacheableAnswer, EVERY_TYPE } from './cache/cacheable-answer.js';
import type { Dns64 } from './dns64/dns64.js';
import type { ReplyReader } from './cache/reply-reader.js';

/** What a program does with the replies of its servers, in the order of the methods. */
export interface ReplyPolicy {
  /** Several policies may share one: it has room for the longest message. */
  readonly reader: ReplyReader;
  /** Ceiling on the TTLs that clients get, in seconds; 0 is none. Undefined leaves TTLs as they are, also unsound ones. */
  readonly maxTtlSeconds: number | undefined;
  /** Whether replies with other rcodes than NOERROR and NXDOMAIN go to clients as they came. */
  readonly passesErrors: boolean;
  /** Whether a reply that is not cached ends an expired answer: it is newer all the same. */
  readonly endsExpired: boolean;
  /** The reply, changed in place, or a changed copy; null ignores it as if it had not arrived. */
  rewrite(reply: Buffer): Buffer | null;
  /** What clients get of a reply with NOERROR or NXDOMAIN that is not to be cached; undefined of all others. */
  judge(reply: Buffer, replies: ReplyPipeline): Buffer | undefined;
  /** Completes an answer that may be cached; false when it may not. */
  mayStore(answer: CacheableAnswer, reply: Buffer): boolean;
  /** Whether a target of its CNAMEs is stored under its own name, too. */
  mayStoreTarget(target: CacheableAnswer): boolean;
  /** What clients get of a reply that was read. */
  finish(reply: Buffer): Buffer;
  /** Whether an answer that is made of others may be cached; all are by default. */
  readonly mayStoreMade?: ((message: Buffer) => boolean) | undefined;
  /**
   * The same of an answer from the cache to a question of this type, which is cut in place: the hit has its length then.
   * Returns why, as options; undefined where it is whole.
   */
  readonly cutCached?:
    ((hit: Hit, answer: Uint8Array, questionType: number) => Uint8Array | undefined) | undefined;
}

export interface ReplyPipelineOptions {
  readonly policy: ReplyPolicy;
  readonly cache: AnswerCache;
  readonly subscriptions: Pick<Subscriptions, 'find' | 'search' | 'publisherOf'>;
  /** Undefined where changes are not passed on. */
  readonly relay?: Pick<Relay, 'translate'> | undefined;
  /** Removes the addresses that count as absent, and denials of names that exist. */
  readonly dns64?: Pick<Dns64, 'correct'> | undefined;
}

/** Processes each reply of a server before clients get it, and stores what may be cached. */
export class ReplyPipeline {
  readonly #policy: ReplyPolicy;
  readonly #cache: AnswerCache;
  readonly #relay: Pick<Relay, 'translate'> | undefined;
  readonly #dns64: Pick<Dns64, 'correct'> | undefined;
  readonly #reader: ReplyReader;
  readonly #publisher: ReplyPublisher;
  readonly #cursor = new RecordCursor();
  /** Of a reply that comes without one, and of a changed one. */
  readonly #outline = new ReplyOutline();
  readonly #name = new Uint8Array(MAX_NAME_BYTES);

  // The reply that is processed.

  #isCacheable = false;
  /** Whether it may replace a cached answer. */
  #mayReplace = true;
  /** Whether it has Extended DNS Errors. */
  #hasReasons = false;
  /** Whether it knows every announced change of its name; of all names, if it is not cached. */
  #isCurrent = false;
  /**
   * Whether the name of the question exists although the reply says NXDOMAIN, which is true of a CNAME's target then:
   * NODATA would be cached for it.
   */
  #isContradicted = false;
  readonly #isStored = (target: CacheableAnswer): boolean =>
    !this.#isContradicted && this.#policy.mayStoreTarget(target) && this.#isNew(target);

  constructor({ policy, cache, subscriptions, relay, dns64 }: ReplyPipelineOptions) {
    this.#policy = policy;
    this.#cache = cache;
    this.#relay = relay;
    this.#dns64 = dns64;
    this.#reader = policy.reader;
    this.#publisher = new ReplyPublisher(subscriptions);
  }

  /**
   * Stores a cacheable reply and returns what clients get; null when the reply, which has this outline, is ignored. It
   * may be changed in place. Without `mayReplace` no cached answer is replaced or hidden. Without `asksVersion` a version that
   * it has is of no process: another server could pin its answers in a zone that others announce.
   */
  take(
    received: Buffer,
    isCacheable: boolean,
    mayReplace = true,
    outline = this.#outline.read(received),
    asksVersion = true,
  ): Buffer | null {
    const policy = this.#policy;
    const rcode = readUint16(received, 2) & RCODE_MASK;
    const isAnswer = rcode === RCODE.NOERROR || rcode === RCODE.NXDOMAIN;
    if (!isAnswer && policy.passesErrors) return received;
    this.#isCacheable = isCacheable;
    this.#mayReplace = mayReplace;
    this.#isCurrent = this.#isContradicted = false;
    this.#publisher.find(received, outline, asksVersion);
    const rewritten = policy.rewrite(markReasons(received, outline));
    if (rewritten === null) return null;
    const isPlain = this.#dns64 === undefined || !isCacheable;
    const reply = isPlain ? rewritten : this.#dns64.correct(rewritten);
    this.#hasReasons = reply !== received;
    const answer = isAnswer ? this.#process(reply, outline.hasExtendedRcode) : reply;
    this.#translate(answer);
    const { maxTtlSeconds } = policy;
    if (maxTtlSeconds !== undefined && (maxTtlSeconds > 0 || outline.hasTopBit)) {
      clampTtls(answer, answer.length, maxTtlSeconds, this.#cursor);
    }
    return answer;
  }

  /** Stores a whole answer that is made of others, with the reasons that clients get. */
  storeMade(message: Buffer, reasons: Uint8Array): void {
    const { answer } = this.#reader;
    if (this.#policy.mayStoreMade?.(message) === false) return;
    if (!this.#reader.read(message) || !this.#policy.mayStore(answer, message)) return;
    answer.reasons = reasons;
    this.#publisher.storeMade(this.#cache, answer);
  }

  // What `judge` of a policy may ask for.

  /** Stores that the name of the question does not exist, for so long. */
  storeNxdomain(reply: Buffer, ttlSeconds: number): void {
    if (this.#isCacheable && this.#reader.readAsNxdomain(reply, ttlSeconds)) this.#store(reply);
  }

  /**
   * Whether the cache shows that a name exists. What it has of a server that announces changes is no proof: this reply
   * may be newer than the change on its way.
   */
  isCachedName(name: Uint8Array, length: number): boolean {
    return !this.#publisher.isOfZone && this.#cache.hasName(name, length);
  }

  /** The name of the question exists although the reply says NXDOMAIN: it becomes NODATA, in place. */
  contradict(reply: Buffer): void {
    this.#isContradicted = this.#publisher.isKnown;
    writeUint16(reply, 2, (readUint16(reply, 2) & ~RCODE_MASK) | FLAG.AA);
  }

  #process(reply: Buffer, hasExtendedRcode: boolean): Buffer {
    const policy = this.#policy;
    const judged = policy.judge(reply, this);
    if (judged !== undefined) return judged;
    const reader = this.#reader;
    const isRead = reader.read(reply, this.#publisher.isOfZone, hasExtendedRcode);
    const mayBeStored = isRead && policy.mayStore(reader.answer, reply);
    if (this.#hasReasons) reader.answer.reasons = reasonsOf(reply, this.#outline.read(reply));
    const isStored = mayBeStored && this.#isCacheable && this.#storeRead();
    this.#isCurrent = isStored || (this.#isCacheable && this.#publisher.knowsAll);
    if (!mayBeStored && !reader.isMalformed) this.#endExpired(reply);
    return policy.finish(reply);
  }

  #store(reply: Buffer): boolean {
    return this.#policy.mayStore(this.#reader.answer, reply) && this.#storeRead();
  }

  #storeRead(): boolean {
    const { answer } = this.#reader;
    if (!this.#isNew(answer)) return false;
    // A negative answer that is read only as its server announces changes.
    const isAnnounced =
      answer.setSize === 0 && this.#publisher.isOfZone && !this.#reader.rules.cachesNegatives;
    if (isAnnounced && !this.#publisher.has(answer)) return false;
    return this.#publisher.store(this.#cache, answer, this.#isStored);
  }

  #endExpired(reply: Buffer): void {
    if (!this.#policy.endsExpired || !this.#isCacheable || !this.#mayReplace) return;
    const length = expandKey(reply, QUESTION_OFFSET, reply.length, this.#name);
    if (length > 0) this.#cache.dropExpired(this.#name, length, this.#reader.questionType);
  }

  /** The version that subscribers of this process get; what is contradicted here depends on more than the server. */
  #translate(reply: Buffer): void {
    if (this.#relay === undefined) return;
    if (this.#isContradicted) {
      const at = zoneVersionAt(reply);
      if (at >= 0) voidZoneVersion(reply, at);
      return;
    }
    const instance = this.#publisher.instanceFor(reply);
    if (instance !== undefined) this.#relay.translate(reply, instance, this.#isCurrent);
  }

  /** NXDOMAIN would hide the answers of every type. */
  #isNew(answer: CacheableAnswer): boolean {
    if (this.#mayReplace) return true;
    return answer.type !== EVERY_TYPE && !this.#cache.isLive(answer);
  }
}

/** The serial of a reply that has none. */
const LATEST = Number.POSITIVE_INFINITY;

/** The process that has given a reply, if it announces when its answers change: they are cached until then. */
class ReplyPublisher {
  /** Whether the reply is of a process that announces its changes. */
  isKnown = false;
  /**
   * Whether it is all of that process's own zone: a server does not announce changes of what it has from others, which AA does not
   * tell where a CNAME of the zone leads to them.
   */
  isOfZone = false;
  readonly #subscriptions: Pick<Subscriptions, 'find' | 'search' | 'publisherOf'>;
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  readonly #cursor = new RecordCursor();
  #instance: PublisherProcess | undefined;
  #asksVersion = true;
  /** The last change that it knew, as its process or the one that announces them for all replicas counts. */
  #serial = NOT_KNOWN;

  constructor(subscriptions: Pick<Subscriptions, 'find' | 'search' | 'publisherOf'>) {
    this.#subscriptions = subscriptions;
  }

  /**
   * Finds the process of a reply, which has this outline. A reply has a version when it was asked for, and its server knows
   * it.
   */
  find(reply: Buffer, { hasLink }: ReplyOutline, asksVersion: boolean): void {
    const at = zoneVersionAt(reply);
    this.#asksVersion = asksVersion;
    if (!asksVersion && at >= 0) voidZoneVersion(reply, at);
    const instance = asksVersion && at >= 0 ? this.#instanceOf(reply, at) : undefined;
    this.#instance = instance;
    this.isKnown = instance !== undefined;
    const isAnnounced = instance !== undefined && zoneLabelsAt(reply, at) !== NO_ZONE_LABELS;
    const isOwn = isAnnounced && (readUint16(reply, 2) & FLAG.AA) !== 0;
    this.isOfZone = isOwn && !(hasLink && this.#leadsOut(reply, instance));
  }

  /** Whether the name of an answer is in the zones of the process. */
  has({ name, nameLength }: CacheableAnswer): boolean {
    return this.#instance?.has(name, nameLength) === true;
  }

  /** Stores the answer of the reply for as long as it may be cached; see `AnswerCache.store`. */
  store(
    cache: AnswerCache,
    answer: CacheableAnswer,
    isStored: (target: CacheableAnswer) => boolean,
  ): boolean {
    const instance = this.#instance;
    if (instance === undefined || !this.has(answer)) {
      return cache.store(answer, isStored, this.#sourceBeside(answer), LATEST);
    }
    // What changed before the subscription was not announced: this may be older than that, and need not be.
    if (!instance.changes.covers(this.#serial)) {
      if (!instance.takesOlder) return false;
      return cache.store(answer, isStored, instance.unversioned, this.#serial);
    }
    const source = this.isOfZone ? instance : instance.relayed;
    return cache.store(answer, isStored, source, this.#serial);
  }

  /** Stores an answer that is made of others under its own name; it goes with the changes that are announced for that. */
  storeMade(cache: AnswerCache, answer: CacheableAnswer): void {
    this.#asksVersion = true;
    cache.store(answer, () => false, this.#sourceBeside(answer), LATEST);
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

  /** Whether a CNAME leads out of the zone, to what other servers have. One that is asked for itself is of the zone. */
  #leadsOut(reply: Buffer, { apex }: PublisherProcess): boolean {
    const cursor = this.#cursor.reset(reply, reply.length);
    const type = readUint16(reply, cursor.end - QUESTION_FIXED_BYTES);
    if (type === TYPE.CNAME || type === TYPE.ANY) return false;
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      if (cursor.type !== TYPE.CNAME) continue;
      const length = expandKey(reply, cursor.rdataStart, reply.length, this.#name);
      if (length < 0 || !isInZone(this.#name, length, apex)) return true;
    }
    return false;
  }

  #instanceOf(reply: Buffer, at: number): PublisherProcess | undefined {
    const instance = this.#subscriptions.find(reply, at);
    if (instance !== undefined) {
      this.#serial = instance.serialOf(reply, at);
      return instance;
    }
    const length = expandKey(reply, QUESTION_OFFSET, reply.length, this.#name);
    if (length > 0) this.#subscriptions.search(this.#name, length);
    return undefined;
  }

  /**
   * An answer for a zone without the version that was asked for goes with the changes that are announced, as nothing tells how
   * old it is; so does one of servers that were not asked for it.
   */
  #sourceBeside({ name, nameLength }: CacheableAnswer): ChangeSource | undefined {
    const publisher = this.#subscriptions.publisherOf(name, nameLength);
    return this.#asksVersion ? publisher?.unversioned : publisher?.relayed;
  }
}

const TOP_BIT = 0x80;

/**
 * Limits the TTLs of a message's answer section to a ceiling in seconds, in place; 0 is none. In every
 * section a TTL with the top bit set becomes 0 (RFC 2181 section 8). The caller provides the cursor, see
 * `fitMessage`.
 */
export function clampTtls(
  message: Uint8Array,
  length: number,
  maxSeconds: number,
  cursor: RecordCursor,
): void {
  cursor.reset(message, length);
  while (cursor.next()) {
    const hasTopBit = message[cursor.ttlAt]! >= TOP_BIT;
    if (hasTopBit && cursor.type !== TYPE.OPT) writeUint32(message, cursor.ttlAt, 0);
    const isTooHigh =
      maxSeconds > 0 && cursor.section === SECTION.ANSWER && cursor.ttlSeconds > maxSeconds;
    if (isTooHigh) writeUint32(message, cursor.ttlAt, maxSeconds);
  }
}
