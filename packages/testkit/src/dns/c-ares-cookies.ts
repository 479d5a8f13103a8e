import { randomBytes } from 'node:crypto';

/** `taken`: the answer counts; `dropped`: as if it had not arrived; `again`: the query is sent once more. */
export type CookieJudgement = 'taken' | 'dropped' | 'again';

const OPT = 41;
const COOKIE = 10;
const CLIENT_BYTES = 8;
const MAX_BYTES = 40;
const BADCOOKIE = 23;

/** The rules of c-ares 1.34 for the cookies of one server (src/lib/ares_cookie.c, ares_cookie_validate). */
export class CAresCookies {
  readonly #client = randomBytes(CLIENT_BYTES);
  #server: Buffer | undefined;

  /** The cookie of the next query. */
  next(): Buffer {
    return Buffer.concat([this.#client, this.#server ?? Buffer.alloc(0)]);
  }

  /** Judges the reply to a query, and learns its server cookie. */
  judge(query: Buffer, reply: Buffer): CookieJudgement {
    const sent = cookieOf(query);
    if (sent === undefined) return 'taken';
    const { cookie, rcode } = optOf(reply);
    // Once a server has shown a cookie, what comes without is forged.
    if (cookie === undefined) return this.#server === undefined ? 'taken' : 'dropped';
    const isWellFormed = cookie.length >= CLIENT_BYTES && cookie.length <= MAX_BYTES;
    if (!isWellFormed || !cookie.subarray(0, CLIENT_BYTES).equals(sent.subarray(0, CLIENT_BYTES))) {
      return 'dropped';
    }
    if (cookie.length > CLIENT_BYTES) this.#server = Buffer.from(cookie.subarray(CLIENT_BYTES));
    if (rcode === BADCOOKIE) return 'again';
    return 'taken';
  }
}

function cookieOf(message: Buffer): Buffer | undefined {
  return optOf(message).cookie;
}

/** The cookie of a message, and its rcode with the upper bits. */
function optOf(message: Buffer): { cookie: Buffer | undefined; rcode: number } {
  let rcode = message[3]! & 0xf;
  let cookie: Buffer | undefined;
  let at = 12;
  const skipName = () => {
    while (message[at]! > 0 && message[at]! < 0xc0) at += message[at]! + 1;
    at += message[at] === 0 ? 1 : 2;
  };
  for (let i = message.readUInt16BE(4); i > 0; i--) {
    skipName();
    at += 4;
  }
  const records = [6, 8, 10].reduce((sum, countAt) => sum + message.readUInt16BE(countAt), 0);
  for (let i = 0; i < records; i++) {
    skipName();
    const end = at + 10 + message.readUInt16BE(at + 8);
    if (message.readUInt16BE(at) === OPT) {
      rcode |= message[at + 4]! << 4;
      for (let option = at + 10; option < end; option += 4 + message.readUInt16BE(option + 2)) {
        if (message.readUInt16BE(option) !== COOKIE) continue;
        cookie = message.subarray(option + 4, option + 4 + message.readUInt16BE(option + 2));
      }
    }
    at = end;
  }
  return { cookie, rcode };
}
