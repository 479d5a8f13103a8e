import type { Log } from '@kube-dns/daemon';
import {
  decodeName,
  expandName,
  EXTENDED_ERROR,
  FLAG,
  lowerCaseByte,
  MAX_NAME_BYTES,
  QUESTION_OFFSET,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  writeUint16,
} from '@kube-dns/wire';
import type { AnswerCache } from '../cache/answer-cache.js';
import { type KeepingRules, ReplyReader } from '../cache/reply-reader.js';
import type { LocalData } from '../local/local-data.js';
import { clampTtls } from './clamp-ttls.js';
import { FilteredTypes } from './filtered-types.js';
import { emptyReply } from './reply-edit.js';
import { ReplyFilter, type ReplyRules } from './reply-filter.js';

export interface ReplyIntakeOptions {
  readonly cache: AnswerCache;
  readonly keeping: KeepingRules;
  readonly replies: ReplyRules;
  /** Types that no answer may have; 255 stands for questions of type ANY. */
  readonly filteredTypes: readonly number[];
  /** Ceiling on the TTLs that clients get, in seconds; 0 is none. */
  readonly maxTtlSeconds: number;
  readonly local: Pick<LocalData, 'knows'>;
  readonly log: Log;
}

/** An attack is told of at most so often. */
const REBIND_LOG_MS = 1_000;

/**
 * What happens to every reply of an upstream server before clients get it, in dnsmasq's order
 * (src/forward.c, process_reply): aliases, bogus and local denials, rebinding, the cache, filters.
 */
export class ReplyIntake {
  readonly #options: ReplyIntakeOptions;
  readonly #filter: ReplyFilter;
  readonly #filtered: FilteredTypes;
  readonly #reader: ReplyReader;
  readonly #cursor = new RecordCursor();
  readonly #name = new Uint8Array(MAX_NAME_BYTES);
  #nextRebindLogMs = 0;

  constructor(options: ReplyIntakeOptions) {
    this.#options = options;
    this.#filter = new ReplyFilter(options.replies);
    this.#filtered = new FilteredTypes(options.filteredTypes);
    this.#reader = new ReplyReader(options.keeping);
  }

  /**
   * Keeps what is worth it and returns what the clients get: null when the reply is to be treated as if
   * it had not come. The reply may be changed in place.
   */
  take(reply: Buffer, mayKeep: boolean): Buffer | null {
    if (this.#filter.isIgnored(reply)) return null;
    const changed = this.#change(reply, mayKeep);
    clampTtls(changed, changed.length, this.#options.maxTtlSeconds, this.#cursor);
    return changed;
  }

  #change(reply: Buffer, mayKeep: boolean): Buffer {
    const rcode = readUint16(reply, 2) & RCODE_MASK;
    if (rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN) return reply;
    this.#filter.replaceAddresses(reply);
    const bogusTtl = this.#filter.bogusTtl(reply);
    if (bogusTtl >= 0) {
      this.#keep(mayKeep && this.#reader.readAsDenial(reply, bogusTtl));
      return emptyReply(reply, RCODE.NXDOMAIN, EXTENDED_ERROR.BLOCKED);
    }
    if (rcode === RCODE.NXDOMAIN && this.#isKnown(reply)) {
      writeUint16(reply, 2, (readUint16(reply, 2) & ~RCODE_MASK) | FLAG.AA);
    }
    if (this.#filter.isRebinding(reply)) {
      this.#logRebinding(reply);
      return emptyReply(reply, RCODE.NOERROR, EXTENDED_ERROR.BLOCKED);
    }
    const isWorthKeeping = this.#reader.read(reply);
    if (this.#reader.isMalformed) return emptyReply(reply, RCODE.SERVFAIL, -1);
    this.#keep(isWorthKeeping && mayKeep);
    const filtered = this.#filtered.apply(reply, this.#reader.questionType);
    return filtered ?? emptyReply(reply, RCODE.SERVFAIL, -1);
  }

  #keep(isKept: boolean): void {
    if (isKept) this.#options.cache.store(this.#reader.answer);
  }

  #isKnown(reply: Buffer): boolean {
    const length = expandName(reply, QUESTION_OFFSET, reply.length, this.#name);
    if (length < 0) return false;
    for (let i = 0; i < length; i++) this.#name[i] = lowerCaseByte(this.#name[i]!);
    return this.#options.local.knows(this.#name.subarray(0, length));
  }

  /** The name is the attacker's to choose, and so is how often it comes. */
  #logRebinding(reply: Buffer): void {
    const now = performance.now();
    if (now < this.#nextRebindLogMs) return;
    this.#nextRebindLogMs = now + REBIND_LOG_MS;
    const length = expandName(reply, QUESTION_OFFSET, reply.length, this.#name);
    const name = length < 0 ? '' : decodeName(this.#name);
    this.#options.log.warn(`possible DNS-rebind attack detected: ${name}`);
  }
}
