import { isReplyTo, randomId } from '@kube-dns/transport';
import {
  checkTsig,
  MAX_NAME_BYTES,
  OPCODE_MASK,
  OPCODE_NOTIFY,
  RCODE,
  RCODE_MASK,
  readTsig,
  readUint16,
  signMessage,
  type TsigKey,
  writeNotify,
} from '@kube-dns/wire';

/** A TSIG without the key's name: the rest of the record, with the longest MAC. */
const TSIG_BYTES = 128;

/** The zone whose changes are told. */
export interface NotifiedZone {
  /** Lower-cased, in wire form. */
  readonly apex: Uint8Array;
  /** The data of its SOA record as it is now. */
  readonly soaRdata: Uint8Array;
}

/** A message that waits for its reply. */
export interface SentNotify {
  readonly message: Uint8Array;
  /** Whether a datagram is the reply; with a key one that is not rightly signed is none. */
  isReply(reply: Uint8Array): boolean;
  /** What was wrong with a datagram that would be the reply otherwise. */
  readonly flaw: string | undefined;
}

/** Writes the NOTIFY messages of a zone, signed when there is a key, and knows their replies. */
export class NotifyMessages {
  readonly #zone: NotifiedZone;
  readonly #ttlSeconds: number;
  readonly #key: TsigKey | undefined;
  readonly #wallNow: () => number;

  /** `wallNow` is in milliseconds since the epoch. */
  constructor(
    zone: NotifiedZone,
    ttlSeconds: number,
    key: TsigKey | undefined,
    wallNow: () => number = Date.now,
  ) {
    this.#zone = zone;
    this.#ttlSeconds = ttlSeconds;
    this.#key = key;
    this.#wallNow = wallNow;
  }

  get apex(): Uint8Array {
    return this.#zone.apex;
  }

  /** A message about a name (lower-cased, in wire form) with a random ID. */
  write(name: Uint8Array): SentNotify {
    const { apex, soaRdata } = this.#zone;
    const plain = writeNotify({
      id: randomId(),
      name,
      apex,
      soaRdata,
      ttlSeconds: this.#ttlSeconds,
    });
    const key = this.#key;
    if (key === undefined) {
      return { message: plain, isReply: (reply) => isNotifyReply(plain, reply), flaw: undefined };
    }
    const out = new Uint8Array(plain.length + MAX_NAME_BYTES + TSIG_BYTES);
    out.set(plain);
    const length = signMessage(out, plain.length, key, { timeSeconds: this.#nowSeconds });
    return new SignedNotify(out.subarray(0, length), key, () => this.#nowSeconds);
  }

  get #nowSeconds(): number {
    return Math.floor(this.#wallNow() / 1_000);
  }
}

class SignedNotify implements SentNotify {
  readonly message: Uint8Array;
  flaw: string | undefined;
  readonly #key: TsigKey;
  readonly #nowSeconds: () => number;
  readonly #mac: Uint8Array | undefined;

  constructor(message: Uint8Array, key: TsigKey, nowSeconds: () => number) {
    this.message = message;
    this.#key = key;
    this.#nowSeconds = nowSeconds;
    const tsig = readTsig(message);
    this.#mac = typeof tsig === 'string' ? undefined : tsig.mac;
  }

  /** RFC 8945 section 5.3: the reply may still come after one that anyone can have sent. */
  isReply(reply: Uint8Array): boolean {
    if (!isNotifyReply(this.message, reply)) return false;
    const tsig = readTsig(reply);
    const rcode = readUint16(reply, 2) & RCODE_MASK;
    if (typeof tsig === 'string') {
      this.flaw = `a reply with rcode ${rcode} is not signed`;
      return false;
    }
    const error = checkTsig(reply, tsig, this.#key, this.#nowSeconds(), this.#mac);
    if (error === RCODE.NOERROR) return true;
    this.flaw = `a reply with rcode ${rcode} and TSIG error ${tsig.error} is not signed by the key`;
    return false;
  }
}

function isNotifyReply(message: Uint8Array, reply: Uint8Array): boolean {
  return isReplyTo(message, reply) && (readUint16(reply, 2) & OPCODE_MASK) === OPCODE_NOTIFY;
}
