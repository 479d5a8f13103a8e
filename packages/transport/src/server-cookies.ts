import { TokenBucket } from '@kube-dns/base';
import {
  CLIENT_COOKIE_BYTES,
  COOKIE_OPTION_BYTES,
  EDNS_OPTION,
  MAX_MESSAGE_BYTES,
  type Query,
  randomBytes,
  readUint32,
  SERVER_COOKIE_BYTES,
  SIP_HASH_BYTES,
  SIP_KEY_BYTES,
  sipHash,
  writeUint16,
  writeUint32,
} from '@kube-dns/wire';
import type { AddressedClient } from './answerer.js';

/** The secret that cookies are made with, and others whose cookies are still taken. Each has SIP_KEY_BYTES. */
export type CookieSecrets = readonly [current: Uint8Array, ...others: readonly Uint8Array[]];

/**
 * What the server cookie of a query was: `good`; `old`, made too long ago or by a clock ahead of ours; `bad`, of
 * another client, another secret or forged; `none`, the client has none yet.
 */
export type CookieState = 'good' | 'old' | 'bad' | 'none';

interface ServerCookiesOptions {
  /**
   * Above so many queries over UDP a second without a good server cookie, all addresses together, such a query gets no
   * answer but how to go on. Without it no cookie is needed.
   */
  readonly requiredAbove?: number | undefined;
  /** Milliseconds since 1970; the clock of the system unless given. */
  readonly nowMs?: () => number;
  /** Milliseconds that never fall; the clock of the process unless given. */
  readonly uptimeMs?: () => number;
}

/** `requiredAbove` where a cookie is wanted and no rate is said. */
export const COOKIELESS_PER_SECOND = 10_000;
/** 127.0.0.0/8 and ::1: a container of the same pod, or a probe. */
const IPV4_LOOPBACK = 127;

/** A cookie is good for this long, and this far ahead; it is renewed after half of it (RFC 9018 section 4.3). */
const GOOD_SECONDS = 3_600;
const AHEAD_SECONDS = 300;
const RENEWED_SECONDS = GOOD_SECONDS / 2;
const VERSION = 1;
/** In the option: code, length, client cookie, then version, three zero bytes, time and hash. */
const HEAD_BYTES = 4;
const SERVER_AT = HEAD_BYTES + CLIENT_COOKIE_BYTES;
const TIME_AT = 4;
const HASH_AT = SERVER_COOKIE_BYTES - SIP_HASH_BYTES;
/** What is hashed before the address. */
const HASHED_BYTES = CLIENT_COOKIE_BYTES + HASH_AT;
const IPV4_BYTES = 4;
const MAX_ADDRESS_BYTES = 16;
/** The index of the secret that cookies are made with. */
const CURRENT = 0;

/**
 * Makes and checks the server cookies of RFC 9018: a hash of the client's cookie and address and the time, so that a
 * client with a good one has received an answer at its address. One for all listeners of a process; nothing is stored
 * per client, and nothing allocated per query.
 */
export class ServerCookies {
  /** The COOKIE option for the answer to the last query; overwritten by the next. */
  readonly option = new Uint8Array(COOKIE_OPTION_BYTES);
  readonly #nowMs: () => number;
  readonly #hashed = new Uint8Array(HASHED_BYTES + MAX_ADDRESS_BYTES);
  readonly #hash = new Uint8Array(SIP_HASH_BYTES);
  readonly #cookieless: TokenBucket | undefined;
  #secrets: CookieSecrets = [randomBytes(SIP_KEY_BYTES)];

  /** The secret is random until `use`. */
  constructor(options: ServerCookiesOptions = {}) {
    const { requiredAbove, nowMs = () => Date.now(), uptimeMs } = options;
    this.#nowMs = nowMs;
    if (requiredAbove !== undefined) {
      this.#cookieless = new TokenBucket(requiredAbove, requiredAbove, uptimeMs);
    }
    writeUint16(this.option, 0, EDNS_OPTION.COOKIE);
    writeUint16(this.option, 2, COOKIE_OPTION_BYTES - HEAD_BYTES);
  }

  /** From now on cookies are made with the first secret; those of the others are taken, and renewed. */
  use(secrets: CookieSecrets): void {
    this.#secrets = secrets;
  }

  /** Judges the cookie of a query that has one, and makes `option`: with the client's cookie as it is, or a new one. */
  judge({ bytes, cookieAt, cookieBytes }: Query, client: AddressedClient): CookieState {
    const { option } = this;
    for (let i = 0; i < CLIENT_COOKIE_BYTES; i++) {
      option[HEAD_BYTES + i] = this.#hashed[i] = bytes[cookieAt + i]!;
    }
    const hashedBytes = HASHED_BYTES + client.copyAddress(this.#hashed, HASHED_BYTES);
    const nowSeconds = Math.floor(this.#nowMs() / 1_000);
    let state: CookieState = 'none';
    if (cookieBytes > CLIENT_COOKIE_BYTES) {
      const serverAt = cookieAt + CLIENT_COOKIE_BYTES;
      const isOurs =
        cookieBytes === COOKIE_OPTION_BYTES - HEAD_BYTES && bytes[serverAt] === VERSION;
      // RFC 9018 section 4.3: times are serial numbers (RFC 1982).
      const ageSeconds = (nowSeconds - readUint32(bytes, serverAt + TIME_AT)) | 0;
      const isInTime = ageSeconds >= -AHEAD_SECONDS && ageSeconds <= GOOD_SECONDS;
      const made = isOurs && isInTime ? this.#madeWith(bytes, serverAt, hashedBytes) : -1;
      if (made === CURRENT && ageSeconds <= RENEWED_SECONDS) {
        for (let i = 0; i < SERVER_COOKIE_BYTES; i++) option[SERVER_AT + i] = bytes[serverAt + i]!;
        return 'good';
      }
      if (made >= 0) state = 'good';
      else state = isOurs && !isInTime ? 'old' : 'bad';
    }
    this.#make(nowSeconds, hashedBytes);
    return state;
  }

  /** Whether a query over UDP without a good cookie is answered; it counts. A client on this machine always is. */
  admits(client: AddressedClient): boolean {
    if (this.#cookieless === undefined || this.#isLocal(client)) return true;
    return this.#cookieless.take();
  }

  #isLocal(client: AddressedClient): boolean {
    const address = this.#hashed;
    if (client.copyAddress(address, 0) === IPV4_BYTES) return address[0] === IPV4_LOOPBACK;
    for (let i = 0; i < MAX_ADDRESS_BYTES - 1; i++) if (address[i] !== 0) return false;
    return address[MAX_ADDRESS_BYTES - 1] === 1;
  }

  /** The index of the secret that the server cookie at `at` was made with, for the client whose data is ready; -1: none. */
  #madeWith(bytes: Uint8Array, at: number, hashedBytes: number): number {
    const hash = this.#hash;
    // What is reserved is hashed as it is (RFC 9018 section 4.2).
    for (let i = 0; i < HASH_AT; i++) this.#hashed[CLIENT_COOKIE_BYTES + i] = bytes[at + i]!;
    for (let which = 0; which < this.#secrets.length; which++) {
      sipHash(this.#secrets[which]!, this.#hashed, hashedBytes, hash, 0);
      let difference = 0;
      for (let i = 0; i < SIP_HASH_BYTES; i++) difference |= hash[i]! ^ bytes[at + HASH_AT + i]!;
      if (difference === 0) return which;
    }
    return -1;
  }

  #make(nowSeconds: number, hashedBytes: number): void {
    const hashed = this.#hashed;
    writeUint32(hashed, CLIENT_COOKIE_BYTES, VERSION << 24);
    writeUint32(hashed, CLIENT_COOKIE_BYTES + TIME_AT, nowSeconds);
    for (let i = 0; i < HASH_AT; i++) this.option[SERVER_AT + i] = hashed[CLIENT_COOKIE_BYTES + i]!;
    sipHash(this.#secrets[CURRENT], hashed, hashedBytes, this.option, SERVER_AT + HASH_AT);
  }
}

/** The COOKIE option that an answer gets; undefined for a client without cookies. */
export type AnswerCookie = Uint8Array | undefined;

/** An answer while its cookie is added. */
const out = new Uint8Array(MAX_MESSAGE_BYTES);

/** The message, or for a buffer that has no room for the cookie behind it a copy, which the next one overwrites. */
export function withRoom(message: Uint8Array, length: number, cookie: AnswerCookie): Uint8Array {
  if (cookie === undefined || message.length >= length + COOKIE_OPTION_BYTES) return message;
  out.set(message.subarray(0, length));
  return out;
}
