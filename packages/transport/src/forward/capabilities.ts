import {
  appendOption,
  CLIENT_COOKIE_BYTES,
  EDNS_OPTION,
  HEADER_BYTES,
  isCookieLength,
  OPT_BYTES,
  QUESTION_FIXED_BYTES,
  randomBytes,
  RCODE,
  readUint16,
  RecordCursor,
  ReplyOutline,
  skipName,
  TYPE,
  writeUint16,
  rcodeOf,
} from '@kube-dns/wire';

/** A server that does not know EDNS is sent queries without it for this long; it may be replaced by a newer one. */
const FORGET_MS = 900_000;
/** The same after this many questions, one after the other, that had no reply but without EDNS: a firewall may drop it. */
const MAX_SILENCES = 3;
const FORGET_SILENCE_MS = 300_000;
/** The upper bits of the extended rcode 16. */
const BADVERS_HIGH = 1;
const DNSSEC_OK_BYTE = 0x80;
const OPTION_HEAD_BYTES = 4;
const NO_COOKIE = new Uint8Array(0);
/** After so many replies in a row with another case, which the server did not give over TCP either, it counts as its way. */
const MAX_UNEXPLAINED = 3;
const cursor = new RecordCursor();
const ownOutline = new ReplyOutline();

/** A query that had a reply. */
export interface RepliedQuery {
  /** As it was sent last. */
  readonly query: Buffer;
  readonly sentAtMs: number;
  /** There was no reply until it was sent again without its OPT record. */
  readonly isPlainAgain: boolean;
  /** It was sent without its OPT record after a reply that said that the server does not know EDNS. */
  readonly isWithoutEdns: boolean;
}

/** Whether a server knows EDNS. It counts as one that does until it shows otherwise (RFC 6891 section 7). */
export class EdnsSupport {
  #unknownUntilMs = Number.NEGATIVE_INFINITY;
  #silentUntilMs = Number.NEGATIVE_INFINITY;
  #silences = 0;
  #silenceAtMs = Number.NEGATIVE_INFINITY;

  /** The query as this server takes it: without its OPT record if the server does not know that. */
  fit(query: Buffer, nowMs: number): Buffer {
    if (nowMs < this.#unknownUntilMs) return withoutOpt(query);
    return nowMs < this.#silentUntilMs ? withoutPlainOpt(query) : query;
  }

  /** The server does not know EDNS. */
  noteUnknown(nowMs: number): void {
    this.#unknownUntilMs = nowMs + FORGET_MS;
  }

  /** Learns from a reply with this outline whether the server is silent to queries with EDNS, or does not know it. */
  noteReply(
    { query, sentAtMs, isPlainAgain, isWithoutEdns }: RepliedQuery,
    { optAt, message }: ReplyOutline,
    nowMs: number,
  ) {
    // What said so may have been forged: the server would have replied to the query with EDNS, and sooner.
    if (isWithoutEdns && optAt < 0 && !isEdnsRefusal(message)) this.noteUnknown(nowMs);
    if (isPlainAgain && optAt < 0) {
      // Questions of the same time tell no more than one: the server may just have been away.
      if (sentAtMs <= this.#silenceAtMs) return;
      this.#silenceAtMs = nowMs;
      if (++this.#silences >= MAX_SILENCES) this.#silentUntilMs = nowMs + FORGET_SILENCE_MS;
    } else if (this.#silences > 0 && (isPlainAgain || withoutOpt(query) !== query)) {
      this.#silences = 0;
      this.#silentUntilMs = Number.NEGATIVE_INFINITY;
    }
  }

  /** Whether the reply says that the server does not know EDNS, so that the query is to be sent without it. */
  isRefused(query: Buffer, reply: Uint8Array): boolean {
    // A server that knows EDNS has an OPT record in its reply.
    const isUnknown = isEdnsRefusal(reply) && readUint16(reply, 10) === 0;
    return (isUnknown || isBadVersion(reply)) && withoutOpt(query) !== query;
  }
}

function isEdnsRefusal(reply: Uint8Array): boolean {
  const rcode = rcodeOf(reply);
  return rcode === RCODE.FORMERR || rcode === RCODE.NOTIMP;
}

/** Whether a reply has nothing but an OPT record with BADVERS (RFC 6891 section 9), to version 0, too. */
function isBadVersion(reply: Uint8Array): boolean {
  const hasOneRecord = readUint16(reply, 6) + readUint16(reply, 8) === 0 && reply[11] === 1;
  if (!hasOneRecord || rcodeOf(reply) !== RCODE.NOERROR) return false;
  const optAt = skipName(reply, HEADER_BYTES, reply.length) + QUESTION_FIXED_BYTES;
  const isOpt = reply[optAt] === 0 && readUint16(reply, optAt + 1) === TYPE.OPT;
  return isOpt && reply[optAt + 5] === BADVERS_HIGH;
}

/** A copy of a query without an OPT record that asks for nothing: no DNSSEC, no option; else the query itself. */
export function withoutPlainOpt(query: Buffer): Buffer {
  const plain = withoutOpt(query);
  const isForSize = query.length === plain.length + OPT_BYTES;
  return isForSize && (query[plain.length + 7]! & DNSSEC_OK_BYTE) === 0 ? plain : query;
}

/** A copy of a query without its OPT record; the query itself if it has no such record, or others beside it. */
export function withoutOpt(query: Buffer): Buffer {
  const optAt = skipName(query, HEADER_BYTES, query.length) + QUESTION_FIXED_BYTES;
  const isAlone = readUint16(query, 6) + readUint16(query, 8) === 0 && readUint16(query, 10) === 1;
  if (!isAlone || query.length < optAt + OPT_BYTES) return query;
  if (query[optAt] !== 0 || readUint16(query, optAt + 1) !== TYPE.OPT) return query;
  const plain = Buffer.from(query.subarray(0, optAt));
  writeUint16(plain, 10, 0);
  return plain;
}

/** `forged`: the reply may not be the server's; `again`: the server wants the cookie that the reply has (BADCOOKIE). */
export type CookieJudgement = 'accepted' | 'forged' | 'again';

/**
 * The cookies of one server (RFC 7873 section 5.3): a client cookie of its own, never that of a client, and the server
 * cookie that was learned. Once the server has shown one, a reply without our cookie may be forged.
 */
export class UpstreamCookies {
  readonly #client = randomBytes(CLIENT_COOKIE_BYTES);
  #server: Uint8Array = NO_COOKIE;
  readonly #onReject: () => void;

  /** `onReject` is called for each reply that is not accepted for want of our cookie. */
  constructor(onReject: () => void) {
    this.#onReject = onReject;
  }

  /** Whether the server has shown a cookie: it is not believed without one over UDP. */
  get isKnown(): boolean {
    return this.#server.length > 0;
  }

  /** A copy of a query with our cookie; the query itself if its last record is not OPT, or it has one of a client. */
  add(query: Buffer): Buffer {
    if (ownOutline.read(query).optionAt(EDNS_OPTION.COOKIE) >= 0) return query;
    const option = Buffer.alloc(OPTION_HEAD_BYTES + CLIENT_COOKIE_BYTES + this.#server.length);
    writeUint16(option, 0, EDNS_OPTION.COOKIE);
    writeUint16(option, 2, option.length - OPTION_HEAD_BYTES);
    option.set(this.#client, OPTION_HEAD_BYTES);
    option.set(this.#server, OPTION_HEAD_BYTES + CLIENT_COOKIE_BYTES);
    const longer = Buffer.concat([query, option]);
    const length = appendOption(longer, query.length, option, cursor);
    return length === query.length ? query : longer;
  }

  /** Judges a reply over UDP, which has this outline, to a query with our cookie, and learns the server's. */
  judge(outline: ReplyOutline): CookieJudgement {
    const { message: reply, upperRcode } = outline;
    const at = outline.optionAt(EDNS_OPTION.COOKIE);
    if (at < 0 && !this.isKnown) return 'accepted';
    if (!this.#isOurs(reply, at)) return this.#reject();
    const isShown = this.#learn(reply, at);
    const rcode = (upperRcode << 4) | rcodeOf(reply);
    return isShown && rcode === RCODE.BADCOOKIE ? 'again' : 'accepted';
  }

  /** Judges a reply over UDP to a query without our cookie. One without EDNS was sent before the server had shown its own. */
  judgeOther(query: Uint8Array): CookieJudgement {
    // One that is signed, or has a cookie of its client, cannot have ours.
    return this.isKnown && readUint16(query, 10) === 0 ? this.#reject() : 'accepted';
  }

  /** The reply, which has this outline, without a cookie at its end: what else its OPT record has is for its client. */
  strip(reply: Buffer, outline: ReplyOutline): Buffer {
    const at = outline.optionAt(EDNS_OPTION.COOKIE);
    if (at < 0 || at + OPTION_HEAD_BYTES + readUint16(reply, at + 2) !== reply.length) return reply;
    const lengthAt = outline.optionsAt - 2;
    writeUint16(reply, lengthAt, readUint16(reply, lengthAt) - (reply.length - at));
    return reply.subarray(0, at);
  }

  /** Learns from a reply over TCP to a query with our cookie: its server has one, or none any more (RFC 7873 section 5.3). */
  noteTcpReply(reply: Uint8Array): void {
    const at = ownOutline.read(reply).optionAt(EDNS_OPTION.COOKIE);
    if (!this.#isOurs(reply, at)) this.#server = NO_COOKIE;
    else this.#learn(reply, at);
  }

  #reject(): CookieJudgement {
    this.#onReject();
    return 'forged';
  }

  /** Learns the server's cookie from the option at this offset; false when there is only ours. */
  #learn(reply: Uint8Array, at: number): boolean {
    const from = at + OPTION_HEAD_BYTES;
    const server = reply.subarray(from + CLIENT_COOKIE_BYTES, from + readUint16(reply, at + 2));
    if (server.length > 0) this.#server = Uint8Array.from(server);
    return server.length > 0;
  }

  #isOurs(reply: Uint8Array, at: number): boolean {
    return at >= 0 && isCookieLength(readUint16(reply, at + 2)) && this.#isIn(reply, at);
  }

  /** Whether the COOKIE option at this offset starts with our client cookie. */
  #isIn(message: Uint8Array, at: number): boolean {
    if (at < 0 || readUint16(message, at + 2) < CLIENT_COOKIE_BYTES) return false;
    for (let i = 0; i < CLIENT_COOKIE_BYTES; i++) {
      if (message[at + OPTION_HEAD_BYTES + i] !== this.#client[i]) return false;
    }
    return true;
  }
}

/** Whether a server returns the case of names. It counts as one that does until it shows otherwise. */
export class CaseEcho {
  #isKept = true;
  #unexplained = 0;

  /** Whether a reply over UDP may be the server's; if not, the question is to be asked over TCP, which is not forged so easily. */
  accepts(query: Uint8Array, reply: Uint8Array): boolean {
    if (!this.#isKept || hasSameCase(query, reply)) return true;
    this.#isKept = ++this.#unexplained < MAX_UNEXPLAINED;
    return false;
  }

  /** Notes a reply over TCP. */
  learn(query: Uint8Array, reply: Uint8Array): void {
    if (hasSameCase(query, reply)) this.#unexplained = 0;
    else this.#isKept = false;
  }
}

/** Whether the question of a reply has the bytes of the query's; a reply without one has no other case. */
function hasSameCase(query: Uint8Array, reply: Uint8Array): boolean {
  if (readUint16(reply, 4) === 0) return true;
  const end = skipName(query, HEADER_BYTES, query.length);
  for (let i = HEADER_BYTES; i < end; i++) if (query[i] !== reply[i]) return false;
  return true;
}
