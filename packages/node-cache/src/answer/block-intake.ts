import type { Subscriptions } from '@kube-dns/push';
import {
  type AnswerCache,
  type CachingRules,
  EVERY_TYPE,
  type Intake,
  ReplyReader,
  ReplyPublisher,
} from '@kube-dns/resolver';
import {
  expandKey,
  FLAG,
  markReasons,
  MAX_NAME_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  reasonsOf,
  RecordCursor,
} from '@kube-dns/wire';
import type { CacheBounds, CacheRules } from '../corefile/server-block.js';
import { messageTtl, setMessageTtl } from './message-ttl.js';
import { type ZoneSet, zoneSet } from './zone-set.js';

export interface BlockIntakeOptions {
  readonly cache: AnswerCache;
  readonly rules: CacheRules;
  /** The zones whose answers are cached. */
  readonly zones: readonly string[];
  /** Whether the block forwards to the DNS of the cluster, whose expired answers are served only briefly. */
  readonly isOfCluster: boolean;
  readonly subscriptions: Pick<Subscriptions, 'find' | 'search' | 'publisherOf'>;
}

/** All records of an answer have one lifetime, that of the message. */
class OneTtl implements CachingRules {
  readonly cachesNegatives = true;
  readonly cachesToldNegatives = true;
  /** A denial without a SOA is not cached. */
  readonly negativeTtlSeconds = 0;
  readonly cachesZeroTtls = false;
  minTtlSeconds = 0;
  maxTtlSeconds = 0;

  isExtraType(): boolean {
    return true;
  }

  set(seconds: number): void {
    this.minTtlSeconds = this.maxTtlSeconds = seconds;
  }
}

/** Of all blocks: a reader has room for the longest message. */
const TTL = new OneTtl();
const READER = new ReplyReader(TTL);

/** The targets of CNAMEs are asked for themselves, as in CoreDNS. */
const NO_TARGETS = () => false;

/** Processes the replies to a block's questions as CoreDNS's plugin `cache` does: TTLs within bounds, then stored. */
export class BlockIntake implements Intake {
  readonly #options: BlockIntakeOptions;
  readonly #zones: ZoneSet<true>;
  readonly #uncachedSuccess: ZoneSet<true>;
  readonly #uncachedDenial: ZoneSet<true>;
  readonly #teller: ReplyPublisher;
  readonly #cursor = new RecordCursor();
  /** The name of the last question, lower-cased. */
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  #nameLength = 0;

  constructor(options: BlockIntakeOptions) {
    const { rules, subscriptions, zones } = options;
    this.#options = options;
    this.#zones = zoneSet(zones);
    this.#uncachedSuccess = zoneSet(rules.disabledSuccess);
    this.#uncachedDenial = zoneSet(rules.disabledDenial);
    this.#teller = new ReplyPublisher(subscriptions);
  }

  take(received: Buffer, isCacheable: boolean, mayReplace = true): Buffer {
    const rcode = readUint16(received, 2) & RCODE_MASK;
    if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN) return received;
    this.#teller.find(received);
    const reply = markReasons(received, this.#cursor);
    const isDenial = rcode === RCODE.NXDOMAIN || readUint16(reply, 6) === 0;
    if (!this.#isCached(reply, isDenial)) return reply;
    const { rules } = this.#options;
    const bounds = isDenial ? rules.denial : rules.success;
    const ttl = clamp(messageTtl(reply, isDenial, this.#cursor), bounds);
    TTL.set(ttl);
    const isRead = READER.read(reply, this.#teller.isOfZone) && ttl > 0;
    if (isRead && isCacheable) this.#store(reply, mayReplace, reply !== received);
    else if (isCacheable && mayReplace) this.#dropExpired();
    setMessageTtl(reply, ttl, this.#cursor);
    return reply;
  }

  #store(reply: Buffer, mayReplace: boolean, hasReasons: boolean): void {
    const { cache, isOfCluster } = this.#options;
    const { answer } = READER;
    // NXDOMAIN would hide the answers of every type.
    if (!mayReplace && (answer.type === EVERY_TYPE || cache.isLive(answer))) return;
    answer.isOfCluster = isOfCluster;
    answer.isAuthoritative = (readUint16(reply, 2) & FLAG.AA) !== 0;
    if (hasReasons) answer.reasons = reasonsOf(reply, this.#cursor);
    this.#teller.store(cache, answer, NO_TARGETS);
  }

  /** What is not cached is newer than what has expired, all the same; the name is that of the last question. */
  #dropExpired(): void {
    this.#options.cache.dropExpired(this.#name, this.#nameLength, READER.questionType);
  }

  #isCached(reply: Buffer, isDenial: boolean): boolean {
    const length = expandKey(reply, QUESTION_OFFSET, reply.length, this.#name);
    this.#nameLength = length;
    if (length <= 0 || this.#zones.find(this.#name, length) !== true) return false;
    const uncached = isDenial ? this.#uncachedDenial : this.#uncachedSuccess;
    return uncached.find(this.#name, length) !== true;
  }
}

/** The ceiling is stronger than the floor, as in coredns plugin/cache/cache.go, computeTTL. */
function clamp(ttl: number, { minTtlSeconds, maxTtlSeconds }: CacheBounds): number {
  return Math.min(Math.max(ttl, minTtlSeconds), maxTtlSeconds);
}
