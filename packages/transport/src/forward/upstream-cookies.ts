import {
  appendOption,
  CLIENT_COOKIE_BYTES,
  EDNS_OPTION,
  findOption,
  isCookieLength,
  randomBytes,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';

/** `forged`: the reply may not be the server's; `again`: the server wants the cookie that the reply has (BADCOOKIE). */
export type CookieJudgement = 'taken' | 'forged' | 'again';

const OPTION_HEAD_BYTES = 4;
const NO_COOKIE = new Uint8Array(0);
const cursor = new RecordCursor();

/**
 * The cookies of one server (RFC 7873 section 5.3): a client cookie of its own, never that of a client, and the server
 * cookie that was learned. Once the server has shown one, a reply without our cookie may be forged.
 */
export class UpstreamCookies {
  readonly #client = randomBytes(CLIENT_COOKIE_BYTES);
  #server: Uint8Array = NO_COOKIE;
  /** The last reply over UDP was not taken. */
  #isInDoubt = false;
  readonly #onReject: () => void;

  /** `onReject` is called for each reply that is not taken for want of our cookie. */
  constructor(onReject: () => void) {
    this.#onReject = onReject;
  }

  /** A copy of a query with our cookie; the query itself if its last record is not OPT, or it has one of a client. */
  add(query: Buffer): Buffer {
    if (optionAt(query) >= 0) return query;
    const option = Buffer.alloc(OPTION_HEAD_BYTES + CLIENT_COOKIE_BYTES + this.#server.length);
    writeUint16(option, 0, EDNS_OPTION.COOKIE);
    writeUint16(option, 2, option.length - OPTION_HEAD_BYTES);
    option.set(this.#client, OPTION_HEAD_BYTES);
    option.set(this.#server, OPTION_HEAD_BYTES + CLIENT_COOKIE_BYTES);
    const longer = Buffer.concat([query, option]);
    const length = appendOption(longer, query.length, option, cursor);
    return length === query.length ? query : longer;
  }

  /** Judges a reply over UDP to a query, and learns the server's cookie. */
  judge(query: Uint8Array, reply: Uint8Array): CookieJudgement {
    if (!this.#isIn(query, optionAt(query))) return 'taken';
    const at = optionAt(reply);
    if (at < 0 && this.#server.length === 0) return 'taken';
    const length = at < 0 ? 0 : readUint16(reply, at + 2);
    this.#isInDoubt = !isCookieLength(length) || !this.#isIn(reply, at);
    if (this.#isInDoubt) {
      this.#onReject();
      return 'forged';
    }
    const from = at + OPTION_HEAD_BYTES;
    const server = reply.subarray(from + CLIENT_COOKIE_BYTES, from + length);
    if (server.length > 0) this.#server = Uint8Array.from(server);
    return server.length > 0 && isBadCookie(reply) ? 'again' : 'taken';
  }

  /** The reply without a cookie at its end: what else its OPT record has is for its client. */
  strip(reply: Buffer): Buffer {
    const at = optionAt(reply);
    if (at < 0 || at + OPTION_HEAD_BYTES + readUint16(reply, at + 2) !== reply.length) return reply;
    const lengthAt = cursor.rdataStart - 2;
    writeUint16(reply, lengthAt, readUint16(reply, lengthAt) - (reply.length - at));
    return reply.subarray(0, at);
  }

  /** The server has answered over TCP; if its reply over UDP was not taken, it may not have cookies any more. */
  noteTcpReply(): void {
    if (this.#isInDoubt) this.#server = NO_COOKIE;
    this.#isInDoubt = false;
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

/** Where the COOKIE option of a message is; -1 without one. The cursor stays at the OPT record. */
function optionAt(message: Uint8Array): number {
  cursor.reset(message, message.length);
  while (cursor.next()) {
    if (cursor.type !== TYPE.OPT) continue;
    return findOption(message, cursor.rdataStart, cursor.end, EDNS_OPTION.COOKIE);
  }
  return -1;
}

function isBadCookie(reply: Uint8Array): boolean {
  // The cursor is at the OPT record, which has the upper bits of the rcode.
  const rcode = (reply[cursor.ttlAt]! << 4) | (readUint16(reply, 2) & RCODE_MASK);
  return rcode === RCODE.BADCOOKIE;
}
