import type { LocalAnswer, LocalPage } from '@kube-dns/daemon';
import {
  type Answerer,
  type AnswerSource,
  type Client,
  type ExchangeObserver,
  type ExchangeObservers,
  type FailureReason,
  NO_ANSWER_YET,
  randomId,
  type ReplyPath,
  type ServerAddress,
  serverText,
  SOURCE,
} from '@kube-dns/transport';
import {
  decodeName,
  expandKey,
  fitMessage,
  FLAG,
  HEADER_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_NAME_BYTES,
  RCODE_MASK,
  RCODE_NAMES,
  readUint16,
  RecordCursor,
} from '@kube-dns/wire';
import {
  type ExplainedAnswer,
  explainedAnswer,
  type ExplainedQuestion,
  type ExplainedStep,
  type Explanation,
  queryFor,
  readQuestion,
  type ReceivedAnswer,
} from './explanation.js';

/** Explanations that are made at the same time. */
const MAX_AT_A_TIME = 8;

/** The page `/explain?name=NAME&type=TYPE[&client=IP]`: an explanation, or `{ error }` with status 400 or 429. */
export function explainPage(
  explain: (question: ExplainedQuestion) => Promise<Explanation>,
): LocalPage {
  let count = 0;
  return async (parameters) => {
    const question = readQuestion(parameters);
    if (typeof question === 'string') return refusal(400, question);
    if (count >= MAX_AT_A_TIME) return refusal(429, 'too many explanations at a time');
    count++;
    try {
      return { status: 200, body: `${JSON.stringify(await explain(question))}\n` };
    } finally {
      count--;
    }
  };
}

function refusal(status: number, error: string): LocalAnswer {
  return { status, body: `${JSON.stringify({ error })}\n` };
}

/** An answer, and a step for each server that was asked for it. */
interface RecordedAnswer {
  readonly verdict: ExplainedAnswer;
  readonly asked: readonly ExplainedStep[];
}

interface RecordOptions {
  /** Those of the forwarder; without it no server is asked. */
  readonly exchanges: Pick<ExchangeObservers, 'add' | 'remove'> | undefined;
  /** Lower-cased, in wire form; that of the question unless given. */
  readonly names?: readonly Uint8Array[];
  /** The clock of the forwarder. */
  readonly now?: () => number;
}

/** Asks an answerer as `askAnswerer` does, and records meanwhile which servers are asked for some names. */
export async function askRecorded(
  answerer: Answerer,
  question: ExplainedQuestion,
  { exchanges, names = [question.key], now }: RecordOptions,
): Promise<RecordedAnswer> {
  const record = new ExchangeRecord(names, now);
  exchanges?.add(record);
  try {
    const verdict = await askAnswerer(answerer, question);
    return { verdict, asked: record.steps() };
  } finally {
    exchanges?.remove(record);
  }
}

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
): Promise<ReceivedAnswer> {
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
  readonly answered: Promise<Omit<ReceivedAnswer, 'ms'>>;
  source: AnswerSource = SOURCE.LOCAL;
  isDeferred = false;
  #settle!: (answer: Omit<ReceivedAnswer, 'ms'>) => void;
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

/** What one server was asked, and what became of it. */
interface Exchange {
  readonly server: string;
  /** Of the first try. */
  readonly sentMs: number;
  /** How often over UDP, and over TCP. */
  udpTimes: number;
  tcpTimes: number;
  /** A reply over UDP was truncated. */
  isCut: boolean;
  /** The last try has not ended. */
  isWaiting: boolean;
  outcome: string;
  /** From the first try until the end of the last one; -1 before one ends. */
  ms: number;
}

const REASONS: Readonly<Record<FailureReason, string>> = {
  timeout: 'it did not reply in time',
  unreachable: 'it cannot be reached: its port is closed, or there is no route to it',
  refused: 'nothing listens there: the port is closed',
  closed: 'it closed the connection',
  certificate: 'its certificate is not valid for its name',
  handshake: 'no TLS handshake came about',
  servfail: 'it replied SERVFAIL',
  refusal: 'it replied REFUSED',
  lame: 'it replied with a referral to other servers and does not ask these itself',
  malformed: 'its reply is malformed',
};

/** Records which servers are asked for some names while these are explained. */
export class ExchangeRecord implements ExchangeObserver {
  readonly #names: Set<string>;
  readonly #exchanges = new Map<string, Exchange>();
  readonly #now: () => number;

  /** The names are lower-cased, in wire form. */
  constructor(names: readonly Uint8Array[], now: () => number = () => performance.now()) {
    this.#names = new Set(names.map((name) => decodeName(name)));
    this.#now = now;
  }

  sent(server: ServerAddress, query: Uint8Array, isOverTcp: boolean): void {
    if (!this.#isAbout(query)) return;
    const text = serverText(server);
    let exchange = this.#exchanges.get(text);
    if (exchange === undefined) {
      const outcome = 'it has not replied';
      exchange = {
        server: text,
        sentMs: this.#now(),
        udpTimes: 0,
        tcpTimes: 0,
        isCut: false,
        isWaiting: true,
        outcome,
        ms: -1,
      };
      this.#exchanges.set(text, exchange);
    }
    exchange.isWaiting = true;
    if (isOverTcp) exchange.tcpTimes++;
    else exchange.udpTimes++;
  }

  replied(
    server: ServerAddress,
    query: Uint8Array,
    reply: Uint8Array,
    isOverTcp: boolean,
    ms: number,
  ): void {
    const exchange = this.#exchanges.get(serverText(server));
    if (exchange === undefined || !this.#isAbout(query)) return;
    const flags = readUint16(reply, 2);
    const rcode = flags & RCODE_MASK;
    if (!isOverTcp && (flags & FLAG.TC) !== 0) exchange.isCut = true;
    exchange.outcome = `it replied ${RCODE_NAMES[rcode] ?? `RCODE${rcode}`}`;
    exchange.isWaiting = false;
    exchange.ms = timesOf(exchange) === 1 ? ms : this.#now() - exchange.sentMs;
  }

  failed(server: ServerAddress, query: Uint8Array, reason: FailureReason): void {
    const exchange = this.#exchanges.get(serverText(server));
    if (exchange === undefined || !this.#isAbout(query)) return;
    exchange.outcome = REASONS[reason];
    exchange.isWaiting = false;
    exchange.ms = this.#now() - exchange.sentMs;
  }

  /** A step for each server that was asked, in order. */
  steps(): ExplainedStep[] {
    return [...this.#exchanges.values()].map((exchange) => {
      const { server, sentMs, outcome, isWaiting } = exchange;
      const times = timesOf(exchange);
      const spentMs = isWaiting && exchange.ms >= 0 ? this.#now() - sentMs : exchange.ms;
      const ms = spentMs < 0 ? null : Math.round(spentMs * 10) / 10;
      const inAll = times === 1 ? '' : ' in all';
      const after = ms === null ? '' : ` after ${ms} ms${inAll}`;
      const text = `${server} was asked${howOften(exchange)}: ${outcome}${after}.`;
      const protocol = exchange.tcpTimes > 0 ? 'TCP' : 'UDP';
      return { step: 'server', text, server, times, protocol, outcome, ms };
    });
  }

  #isAbout(query: Uint8Array): boolean {
    const name = new Uint8Array(MAX_NAME_BYTES);
    const length = expandKey(query, HEADER_BYTES, query.length, name);
    return length > 0 && this.#names.has(decodeName(name));
  }
}

function timesOf({ udpTimes, tcpTimes }: Exchange): number {
  return udpTimes + tcpTimes;
}

/** Such as ` over UDP, where its reply was cut (TC), then over TCP`. */
function howOften({ udpTimes, tcpTimes, isCut }: Exchange): string {
  const over = (times: number, protocol: string) =>
    `${times === 1 ? '' : ` ${times} times`} over ${protocol}`;
  if (udpTimes === 0) return over(tcpTimes, 'TCP');
  const cut = isCut ? ', where its reply was cut (TC)' : '';
  const then = tcpTimes === 0 ? '' : `, then${over(tcpTimes, 'TCP')}`;
  return `${over(udpTimes, 'UDP')}${cut}${then}`;
}
