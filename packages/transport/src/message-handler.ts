import {
  AnswerWriter,
  appendOpt,
  appendOption,
  Compressor,
  fitMessage,
  FLAG,
  HEADER_BYTES,
  isDso,
  OPCODE_MASK,
  OPCODE_NOTIFY,
  Query,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  type Verdict,
  writeUint16,
} from '@kube-dns/wire';
import {
  type AddressedClient,
  type Answerer,
  type AnswerObserver,
  type AnswerSource,
  NO_ANSWER_YET,
  type RetainedQuery,
  type Session,
  type SessionService,
  SOURCE,
} from './answerer.js';
import type { ListenerCounters } from './counters.js';
import type { AnswerCookie, CookieState, ServerCookies } from './server-cookies.js';

const REFUSALS = {
  formerr: RCODE.FORMERR,
  notimp: RCODE.NOTIMP,
  badvers: RCODE.BADVERS,
  badoption: RCODE.FORMERR,
} as const satisfies Record<Exclude<Verdict, 'answer' | 'drop' | 'cookie'>, number>;

/** Who answers what a listener receives. */
export interface AnsweringOptions {
  readonly answerer: Answerer;
  /** Called with an error that an answerer threw, a defect; the client has received SERVFAIL. */
  readonly onFailure: (error: unknown) => void;
  /** Serves DNS Stateful Operations (RFC 8490), over TCP; without it they get NOTIMP. */
  readonly sessions?: SessionService | undefined;
  /** Answers NOTIFY (RFC 1996), with and without a TSIG; without it they get NOTIMP. */
  readonly notifies?: Answerer | undefined;
  /** Sees the queries whose question can be read, also those that are refused, NOTIFY not among them, and their answers. */
  readonly observer?: AnswerObserver | undefined;
  /** The names of an answer are compressed before it is cut to the client's size: servers may not have done it. */
  readonly compresses?: boolean | undefined;
}

interface MessageHandlerOptions extends AnsweringOptions {
  readonly counters: ListenerCounters;
  /** The largest UDP answer, whatever a client's EDNS asks for, in bytes. */
  readonly maxUdpBytes: number;
  /** Makes the cookies of answers to queries with a cookie. */
  readonly cookies: ServerCookies;
}

/**
 * Handles every message of a listener, over UDP and TCP: the header checks and their refusals, the call
 * of the answerer, truncation. One handler serves one listener, one message at a time.
 */
export class MessageHandler {
  readonly query = new Query();
  /** Where the answer to the current query comes from. */
  source: AnswerSource = SOURCE.LOCAL;
  readonly #options: MessageHandlerOptions;
  readonly #writer = new AnswerWriter();
  readonly #cursor = new RecordCursor();
  /** Made for the first answer that is too large. */
  #compressor: Compressor | undefined;
  /** What the answer to the current query gets. */
  #cookie: AnswerCookie;

  constructor(options: MessageHandlerOptions) {
    this.#options = options;
  }

  /** Handles one message; returns how many bytes of `out` (64 KiB) to send, 0 for none (yet). */
  handle(
    bytes: Uint8Array,
    length: number,
    isOverTcp: boolean,
    client: AddressedClient,
    out: Uint8Array,
  ): number {
    const { query } = this;
    const { notifies, counters, maxUdpBytes, cookies } = this.#options;
    if (isOverTcp) counters.tcpQueries++;
    else counters.udpQueries++;
    let verdict = query.read(bytes, length, isOverTcp, maxUdpBytes);
    this.#cookie = undefined;
    this.source = SOURCE.LOCAL;
    if (verdict === 'answer') {
      query.hasGoodCookie = query.cookieAt > 0 && this.#judgeCookie(client) === 'good';
      const isAdmitted = query.hasGoodCookie || isOverTcp || cookies.admits(client);
      return this.#answerObserved(isAdmitted, client, out);
    }
    if (verdict === 'notimp' && notifies !== undefined && isNotify(query)) {
      verdict = query.readBody();
      if (verdict === 'answer') return this.#answer(notifies, client, out);
    }
    if (verdict === 'drop') {
      counters.dropped++;
      return 0;
    }
    if (verdict === 'cookie') return this.#answerCookie(client, out);
    if (verdict === 'notimp') counters.notImplemented++;
    else if (verdict === 'badvers') counters.badVersions++;
    else counters.formErrors++;
    if (verdict === 'badvers' && query.cookieAt > 0) this.#judgeCookie(client);
    const isUnreadable = verdict === 'formerr' || verdict === 'notimp';
    const { observer } = this.#options;
    const isObserved = observer !== undefined && this.#hasQuestion(verdict);
    if (isObserved) observer.begin(query, client);
    const refusalBytes = this.#refuse(REFUSALS[verdict], isUnreadable, out);
    const replyBytes = this.#addCookie(out, refusalBytes, this.#cookie);
    if (isObserved) observer.answered(out, replyBytes, SOURCE.LOCAL);
    return replyBytes;
  }

  /** Whether the question of a refused message is read; that of another opcode is read now. */
  #hasQuestion(verdict: Verdict): boolean {
    return verdict === 'notimp' ? this.query.readBody() !== 'formerr' : verdict !== 'formerr';
  }

  /** The cookie of the answer to the current query, for an answer that is sent later. */
  get retainedCookie(): AnswerCookie {
    return this.#cookie?.slice();
  }

  /** The current query, for the observer of an answer that is sent later. */
  retainObserved(): RetainedQuery | undefined {
    return this.#options.observer?.retain();
  }

  /** Passes a message of DNS Stateful Operations on; false when it is none, or when they are not served. */
  handleSession(bytes: Uint8Array, length: number, session: Session): boolean {
    const { sessions, counters, onFailure } = this.#options;
    if (sessions === undefined || !isDso(bytes, length)) return false;
    try {
      sessions.receive(bytes.subarray(0, length), session);
    } catch (error) {
      counters.failures++;
      onFailure(error);
      session.close();
    }
    return true;
  }

  /** Truncates an answer to the client's size, which leaves room for a cookie, and adds that; counts it. */
  fit(message: Uint8Array, length: number, maxBytes: number, cookie: AnswerCookie): number {
    const { counters } = this.#options;
    const whole = length > maxBytes ? this.#compressed(message, length, maxBytes) : length;
    const fitted = fitMessage(message, whole, maxBytes, this.#cursor);
    const flags = this.countAnswer(message);
    if (fitted < whole || (flags & FLAG.TC) !== 0) counters.truncated++;
    return this.#addCookie(message, fitted, cookie);
  }

  /** Counts an answer by its header; returns its flags. */
  countAnswer(message: Uint8Array): number {
    const { counters } = this.#options;
    const flags = readUint16(message, 2);
    counters.answers++;
    counters.rcodes[flags & RCODE_MASK]!++;
    return flags;
  }

  #compressed(message: Uint8Array, length: number, maxBytes: number): number {
    if (this.#options.compresses !== true) return length;
    this.#compressor ??= new Compressor();
    return this.#compressor.compress(message, length, maxBytes);
  }

  #addCookie(message: Uint8Array, length: number, cookie: AnswerCookie): number {
    return cookie === undefined ? length : appendOption(message, length, cookie, this.#cursor);
  }

  /** Counts the cookie of the current query; its answer gets a good one. */
  #judgeCookie(client: AddressedClient): CookieState {
    const { cookies, counters } = this.#options;
    const state = cookies.judge(this.query, client);
    counters.cookies[state]++;
    this.#cookie = cookies.option;
    return state;
  }

  /**
   * In place of an answer (RFC 7873 section 5.2.3): a client with a cookie gets BADCOOKIE and asks again with the good
   * one, another gets TC and comes over TCP. Neither waits for a time-out, and neither answer is much larger than its query.
   */
  #wantCookie(out: Uint8Array): number {
    const { query } = this;
    const { counters } = this.#options;
    if (this.#cookie !== undefined) {
      counters.badCookies++;
      return this.#addCookie(out, this.#refuse(RCODE.BADCOOKIE, false, out), this.#cookie);
    }
    counters.cookieless++;
    this.#writer.begin(query, out);
    this.#writer.setTruncated();
    return this.fit(out, this.#writer.finish(), query.maxAnswerBytes, undefined);
  }

  /** Answers a query without a question (RFC 7873 section 5.4). */
  #answerCookie(client: AddressedClient, out: Uint8Array): number {
    const { query } = this;
    const { counters } = this.#options;
    const state = this.#judgeCookie(client);
    const isBad = state === 'old' || state === 'bad';
    if (isBad) counters.badCookies++;
    const rcode = isBad ? RCODE.BADCOOKIE : RCODE.NOERROR;
    const headBytes = this.#writeHead(rcode & RCODE_MASK, out);
    const length = appendOpt(query, out, headBytes, rcode);
    if (isBad) return this.#addCookie(out, length, this.#cookie);
    return this.fit(out, length, query.maxAnswerBytes, this.#cookie);
  }

  #answerObserved(isAdmitted: boolean, client: AddressedClient, out: Uint8Array): number {
    const { answerer, observer } = this.#options;
    observer?.begin(this.query, client);
    const length = isAdmitted ? this.#answer(answerer, client, out) : this.#wantCookie(out);
    if (length > 0 && this.source !== SOURCE.NONE) observer?.answered(out, length, this.source);
    return length;
  }

  #answer(answerer: Answerer, client: AddressedClient, out: Uint8Array): number {
    const { query } = this;
    const { counters, onFailure } = this.#options;
    let length: number;
    try {
      length = answerer.answer(query, out, client);
    } catch (error) {
      counters.failures++;
      onFailure(error);
      length = this.#refuse(RCODE.SERVFAIL, false, out);
    }
    return length === NO_ANSWER_YET ? 0 : this.fit(out, length, query.maxAnswerBytes, this.#cookie);
  }

  /** The refusal of an unreadable message echoes the header alone, its opcode included. */
  #refuse(rcode: number, isHeaderOnly: boolean, out: Uint8Array): number {
    if (isHeaderOnly) return this.#writeHead(rcode, out);
    this.#writer.begin(this.query, out);
    this.#writer.setRcode(rcode);
    return this.#writer.finish();
  }

  #writeHead(rcode: number, out: Uint8Array): number {
    const { query } = this;
    out.fill(0, 0, HEADER_BYTES);
    writeUint16(out, 0, query.id);
    writeUint16(out, 2, FLAG.QR | (query.flags & (OPCODE_MASK | FLAG.RD)) | rcode);
    return HEADER_BYTES;
  }
}

function isNotify({ flags }: Query): boolean {
  return (flags & OPCODE_MASK) === OPCODE_NOTIFY;
}
