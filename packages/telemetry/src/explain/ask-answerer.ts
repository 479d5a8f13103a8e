import {
  type Answerer,
  type AnswerSource,
  type Client,
  NO_ANSWER_YET,
  randomId,
  type ReplyPath,
  type ServerAddress,
  SOURCE,
} from '@kube-dns/transport';
import { fitMessage, FLAG, MAX_MESSAGE_BYTES, readUint16, RecordCursor } from '@kube-dns/wire';
import { explainedAnswer, type TakenAnswer } from './explained-answer.js';
import { type ExplainedQuestion, queryFor } from './explained-question.js';
import type { ExplainedAnswer } from './explanation.js';

/** Every answerer has its own, shorter time-out. */
const LIMIT_MS = 15_000;

/**
 * Asks an answerer as a client with EDNS does: over UDP, and over TCP when that answer is truncated. The first
 * question is asked before the first turn of the event loop.
 */
export async function askAnswerer(
  answerer: Answerer,
  question: ExplainedQuestion,
): Promise<ExplainedAnswer> {
  const first = await ask(answerer, question, false);
  const isTruncated = first.message !== undefined && (readUint16(first.message, 2) & FLAG.TC) !== 0;
  if (!isTruncated) return explainedAnswer(first);
  const second = await ask(answerer, question, true);
  return explainedAnswer({ ...second, ms: first.ms + second.ms });
}

async function ask(
  answerer: Answerer,
  question: ExplainedQuestion,
  isOverTcp: boolean,
): Promise<TakenAnswer> {
  const query = queryFor(question, isOverTcp);
  const { maxAnswerBytes } = query;
  const startedMs = performance.now();
  const client = new AskingClient(question.client);
  const out = new Uint8Array(MAX_MESSAGE_BYTES);
  const length = answerer.answer(query, out, client);
  if (length !== NO_ANSWER_YET) client.send(out, length, client.source);
  else if (!client.isDeferred) client.abandon();
  const { message, source, server } = await client.answered;
  const ms = performance.now() - startedMs;
  if (message === undefined) return { message, source: SOURCE.NONE, server, ms };
  const fitted = fitMessage(message, message.length, maxAnswerBytes, new RecordCursor());
  return { message: message.subarray(0, fitted), source, server, ms };
}

/** The client of one question, and the path back to it. */
class AskingClient implements Client, ReplyPath {
  readonly address: string;
  /** Questions of one client and port with one ID are retransmissions. */
  readonly port = randomId() | 1;
  readonly answered: Promise<Omit<TakenAnswer, 'ms'>>;
  source: AnswerSource = SOURCE.LOCAL;
  isDeferred = false;
  #settle!: (answer: Omit<TakenAnswer, 'ms'>) => void;
  readonly #timer: NodeJS.Timeout;

  constructor(address: string) {
    this.address = address;
    this.answered = new Promise((resolve) => (this.#settle = resolve));
    this.#timer = setTimeout(() => this.abandon(), LIMIT_MS).unref();
  }

  answersFrom(source: AnswerSource): void {
    this.source = source;
  }

  defer(): ReplyPath {
    this.isDeferred = true;
    return this;
  }

  send(
    message: Uint8Array,
    length: number,
    source: AnswerSource = SOURCE.LOCAL,
    server?: ServerAddress,
  ): void {
    clearTimeout(this.#timer);
    this.#settle({ message: message.slice(0, length), source, server });
  }

  abandon(): void {
    clearTimeout(this.#timer);
    this.#settle({ message: undefined, source: SOURCE.NONE, server: undefined });
  }
}
