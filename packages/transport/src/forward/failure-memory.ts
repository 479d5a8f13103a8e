import {
  EXTENDED_ERROR,
  NameTable,
  OPTION_HEAD_BYTES,
  QUESTION_FIXED_BYTES,
  RCODE,
  readUint16,
  reasonsOf,
  ReplyOutline,
  isInZone,
  rcodeOf,
} from '@kube-dns/wire';
import { type Failure, failure } from './failure.js';
import type { UpstreamQuery } from './query.js';
import type { QuestionKey, QuestionVariant } from './question.js';
import type { ServerGroup } from './servers.js';

/** How long a failure is remembered (RFC 9520 section 3.2: at least a second); SERVFAIL of a server where nothing else is asked for. */
const REMEMBERED_MS = 1_000;
/** The same where a server says that it is not ready: another one behind its address may be, and it is itself soon. */
const NOT_READY_MS = 250;
/** It is as soon, before any server has answered, where they reach none themselves: all start together. */
const OF_STARTING: ReadonlySet<number> = new Set([
  EXTENDED_ERROR.NO_REACHABLE_AUTHORITY,
  EXTENDED_ERROR.NETWORK_ERROR,
]);
/** The oldest failure is forgotten beyond this number. */
const MAX_FAILURES = 1_024;
/** Of these, forms of one question: with and without DO, CD and TCP. */
const MAX_FORMS = 8;

interface Remembered extends QuestionVariant {
  readonly question: Uint8Array;
  readonly failure: Failure;
  /** Its servers, when that was because all of them were down. */
  readonly down: ServerGroup | undefined;
  readonly endsAtMs: number;
}

/** Questions that no server could answer a moment ago: they are not sent again yet. */
export class FailureMemory {
  /** The forms of each question that failed, oldest first. */
  readonly #byQuestion = new NameTable<Remembered[]>();
  /** In order of time; some may not be in the table any more. */
  #inOrder: Remembered[] = [];
  readonly #now: () => number;
  readonly #servfailMs: number;
  /** A server has answered something. */
  #hasAnswer = false;

  /** `servfailMs`: how long SERVFAIL of a server is remembered; 0 is not at all. */
  constructor(now: () => number, servfailMs = REMEMBERED_MS) {
    this.#now = now;
    this.#servfailMs = servfailMs;
  }

  /** Why the question failed less than a second ago; undefined when it did not, or servers are back since. */
  find(key: QuestionKey): Failure | undefined {
    if (this.#byQuestion.size === 0) return undefined;
    const forms = this.#byQuestion.get(key.question, 0, key.length);
    if (forms === undefined) return undefined;
    const nowMs = this.#now();
    for (const form of forms) {
      const isBack = form.down !== undefined && form.down.failure === undefined;
      if (nowMs < form.endsAtMs && !isBack && key.isOf(form)) return form.failure;
    }
    return undefined;
  }

  /** Remembers what became of a question if that is a failure: SERVFAIL, or no reply. */
  note(query: UpstreamQuery, reply: Uint8Array | null): void {
    const isFailure = reply === null || rcodeOf(reply) === RCODE.SERVFAIL;
    this.#hasAnswer ||= !isFailure;
    // Of one that is not shared any more the answer may have changed meanwhile.
    if (!isFailure || !query.question.isShared) return;
    const { variant, options } = query.question;
    const nowMs = this.#now();
    const question = query.question.copy();
    const reason = reply === null ? query.failure : rememberedReason(reply);
    const { NOT_READY } = EXTENDED_ERROR;
    const isNotReady =
      reply !== null &&
      (reason.code === NOT_READY || (!this.#hasAnswer && OF_STARTING.has(reason.code)));
    const forMs = reply === null ? REMEMBERED_MS : this.#servfailMs;
    const remembered: Remembered = {
      question,
      variant,
      options,
      failure: reason,
      down: reply === null && query.group.failure !== undefined ? query.group : undefined,
      endsAtMs: nowMs + (isNotReady ? Math.min(forMs, NOT_READY_MS) : forMs),
    };
    let gone = 0;
    for (const { endsAtMs } of this.#inOrder) {
      if (nowMs < endsAtMs && this.#inOrder.length - gone < MAX_FAILURES) break;
      gone++;
    }
    for (const old of this.#inOrder.splice(0, gone)) this.#remove(old);
    this.#inOrder.push(remembered);
    const forms = this.#byQuestion.get(question, 0, question.length);
    if (forms === undefined) this.#byQuestion.set(question, [remembered]);
    else if (forms.push(remembered) > MAX_FORMS) forms.shift();
  }

  #remove(old: Remembered): void {
    const { question } = old;
    const forms = this.#byQuestion.get(question, 0, question.length);
    const at = forms?.indexOf(old) ?? -1;
    if (at >= 0) forms!.splice(at, 1);
    if (forms?.length === 0) this.#byQuestion.delete(question);
  }

  /** Forgets the failures of a domain (lower-cased, in wire form) and of all names below it. */
  forgetBelow(domain: Uint8Array): void {
    if (this.#byQuestion.size === 0) return;
    this.#inOrder = this.#inOrder.filter((each) => {
      const { question } = each;
      if (!isInZone(question, question.length - QUESTION_FIXED_BYTES, domain)) return true;
      this.#remove(each);
      return false;
    });
  }
}

/** Of the reply that is remembered. */
const outline = new ReplyOutline();

const CACHED_ERROR = failure(EXTENDED_ERROR.CACHED_ERROR, 'SERVFAIL of a moment ago');

/** What is remembered of a reply with SERVFAIL: its Extended DNS Errors, or that it is remembered. */
function rememberedReason(reply: Uint8Array): Failure {
  const option = reasonsOf(reply, outline.read(reply));
  if (option.length === 0) return CACHED_ERROR;
  return { code: readUint16(option, OPTION_HEAD_BYTES), option, isSilence: false };
}
