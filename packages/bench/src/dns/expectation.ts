import { isIPv4 } from 'node:net';
import {
  encodeQuery,
  HEADER_BYTES,
  QUESTION_FIXED_BYTES,
  RCODE,
  RCODE_MASK,
  readUint16,
  RecordCursor,
  SECTION,
  skipName,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';

/** A question, and what its answer must hold to be right. */
export interface Expectation {
  /** Without final dot. */
  readonly name: string;
  readonly type: 'A' | 'SRV';
  /** An address that must be among the records; for SRV any record will do. */
  readonly address?: string;
}

/** OPT with a UDP payload size of 4,096 bytes. */
const OPT = Buffer.from('0000291000000000000000', 'hex');
const ADDITIONAL_COUNT_OFFSET = 10;
const QR = 0x80;

/** One question ready to be sent any number of times, and the check of its answers. */
export class Asked {
  /** The query, with EDNS; its ID is to be written by the sender. */
  readonly query: Buffer;
  readonly #questionEnd: number;
  readonly #type: number;
  readonly #address: Buffer | undefined;
  readonly #cursor = new RecordCursor();

  constructor({ name, type, address }: Expectation) {
    const plain = encodeQuery({ id: 0, name, type });
    writeUint16(plain, ADDITIONAL_COUNT_OFFSET, 1);
    this.query = Buffer.concat([plain, OPT]);
    this.#questionEnd = skipName(plain, HEADER_BYTES, plain.length) + QUESTION_FIXED_BYTES;
    this.#type = TYPE[type];
    if (address !== undefined && isIPv4(address)) {
      this.#address = Buffer.from(address.split('.').map(Number));
    }
  }

  /** Whether a message answers this question; the caller compares the ID. */
  isAnsweredBy(message: Buffer): boolean {
    const end = this.#questionEnd;
    return (
      message.length >= end &&
      (message[2]! & QR) !== 0 &&
      this.query.compare(message, HEADER_BYTES, end, HEADER_BYTES, end) === 0
    );
  }

  /** Whether a message is the answer that is expected: NOERROR, with the record. */
  isRight(message: Buffer): boolean {
    if (!this.isAnsweredBy(message) || (message[3]! & RCODE_MASK) !== RCODE.NOERROR) return false;
    const cursor = this.#cursor.reset(message, message.length);
    while (cursor.next() && cursor.section === SECTION.ANSWER) {
      if (cursor.type !== this.#type) continue;
      if (this.#address === undefined) return true;
      if (this.#address.compare(message, cursor.rdataStart, cursor.end) === 0) return true;
    }
    return false;
  }
}

/** The ID of a message, -1 when it is too short to have one. */
export function messageId(message: Buffer): number {
  return message.length < HEADER_BYTES ? -1 : readUint16(message, 0);
}
