import {
  by,
  byKey,
  type Log,
  type MetricFamily,
  type MetricPrefix,
  QUERY_LOG_OFF,
  type QueryLogRules,
} from '@kube-dns/daemon';
import {
  type AddressedClient,
  type AnswerObserver,
  type AnswerSource,
  type ExchangeObserver,
  type FailureReason,
  nowMs,
  type RetainedQuery,
  type ServerAddress,
  SOURCE_NAMES,
} from '@kube-dns/transport';
import { CLASS, encodeName, Query, TYPE } from '@kube-dns/wire';
import { Dnstap, type DnstapOptions } from './dnstap.js';
import { ObservedAnswer, type QuerySink } from './observed-answer.js';
import { type BlockOutput, QueryLog, stdoutOutput } from './query-log.js';
import { TopQuestions } from './top-questions.js';

/** Those that wait are as many as questions in flight; more of them are not kept for the next queries. */
const MAX_FREE = 1_024;
const MAX_ADDRESS_BYTES = 16;

/** What the sidecar asks for as a probe, in any domain, without the root. */
const PROBED = encodeName('kubernetes.default.svc').subarray(0, -1);
const IPV4_LOOPBACK = 127;

export interface TelemetryOptions {
  /** Who asks most; with the same clock unless given. */
  readonly top?: TopQuestions;
  /** A monotonic clock in milliseconds; that of batches unless given. */
  readonly now?: () => number;
  /** Where the query log goes; stdout unless given. */
  readonly createOutput?: () => BlockOutput;
}

/**
 * What happens to the queries of a program, in one stream: its listeners say what was received and answered, its
 * forwarders what was sent to servers and what these replied. It counts answers by source, and passes all to its sinks;
 * without sinks an immediate answer costs an addition. What is decided in between is noted in the trace of a query.
 */
export class Telemetry implements AnswerObserver, Required<ExchangeObserver> {
  /** Answers by AnswerSource. */
  readonly bySource: number[] = SOURCE_NAMES.map(() => 0);
  /** Answers that took `slowMs` or longer. */
  slow = 0;
  /** From how many milliseconds on an answer counts as slow. */
  slowMs = QUERY_LOG_OFF.slowMs;
  readonly queryLog: QueryLog;
  #dnstap: Dnstap | undefined;
  readonly #now: () => number;
  readonly top: TopQuestions;
  #sinks: readonly QuerySink[] = [];
  /** Whether a sink gets answers. */
  #isWatched = false;
  /** The query of the listener that is being answered. */
  #query = new Query();
  #client!: AddressedClient;
  #startedMs = 0;
  /** For how many questions it counts in the lists; 0 for most. */
  #times = 0;
  /** Whether sinks get its answer: there are some, and it is not one of the sidecar. */
  #isPassed = false;
  readonly #address = new Uint8Array(MAX_ADDRESS_BYTES);
  readonly #answer = new ObservedAnswer();
  readonly #free: RetainedAnswer[] = [];

  constructor(options: TelemetryOptions = {}) {
    const { now = nowMs } = options;
    this.#now = now;
    this.top = options.top ?? new TopQuestions({ now });
    this.queryLog = new QueryLog({ createOutput: options.createOutput ?? stdoutOutput });
  }

  /** Writes the query log by these rules from now on. */
  useQueryLog(rules: QueryLogRules): void {
    this.slowMs = rules.slowMs;
    this.queryLog.use(rules);
    this.remove(this.queryLog);
    if (rules.format !== 'off') this.add(this.queryLog);
  }

  /** Sends dnstap messages from now on, where there is a target. */
  async openDnstap({ target, ...rest }: DnstapOptions): Promise<void> {
    if (target === null) return;
    this.#dnstap = await Dnstap.open(target, rest);
    this.add(this.#dnstap);
  }

  /** Messages of dnstap that readers got, as far as is known, and that they did not. */
  get dnstapMessages(): Readonly<Record<'written' | 'dropped', number>> {
    return this.#dnstap?.stream ?? { written: 0, dropped: 0 };
  }

  /** Resolves when what waits is written, or after a second; the log has how many lines of the query log are lost. */
  async close(log: Pick<Log, 'warn'>): Promise<void> {
    this.top.close();
    await Promise.all([this.queryLog.close(), this.#dnstap?.close()]);
    const { dropped, droppedAtEnd } = this.queryLog;
    if (dropped === 0) return;
    log.warn(`query log: ${dropped} lines dropped, ${droppedAtEnd} of them at the end`);
  }

  /** Passes events to a sink from now on, without the answers to queries that arrived before. */
  add(sink: QuerySink): void {
    this.#use([...this.#sinks, sink]);
  }

  /** Passes no more events to a sink. */
  remove(sink: QuerySink): void {
    this.#use(this.#sinks.filter((each) => each !== sink));
  }

  begin(query: Query, client: AddressedClient): void {
    const isOwn = isOfSidecar(query) && this.#isOnLoopback(client);
    if (isOwn) this.top.leaveOut();
    this.#times = isOwn ? 0 : this.top.take();
    this.#isPassed = this.#isWatched && !isOwn;
    if (!this.#isPassed && this.#times === 0) return;
    this.#query = query;
    this.#client = client;
    if (this.#isPassed) this.#startedMs = this.#now();
  }

  answered(message: Uint8Array, length: number, source: AnswerSource): void {
    this.bySource[source]!++;
    if (!this.#isPassed && this.#times === 0) return;
    const answer = this.#answer;
    const client = this.#client;
    answer.query = this.#query;
    answer.addressBytes = client.copyAddress(answer.address, 0);
    answer.message = message;
    answer.length = length;
    if (this.#times > 0) this.top.note(answer, this.#times);
    if (!this.#isPassed) return;
    answer.port = client.port;
    answer.startedMs = this.#startedMs;
    this.#pass(source, undefined);
  }

  retain(): RetainedQuery {
    const retained = this.#free.pop() ?? new RetainedAnswer(this);
    retained.isWatched = this.#isPassed;
    retained.times = this.#times;
    retained.startedMs = this.#isPassed ? this.#startedMs : this.#now();
    if (this.#isPassed || this.#times > 0) retained.copy(this.#query, this.#client);
    return retained;
  }

  sent(server: ServerAddress, query: Uint8Array, isOverTcp: boolean): void {
    for (const sink of this.#sinks) sink.sent?.(server, query, isOverTcp);
  }

  replied(
    server: ServerAddress,
    query: Uint8Array,
    reply: Uint8Array,
    isOverTcp: boolean,
    ms: number,
  ): void {
    for (const sink of this.#sinks) sink.replied?.(server, query, reply, isOverTcp, ms);
  }

  failed(server: ServerAddress, query: Buffer, reason: FailureReason): void {
    for (const sink of this.#sinks) sink.failed?.(server, query, reason);
  }

  /** For a retained query: its answer. */
  answeredLater(
    retained: RetainedAnswer,
    message: Uint8Array,
    length: number,
    source: AnswerSource,
    server: ServerAddress | undefined,
  ): void {
    this.bySource[source]!++;
    if (retained.isWatched || retained.times > 0) {
      retained.fill(this.#answer);
      this.#answer.message = message;
      this.#answer.length = length;
    }
    if (retained.times > 0) this.top.note(this.#answer, retained.times);
    if (this.#isWatched && retained.isWatched) this.#pass(source, server);
    else if (this.#now() - retained.startedMs >= this.slowMs) this.slow++;
    if (this.#free.length < MAX_FREE) this.#free.push(retained);
  }

  #pass(source: AnswerSource, server: ServerAddress | undefined): void {
    const answer = this.#answer;
    answer.endedMs = this.#now();
    if (answer.endedMs - answer.startedMs >= this.slowMs) this.slow++;
    answer.source = source;
    answer.server = server;
    for (const sink of this.#sinks) sink.answered?.(answer);
  }

  #isOnLoopback(client: AddressedClient): boolean {
    const address = this.#address;
    const bytes = client.copyAddress(address, 0);
    if (bytes === 4) return address[0] === IPV4_LOOPBACK;
    return address[MAX_ADDRESS_BYTES - 1] === 1 && address.findIndex((byte) => byte !== 0) === 15;
  }

  #use(sinks: readonly QuerySink[]): void {
    this.#sinks = sinks;
    this.#isWatched = sinks.some((sink) => sink.answered !== undefined);
  }
}

/**
 * Whether a question is one that the sidecar asks: the probe of its manifest, or for statistics. From loopback it is: pods have
 * addresses of their own.
 */
function isOfSidecar({ type, class: asked, name, nameLength }: Query): boolean {
  if (asked === CLASS.CH) return type === TYPE.TXT;
  if (type !== TYPE.SRV || nameLength <= PROBED.length) return false;
  for (let i = 0; i < PROBED.length; i++) if (name[i] !== PROBED[i]) return false;
  return true;
}

/** A query over UDP has a few options at most; only over TCP one may be longer, and its memory is not kept. */
const USUAL_QUERY_BYTES = 1_232;

/** A query that is answered later, and a copy of it while there are sinks. It is used again for another one. */
class RetainedAnswer implements RetainedQuery {
  startedMs = 0;
  /** Whether sinks get its answer, and for how many questions it counts in the lists; there is a copy for both. */
  isWatched = false;
  times = 0;
  readonly #telemetry: Telemetry;
  readonly #query = new Query();
  readonly #address = new Uint8Array(MAX_ADDRESS_BYTES);
  #addressBytes = 0;
  #port = 0;
  #bytes = new Uint8Array(0);

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
  }

  copy({ bytes, length, isOverTcp, maxUdpBytes }: Query, client: AddressedClient): void {
    if (this.#bytes.length < length) {
      this.#bytes = new Uint8Array(Math.max(USUAL_QUERY_BYTES, length));
    }
    for (let i = 0; i < length; i++) this.#bytes[i] = bytes[i]!;
    this.#query.read(this.#bytes, length, isOverTcp, maxUdpBytes);
    this.#addressBytes = client.copyAddress(this.#address, 0);
    this.#port = client.port;
  }

  /** Puts the query and its client into the record of an answer. */
  fill(answer: ObservedAnswer): void {
    answer.query = this.#query;
    for (let i = 0; i < this.#addressBytes; i++) answer.address[i] = this.#address[i]!;
    answer.addressBytes = this.#addressBytes;
    answer.port = this.#port;
    answer.startedMs = this.startedMs;
  }

  answered(
    message: Uint8Array,
    length: number,
    source: AnswerSource,
    server: ServerAddress | undefined,
  ): void {
    this.#telemetry.answeredLater(this, message, length, source, server);
    if (this.#bytes.length > USUAL_QUERY_BYTES) this.#bytes = new Uint8Array(0);
  }
}

/** What a Telemetry counts; every source is there from the start. */
export function telemetryFamilies(
  { counter }: MetricPrefix,
  telemetry: () => Telemetry,
): MetricFamily[] {
  return [
    counter(
      'answers_by_source_total',
      'Queries by where their answers came from; none: they got no answer.',
      by('source', () => SOURCE_NAMES.map((name, i) => [name, telemetry().bySource[i]!])),
    ),
    counter(
      'slow_answers_total',
      'Answers that took a second or longer, or as long as slow= of --query-log says.',
      () => telemetry().slow,
    ),
    counter(
      'query_log_lines_total',
      'Lines that the query log has written (--query-log).',
      () => telemetry().queryLog.written,
    ),
    counter(
      'query_log_dropped_lines_total',
      'Lines of the query log that were not written because stdout was read too slowly.',
      () => telemetry().queryLog.dropped,
    ),
    counter(
      'dnstap_messages_total',
      'Messages of dnstap (--dnstap) that its reader got, and that were dropped.',
      byKey('result', () => {
        const { written, dropped } = telemetry().dnstapMessages;
        return { written, dropped };
      }),
    ),
  ];
}
