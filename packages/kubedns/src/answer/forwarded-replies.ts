import type { ReplyInspector } from '@kube-dns/transport';
import {
  AnswerWriter,
  CLASS,
  expandKey,
  FLAG,
  HEADER_BYTES,
  markReasons,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  Query,
  QUESTION_FIXED_BYTES,
  QUESTION_OFFSET,
  readUint16,
  RecordCursor,
  SECTION,
  suffixOffset,
  TYPE,
  writeUint16,
} from '@kube-dns/wire';
import { isFollowed } from './upstream-chain.js';
import type { UpstreamRecords } from './upstream-records.js';

/** More names of a chain than any honest answer has; a longer chain is cut. */
const MAX_NAMES = 16;

/**
 * Inspects the replies to forwarded questions: their clients get the records that the question leads to, and
 * nothing that a server says about the own zone. None is authoritative: this server has no authority over them.
 */
export class ForwardedReplies {
  readonly #records: UpstreamRecords;
  readonly #cursor = new RecordCursor();
  /** The names of the chain, lower-cased, and how long each is. */
  readonly #names = Array.from({ length: MAX_NAMES }, () => new Uint8Array(MAX_NAME_BYTES));
  readonly #lengths = new Uint8Array(MAX_NAMES);
  #count = 0;
  readonly #owner = new Uint8Array(MAX_NAME_BYTES);
  readonly #writer = new AnswerWriter();
  readonly #query = new Query();
  readonly #out = new Uint8Array(MAX_MESSAGE_BYTES);

  constructor(records: UpstreamRecords) {
    this.#records = records;
  }

  /** For the forwarder. */
  readonly inspect: ReplyInspector = (received) => {
    const reply = markReasons(received, this.#cursor);
    writeUint16(reply, 2, readUint16(reply, 2) & ~FLAG.AA);
    return this.#isClean(reply) ? reply : this.#rewrite(reply);
  };

  /** Whether a reply may be relayed as it is. */
  #isClean(reply: Uint8Array): boolean {
    const cursor = this.#cursor.reset(reply, reply.length);
    this.#count = 0;
    if (!this.#addName(reply, QUESTION_OFFSET)) return false;
    const asked = readUint16(reply, cursor.end - QUESTION_FIXED_BYTES);
    while (cursor.next()) {
      const length = expandKey(reply, cursor.start, reply.length, this.#owner);
      if (length < 0) return false;
      if (cursor.section === SECTION.ANSWER) {
        if (cursor.class !== CLASS.IN || !this.#isOfChain(length, cursor.type)) return false;
        if (
          cursor.type === TYPE.CNAME &&
          isFollowed(asked) &&
          !this.#addName(reply, cursor.rdataStart)
        )
          return false;
      } else if (cursor.type !== TYPE.OPT && this.#records.isOwn(this.#owner, length)) return false;
    }
    return true;
  }

  /** Adds a name to the chain; false for one that other servers say nothing about. */
  #addName(reply: Uint8Array, at: number): boolean {
    const name = this.#names[this.#count];
    if (name === undefined) return false;
    const length = expandKey(reply, at, reply.length, name);
    if (length < 0 || this.#records.isOwn(name, length)) return false;
    this.#lengths[this.#count++] = length;
    return true;
  }

  /** Whether the owner of a record is a name of the chain, or above one with a DNAME. */
  #isOfChain(length: number, type: number): boolean {
    const owner = this.#owner.subarray(0, length);
    for (let i = 0; i < this.#count; i++) {
      const at = suffixOffset(this.#names[i]!, this.#lengths[i]!, owner);
      if (at === 0 || (at > 0 && type === TYPE.DNAME)) return true;
    }
    return false;
  }

  /** A reply made of the records of this one that the question leads to, and of those of the own zone. */
  #rewrite(reply: Buffer): Buffer {
    const { end } = this.#cursor.reset(reply, reply.length);
    const question = Buffer.from(reply.subarray(0, end));
    writeUint16(question, 2, FLAG.RD);
    question.fill(0, 6, HEADER_BYTES);
    const query = this.#query;
    query.read(question, end, true, MAX_MESSAGE_BYTES);
    const writer = this.#writer;
    writer.begin(query, this.#out);
    this.#records.add(reply, query.name.slice(0, query.nameLength), query, writer);
    return Buffer.from(this.#out.subarray(0, writer.finish()));
  }
}
