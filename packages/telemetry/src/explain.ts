import { Trace } from '@kube-dns/base';
import type { LocalAnswer, LocalPage } from '@kube-dns/daemon';
import {
  type Answerer,
  type AnswerSource,
  type Client,
  EXCHANGED,
  type ExchangeEvent,
  type FailureReason,
  NO_ANSWER_YET,
  nowMs,
  randomId,
  type ReplyPath,
  type ServerAddress,
  serverText,
  SOURCE,
} from '@kube-dns/transport';
import {
  fitMessage,
  FLAG,
  MAX_MESSAGE_BYTES,
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

/** By its path the page `/explain?name=NAME&type=TYPE[&client=IP][&limit=MS]`: an explanation, or `{ error }` with status 400 or 429. */
export function explainPages(
  explain: (question: ExplainedQuestion) => Promise<Explanation>,
): ReadonlyMap<string, LocalPage> {
  let count = 0;
  const page: LocalPage = async (parameters) => {
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
  return new Map([['/explain', page]]);
}

function refusal(status: number, error: string): LocalAnswer {
  return { status, body: `${JSON.stringify({ error })}\n` };
}

/** A question that was asked: what was decided at once, then the answer. */
interface TracedQuestion {
  /** What is decided later is noted in it later. */
  readonly trace: Trace;
  readonly answered: Promise<ExplainedAnswer>;
}

/**
 * Asks an answerer as a client with EDNS does: over UDP, and over TCP when that answer is truncated. The first question
 * is asked before this returns, and its decisions are traced; of the second one only the servers that are asked.
 */
export function askTraced(answerer: Answerer, question: ExplainedQuestion): TracedQuestion {
  const trace = new Trace();
  return { trace, answered: askBoth(answerer, question, trace) };
}

async function askBoth(
  answerer: Answerer,
  question: ExplainedQuestion,
  trace: Trace,
): Promise<ExplainedAnswer> {
  const first = await ask(answerer, question, false, trace);
  const isTruncated = first.message !== undefined && (readUint16(first.message, 2) & FLAG.TC) !== 0;
  if (!isTruncated) return explainedAnswer(first);
  const later = new Trace();
  const second = await ask(answerer, question, true, later);
  for (const event of later.all(EXCHANGED)) trace.note(EXCHANGED, event);
  return explainedAnswer({ ...second, ms: first.ms + second.ms });
}

async function ask(
  answerer: Answerer,
  question: ExplainedQuestion,
  isOverTcp: boolean,
  trace: Trace,
): Promise<ReceivedAnswer> {
  const query = queryFor(question, isOverTcp);
  const { maxAnswerBytes } = query;
  const startedMs = performance.now();
  const client = new AskingClient(question);
  const out = new Uint8Array(MAX_MESSAGE_BYTES);
  query.trace = trace;
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

  constructor({ client, limitMs }: ExplainedQuestion) {
    this.address = client;
    this.answered = new Promise((resolve) => (this.#settle = resolve));
    this.#timer = setTimeout(() => this.abandon(), limitMs).unref();
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

/** What one server was asked, and what became of it. */
interface Exchange {
  /** When the first try was sent, and how often over UDP, and over TCP. */
  readonly sentMs: number;
  udpTimes: number;
  tcpTimes: number;
  /** A reply over UDP was truncated. */
  isCut: boolean;
  /** The last try has not ended. */
  isWaiting: boolean;
  outcome: string;
  /** From the first try until the end of the last one; undefined before one ends. */
  ms: number | undefined;
}

/** A step for each server that was asked, in order; `endMs`: the time now, on the forwarder's clock. */
export function exchangeSteps(trace: Trace, endMs = nowMs()): ExplainedStep[] {
  const exchanges = new Map<string, Exchange>();
  for (const event of trace.all(EXCHANGED)) {
    const server = serverText(event.server);
    const exchange = exchanges.get(server);
    if (exchange !== undefined) addEvent(exchange, event);
    else if (event.event === 'sent') {
      const created: Exchange = {
        sentMs: event.atMs,
        udpTimes: 0,
        tcpTimes: 0,
        isCut: false,
        isWaiting: true,
        outcome: 'it has not replied',
        ms: undefined,
      };
      addEvent(created, event);
      exchanges.set(server, created);
    }
  }
  return Array.from(exchanges, ([server, exchange]) => exchangeStep(server, exchange, endMs));
}

function addEvent(exchange: Exchange, event: ExchangeEvent): void {
  exchange.isWaiting = event.event === 'sent';
  if (event.event === 'sent') {
    if (event.isOverTcp) exchange.tcpTimes++;
    else exchange.udpTimes++;
    return;
  }
  exchange.ms = event.atMs - exchange.sentMs;
  if (event.event === 'failed') exchange.outcome = REASONS[event.reason];
  else {
    exchange.outcome = `it replied ${RCODE_NAMES[event.rcode] ?? `RCODE${event.rcode}`}`;
    exchange.isCut ||= event.isCut;
    if (timesOf(exchange) === 1) exchange.ms = event.ms;
  }
}

function exchangeStep(server: string, exchange: Exchange, endMs: number): ExplainedStep {
  const { sentMs, outcome, isWaiting } = exchange;
  const times = timesOf(exchange);
  const spentMs = isWaiting && exchange.ms !== undefined ? endMs - sentMs : exchange.ms;
  const ms = spentMs === undefined ? null : Math.round(spentMs * 10) / 10;
  const after = ms === null ? '' : ` after ${ms} ms${times === 1 ? '' : ' in all'}`;
  const text = `${server} was asked${howOften(exchange)}: ${outcome}${after}.`;
  const protocol = exchange.tcpTimes > 0 ? 'TCP' : 'UDP';
  return { step: 'server', text, server, times, protocol, outcome, ms };
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
