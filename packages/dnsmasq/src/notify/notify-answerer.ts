import { TokenBucket } from '@kube-dns/base';
import { type Answerer, type Client, NO_ANSWER_YET } from '@kube-dns/transport';
import {
  AnswerWriter,
  checkTsig,
  CLASS,
  FLAG,
  NO_EDNS_OPTIONS,
  type Query,
  RCODE,
  readTsig,
  readUint16,
  refuseTsig,
  signMessage,
  isInZone,
  type Tsig,
  TSIG_ERROR,
  type TsigKey,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { PROHIBITED } from '../explanations.js';
import type { NotifyRule } from '../options/values.js';

/** NOTIFY messages that drop the answers of a name, a second: a flood costs no more refetches than that. */
const MAX_DROPS_PER_SECOND = 100;
/** Beyond them the whole zone is dropped, once in this time: a flood takes nothing from an honest one. */
const ZONE_PAUSE_MS = 100;
/** Signatures that are checked a second, and at once, of all senders: at most some percent of a core. */
const MAX_CHECKS_PER_SECOND = 1_000;
const MAX_CHECKS_AT_ONCE = 100;
/** Those of one address in a window: a tenth of them all, and more than an honest sender has at once. */
const MAX_CHECKS_OF_SENDER = 25;
const CHECKS_WINDOW_MS = 250;
/** What a response has not (RFC 1996 section 3). */
const NO_QUERY_FLAGS = ~(FLAG.RD | FLAG.RA | FLAG.CD) & 0xffff;

/** How a NOTIFY was answered. */
export type NotifyResult =
  'accepted' | 'limited' | 'refused' | 'bad_signature' | 'unchecked' | 'malformed';

export interface NotifyAnswererOptions {
  readonly rules: readonly NotifyRule[];
  /** With a key each NOTIFY must be signed with it. */
  readonly key: TsigKey | undefined;
  /** Drops what a change of the name may change. */
  readonly drop: (name: Uint8Array, zone: Uint8Array) => void;
  /** Milliseconds that never fall, and those since the epoch; the process's unless given. */
  readonly now?: () => number;
  readonly wallNow?: () => number;
}

/**
 * Answers NOTIFY (RFC 1996): one for a name of an allowed zone from an allowed address drops the name's cached answers
 * and all below it. Records in it are ignored, so that it can cost another question, and never changes an answer.
 */
export class NotifyAnswerer implements Answerer {
  readonly results: Record<NotifyResult, number> = {
    accepted: 0,
    limited: 0,
    refused: 0,
    bad_signature: 0,
    unchecked: 0,
    malformed: 0,
  };
  readonly #options: NotifyAnswererOptions;
  readonly #limit: TokenBucket;
  readonly #checks: SignatureChecks;
  readonly #wallNow: () => number;
  readonly #writer = new AnswerWriter();
  /** Zones that are to be dropped, and when. */
  readonly #due = new Set<Uint8Array>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: NotifyAnswererOptions) {
    this.#options = options;
    this.#limit = new TokenBucket(MAX_DROPS_PER_SECOND, MAX_DROPS_PER_SECOND, options.now);
    this.#checks = new SignatureChecks(options.now);
    this.#wallNow = options.wallNow ?? Date.now;
  }

  answer(query: Query, out: Uint8Array, { address }: Client): number {
    if (query.type !== TYPE.SOA) return this.#respond('malformed', RCODE.NOTIMP, query, out);
    const allowed = this.#rulesFor(address);
    if (allowed.length === 0) return this.#respond('refused', RCODE.REFUSED, query, out);
    const isSignatureWanted = this.#options.key !== undefined;
    if (isSignatureWanted && query.hasOtherRecords && !this.#checks.take(address)) {
      // No answer: an honest sender sends it again (RFC 1996 section 3.6).
      this.results.unchecked++;
      return NO_ANSWER_YET;
    }
    const rule = ruleFor(query, allowed);
    // A message without other records has no TSIG.
    const tsig = query.hasOtherRecords ? readTsig(messageOf(query)) : 'none';
    if (tsig === 'malformed') return this.#respond('malformed', RCODE.FORMERR, query, out);
    if (tsig !== 'none') return this.#answerSigned(query, out, rule, tsig);
    if (rule === undefined) return this.#respond('refused', RCODE.REFUSED, query, out);
    if (isSignatureWanted) return this.#respond('bad_signature', RCODE.REFUSED, query, out);
    return this.#respond(this.#drop(rule, query), RCODE.NOERROR, query, out);
  }

  /** Drops nothing any more. May be called twice. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#due.clear();
  }

  #answerSigned(query: Query, out: Uint8Array, rule: NotifyRule | undefined, tsig: Tsig): number {
    const { key } = this.#options;
    const nowSeconds = Math.floor(this.#wallNow() / 1_000);
    const error =
      key === undefined ? TSIG_ERROR.BADKEY : checkTsig(messageOf(query), tsig, key, nowSeconds);
    if (error === RCODE.FORMERR) return this.#respond('malformed', RCODE.FORMERR, query, out);
    if (key === undefined || error === TSIG_ERROR.BADKEY || error === TSIG_ERROR.BADSIG) {
      const length = this.#respond('bad_signature', RCODE.NOTAUTH, query, out);
      return refuseTsig(out, length, tsig, error);
    }
    const { mac: requestMac, timeSeconds } = tsig;
    if (error !== RCODE.NOERROR) {
      const length = this.#respond('bad_signature', RCODE.NOTAUTH, query, out);
      // RFC 8945 section 5.2.3: the client's time, so that it can check the MAC, and the server's.
      const times = error === TSIG_ERROR.BADTIME ? { serverTimeSeconds: nowSeconds } : {};
      return signMessage(out, length, key, { timeSeconds, requestMac, error, ...times });
    }
    const length =
      rule === undefined
        ? this.#respond('refused', RCODE.REFUSED, query, out)
        : this.#respond(this.#drop(rule, query), RCODE.NOERROR, query, out);
    return signMessage(out, length, key, { timeSeconds: nowSeconds, requestMac });
  }

  #rulesFor(address: string): readonly NotifyRule[] {
    return this.#options.rules.filter(({ sources }) => sources.has(address));
  }

  /** Beyond the limit the whole zone is dropped in a moment, for all that arrive until then. */
  #drop({ zone }: NotifyRule, { name, nameLength }: Query): NotifyResult {
    if (this.#limit.take()) {
      this.#options.drop(name.slice(0, nameLength), zone);
      return 'accepted';
    }
    this.#due.add(zone);
    this.#timer ??= setTimeout(() => this.#dropDue(), ZONE_PAUSE_MS).unref();
    return 'limited';
  }

  #dropDue(): void {
    const zones = [...this.#due];
    this.close();
    for (const zone of zones) this.#options.drop(zone, zone);
  }

  #respond(result: NotifyResult, rcode: number, query: Query, out: Uint8Array): number {
    this.results[result]++;
    this.#writer.begin(query, out);
    this.#writer.setAuthoritative();
    this.#writer.setRcode(rcode, result === 'refused' ? PROHIBITED : NO_EDNS_OPTIONS);
    const length = this.#writer.finish();
    writeUint16(out, 2, readUint16(out, 2) & NO_QUERY_FLAGS);
    return length;
  }
}

/** How many signatures are checked: a wrong one costs as much as a right one, and anyone can forge a source. */
class SignatureChecks {
  readonly #ofAll: TokenBucket;
  readonly #now: () => number;
  /** By the sender's address, in this window. */
  readonly #bySender = new Map<string, number>();
  #windowEndMs = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#ofAll = new TokenBucket(MAX_CHECKS_PER_SECOND, MAX_CHECKS_AT_ONCE, now);
    this.#now = now;
  }

  /** Whether one more of this sender is checked now; it counts then. */
  take(sender: string): boolean {
    const nowMs = this.#now();
    if (nowMs >= this.#windowEndMs) {
      this.#bySender.clear();
      this.#windowEndMs = nowMs + CHECKS_WINDOW_MS;
    }
    const checks = this.#bySender.get(sender) ?? 0;
    if (checks >= MAX_CHECKS_OF_SENDER || !this.#ofAll.take()) return false;
    this.#bySender.set(sender, checks + 1);
    return true;
  }
}

function messageOf({ bytes, length }: Query): Uint8Array {
  return bytes.subarray(0, length);
}

function ruleFor(
  { class: queryClass, name, nameLength }: Query,
  rules: readonly NotifyRule[],
): NotifyRule | undefined {
  if (queryClass !== CLASS.IN) return undefined;
  return rules.find(({ zone }) => isInZone(name, nameLength, zone));
}
