import {
  AnswerWriter,
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
import { type Answerer, type Client, NO_ANSWER_YET } from './answerer.js';
import type { ListenerCounters } from './counters.js';
import type { Session, SessionService } from './session.js';

const REFUSALS = {
  formerr: RCODE.FORMERR,
  notimp: RCODE.NOTIMP,
  badvers: RCODE.BADVERS,
} as const satisfies Record<Exclude<Verdict, 'answer' | 'drop'>, number>;

export interface MessageHandlerOptions {
  readonly answerer: Answerer;
  readonly counters: ListenerCounters;
  /** The largest UDP answer, whatever a client's EDNS asks for, in bytes. */
  readonly maxUdpBytes: number;
  /** Called with an error that the answerer threw: a defect, which must not end the process. */
  readonly onFailure: (error: unknown) => void;
  /** Serves DNS Stateful Operations, over TCP; without it they are not implemented. */
  readonly sessions?: SessionService | undefined;
  /** Answers NOTIFY; without it they are not implemented. */
  readonly notifies?: Answerer | undefined;
}

/**
 * Handles every message of a listener, over UDP and TCP: the header checks and their refusals, the call
 * of the answerer, truncation. One handler serves one listener, one message at a time.
 */
export class MessageHandler {
  readonly query = new Query();
  readonly #options: MessageHandlerOptions;
  readonly #writer = new AnswerWriter();
  readonly #cursor = new RecordCursor();

  constructor(options: MessageHandlerOptions) {
    this.#options = options;
  }

  /** Handles one message; returns how many bytes of `out` (64 KiB) to send, 0 for none (yet). */
  handle(
    bytes: Uint8Array,
    length: number,
    isOverTcp: boolean,
    client: Client,
    out: Uint8Array,
  ): number {
    const { query } = this;
    const { answerer, notifies, counters, maxUdpBytes } = this.#options;
    if (isOverTcp) counters.tcpQueries++;
    else counters.udpQueries++;
    let verdict = query.read(bytes, length, isOverTcp, maxUdpBytes);
    if (verdict === 'answer') return this.#answer(answerer, client, out);
    if (verdict === 'notimp' && notifies !== undefined && isNotify(query)) {
      verdict = query.readBody();
      if (verdict === 'answer') return this.#answer(notifies, client, out);
    }
    if (verdict === 'drop') {
      counters.dropped++;
      return 0;
    }
    if (verdict === 'formerr') counters.formErrors++;
    else if (verdict === 'notimp') counters.notImplemented++;
    else counters.badVersions++;
    return this.#refuse(REFUSALS[verdict], verdict !== 'badvers', out);
  }

  /** Passes a message of DNS Stateful Operations on; false when it is none, or when they are not served. */
  handleSession(message: Uint8Array, session: Session): boolean {
    const { sessions, counters, onFailure } = this.#options;
    if (sessions === undefined || !isDso(message)) return false;
    try {
      sessions.receive(message, session);
    } catch (error) {
      counters.failures++;
      onFailure(error);
      session.close();
    }
    return true;
  }

  /** Truncates an answer to the client's size; counts it. */
  fit(message: Uint8Array, length: number, maxBytes: number): number {
    const { counters } = this.#options;
    counters.answers++;
    const fitted = fitMessage(message, length, maxBytes, this.#cursor);
    const flags = readUint16(message, 2);
    counters.rcodes[flags & RCODE_MASK]!++;
    if (fitted < length || (flags & FLAG.TC) !== 0) counters.truncated++;
    return fitted;
  }

  #answer(answerer: Answerer, client: Client, out: Uint8Array): number {
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
    return length === NO_ANSWER_YET ? 0 : this.fit(out, length, query.maxAnswerBytes);
  }

  /** The refusal of an unreadable message echoes the header alone, its opcode included. */
  #refuse(rcode: number, isHeaderOnly: boolean, out: Uint8Array): number {
    const { query } = this;
    if (!isHeaderOnly) {
      this.#writer.begin(query, out);
      this.#writer.setRcode(rcode);
      return this.#writer.finish();
    }
    out.fill(0, 0, HEADER_BYTES);
    writeUint16(out, 0, query.id);
    writeUint16(out, 2, FLAG.QR | (query.flags & (OPCODE_MASK | FLAG.RD)) | rcode);
    return HEADER_BYTES;
  }
}

function isNotify({ flags }: Query): boolean {
  return (flags & OPCODE_MASK) === OPCODE_NOTIFY;
}
