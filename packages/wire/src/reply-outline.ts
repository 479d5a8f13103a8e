import { findOption } from './opt-record.js';
import { TYPE } from './protocol.js';
import { RecordCursor, SECTION } from './record-cursor.js';

const NO_MESSAGE = new Uint8Array(0);
const TOP_BIT = 0x80;

/**
 * What one pass over a message finds for all that ask about its records. It describes the message until records are
 * added, removed or moved there.
 */
export class ReplyOutline {
  /** The message that was read last. */
  message: Uint8Array = NO_MESSAGE;
  /** It does not fit its own length; the rest is of no use then. */
  isMalformed = false;
  /** The offsets after the question and after the last record. */
  questionEnd = 0;
  end = 0;
  /** The first OPT record of the additional section, or -1, and its options; these are empty without one. */
  optAt = -1;
  optionsAt = 0;
  optionsEnd = 0;
  /** The upper bits of the rcode, of that record; whether any has such bits (RFC 6891 section 6.1.3). */
  upperRcode = 0;
  hasExtendedRcode = false;
  /** Records of the additional section before OPT. */
  additionals = 0;
  /** There are records besides OPT. */
  hasRecords = false;
  /** The additional section has SIG or TSIG. */
  isSigned = false;
  /** The answer section has a CNAME. */
  hasLink = false;
  /** Records of the authority section, of these types. */
  nameServers = 0;
  owners = 0;
  /** A TTL has the top bit set, which counts as zero (RFC 2181 section 8). */
  hasTopBit = false;
  readonly #cursor = new RecordCursor();

  /** Whether the message has EDNS options. */
  get hasOptions(): boolean {
    return this.optionsEnd > this.optionsAt;
  }

  /** Where the first option with this code starts, or -1. */
  optionAt(code: number): number {
    return findOption(this.message, this.optionsAt, this.optionsEnd, code);
  }

  read(message: Uint8Array): this {
    this.message = message;
    const cursor = this.#cursor.reset(message, message.length);
    this.questionEnd = cursor.end;
    this.optAt = -1;
    this.optionsAt = this.optionsEnd = 0;
    this.upperRcode = this.additionals = this.nameServers = this.owners = 0;
    this.hasRecords = this.hasExtendedRcode = this.isSigned = this.hasTopBit = this.hasLink = false;
    while (cursor.next()) {
      const { type, section, ttlAt } = cursor;
      const topByte = message[ttlAt]!;
      if (type !== TYPE.OPT) {
        this.hasRecords = true;
        this.hasTopBit ||= topByte >= TOP_BIT;
      }
      if (section === SECTION.ADDITIONAL) this.#noteAdditional(type, topByte);
      else if (section === SECTION.AUTHORITY) {
        if (type === TYPE.NS) this.nameServers++;
        else if (type === TYPE.SOA) this.owners++;
      } else if (type === TYPE.CNAME) this.hasLink = true;
    }
    this.end = cursor.end;
    this.isMalformed = cursor.isMalformed();
    return this;
  }

  #noteAdditional(type: number, topByte: number): void {
    const { start, rdataStart, end } = this.#cursor;
    if (type === TYPE.OPT) this.hasExtendedRcode ||= topByte !== 0;
    else if (type === TYPE.SIG || type === TYPE.TSIG) this.isSigned = true;
    if (this.optAt >= 0) return;
    if (type !== TYPE.OPT) {
      this.additionals++;
      return;
    }
    this.optAt = start;
    this.optionsAt = rdataStart;
    this.optionsEnd = end;
    this.upperRcode = topByte;
  }
}
