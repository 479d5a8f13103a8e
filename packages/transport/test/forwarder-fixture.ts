import { jest } from '@jest/globals';
import {
  decodeMessage,
  ednsOf,
  encodeQuery,
  type Message,
  type Question,
  type Script,
  ScriptedNameServer,
  until,
} from '@kube-dns/testkit';
import { type Query, readQuery } from '@kube-dns/wire';
import type { AnswerSource, Client, ReplyPath } from '../src/answerer.js';
import type { ExchangeErrorCode } from '../src/errors.js';
import type { ReplyInspector } from '../src/forward/contract.js';
import { QueryForwarder } from '../src/forward/forwarder.js';
import type { QueryForwarderOptions } from '../src/forward/contract.js';
import type { BadReplyReason } from '../src/forward/failure.js';
import { retryPlan } from '../src/forward/contract.js';
import type { ServerAddress } from '../src/server-address.js';
import type { ServerCounter } from '../src/forward/observers.js';
import type { GroupLoad } from '../src/forward/quota.js';
import { ServerGroup, type ServerOrder } from '../src/forward/servers.js';
import { type ServerSource, UpstreamServers } from '../src/forward/servers.js';
import { UpstreamSockets, type UpstreamSocketsOptions } from '../src/forward/sockets.js';
import { holdTimeouts } from './held-timers.js';

export const TIMEOUT_MS = 4_500;

/** A client of one query: what it is sent arrives as `answer`. */
export class WaitingClient implements Client {
  readonly address: string;
  readonly port: number;
  answer: Message | undefined;
  bytes = Buffer.alloc(0);
  /** Where its answer came from, and the server that replied. */
  source: AnswerSource | undefined;
  server: ServerAddress | undefined;
  /** Handles that were taken and neither used nor given back. */
  waiting = 0;

  constructor(port = 40_000, address = '192.0.2.1') {
    this.port = port;
    this.address = address;
  }

  /** The answer's rcode, or its texts; empty while there is none. */
  get result(): string {
    if (this.answer === undefined) return '';
    return this.answer.rcode === 'NOERROR' ? this.answer.texts.join() : this.answer.rcode;
  }

  /** The code of the answer's first Extended DNS Error; -1 without one. */
  get extendedError(): number {
    return this.#extendedError?.readUInt16BE(0) ?? -1;
  }

  /** The text of that error; empty without one. */
  get extendedErrorText(): string {
    return this.#extendedError?.toString('latin1', 2) ?? '';
  }

  get #extendedError(): Buffer | undefined {
    const [first] = ednsOf(this.bytes)?.options ?? [];
    const prefix = '15 ';
    return first?.startsWith(prefix) ? Buffer.from(first.slice(prefix.length), 'hex') : undefined;
  }

  /** Takes an answer that is there at once. */
  take(message: Uint8Array): void {
    this.bytes = Buffer.from(message);
    this.answer = decodeMessage(this.bytes);
  }

  answersFrom(source: AnswerSource): void {
    this.source = source;
  }

  defer(): ReplyPath {
    this.waiting++;
    return {
      address: this.address,
      port: this.port,
      send: (message, length, source, server) => {
        this.waiting--;
        this.source = source;
        this.server = server;
        this.take(message.subarray(0, length));
      },
      abandon: () => {
        this.waiting--;
      },
    };
  }
}

/** Writes down what it is notified of. */
export class RecordedCounter implements ServerCounter {
  queries = 0;
  retried = 0;
  readonly rcodes: number[] = [];
  readonly badReplies: BadReplyReason[] = [];
  readonly errors: ExchangeErrorCode[] = [];

  countQuery(isRetry: boolean): void {
    this.queries++;
    if (isRetry) this.retried++;
  }

  countReply(rcode: number): void {
    this.rcodes.push(rcode);
  }

  countBadReply(badReply: BadReplyReason): void {
    this.badReplies.push(badReply);
  }

  countError(code: ExchangeErrorCode): void {
    this.errors.push(code);
  }
}

export interface GroupSetup {
  readonly order?: ServerOrder;
  readonly domain?: string;
  readonly load?: GroupLoad;
  readonly source?: ServerSource;
}

/**
 * A forwarder with a clock that stands still, and scripted servers; those of a `DirectServers` have no sockets. Timeouts of
 * connections pass by `jest.advanceTimersByTime` alone until it is closed.
 */
export class ForwarderFixture {
  readonly fakes: ScriptedNameServer[] = [];
  readonly forwarder: QueryForwarder;
  readonly sockets: UpstreamSockets;
  /** The domains of the groups whose queries were refused for want of room. */
  readonly overflows: string[] = [];
  /** Of each change: whether the server is down. */
  readonly healthChanges: boolean[] = [];
  readonly #counters = new Map<string, RecordedCounter>();
  readonly servers: UpstreamServers;
  readonly #out = new Uint8Array(65_535);
  now = 1_000_000;

  constructor(
    options: Partial<QueryForwarderOptions> = {},
    usesCookies = false,
    engine?: UpstreamSocketsOptions['engine'],
  ) {
    holdTimeouts();
    this.sockets = new UpstreamSockets(engine && { engine, now: () => this.now });
    this.servers = new UpstreamServers(
      this.sockets,
      { of: (text) => this.#counterOf(text), retain: () => undefined },
      {
        now: () => this.now,
        usesCookies,
        onHealthChange: ({ health }) => void this.healthChanges.push(health.isDown),
      },
    );
    this.forwarder = new QueryForwarder({
      maxInFlight: 100,
      plan: retryPlan(TIMEOUT_MS),
      maxUdpBytes: 1232,
      onOverflow: ({ domain }) => this.overflows.push(domain),
      now: () => this.now,
      ...options,
    });
  }

  /** A group of scripted servers. */
  async groupOf(scripts: readonly Script[], setup: GroupSetup | ServerOrder = {}) {
    const own: ScriptedNameServer[] = [];
    for (const script of scripts) own.push(await ScriptedNameServer.start(script));
    this.fakes.push(...own);
    const addresses = own.map(({ port }) => ({ address: '127.0.0.1', port }));
    return { ...this.groupAt(addresses, setup), own };
  }

  /** A group of servers at these addresses. */
  groupAt(addresses: readonly ServerAddress[], setup: GroupSetup | ServerOrder = {}) {
    const {
      order = 'preferred',
      domain = '.',
      load,
      source,
    } = typeof setup === 'string' ? { order: setup } : setup;
    const all = addresses.map((address) => this.servers.at(address, source));
    const counts = all.map(({ text }) => this.#counterOf(text));
    return { group: new ServerGroup(domain, all, order, load), counts };
  }

  /** A server on a given port. */
  async serverAt(port: number, script: Script): Promise<void> {
    this.fakes.push(await ScriptedNameServer.start(script, { port }));
  }

  /** Sends a question for a client and gives the client, who may have the answer already. */
  ask(
    group: ServerGroup,
    question: Question | string,
    client = new WaitingClient(),
    inspector?: ReplyInspector,
  ): WaitingClient {
    const query = readQuery(
      encodeQuery(typeof question === 'string' ? { name: question } : question),
    );
    return this.pass(query, group, client, inspector);
  }

  /** Sends a query for a client. */
  pass(query: Query, group: ServerGroup, client = new WaitingClient(), inspector?: ReplyInspector) {
    const length = this.forwarder.forward(query, this.#out, client, group, inspector);
    if (length > 0) client.take(this.#out.subarray(0, length));
    return client;
  }

  /** Lets time go by at once. */
  wait(ms: number): void {
    this.now += ms;
    this.forwarder.tick();
  }

  /** How many questions each server has got, or of one name; waits until they are as many in all. */
  async asked(total: number, name?: string): Promise<number[]> {
    const counts = () => this.fakes.map((fake) => questionsAt(fake, name).length);
    await until(() => counts().reduce((sum, count) => sum + count, 0) >= total);
    return counts();
  }

  async close(): Promise<void> {
    this.forwarder.close();
    this.servers.close();
    this.sockets.close();
    await Promise.all(this.fakes.map((fake) => fake.close()));
    jest.useRealTimers();
  }

  #counterOf(text: string): RecordedCounter {
    const known = this.#counters.get(text) ?? new RecordedCounter();
    this.#counters.set(text, known);
    return known;
  }
}

/** The questions that a server has got, probes left out; all or those of one name. */
export const questionsAt = ({ requests }: ScriptedNameServer, name?: string) =>
  requests.filter(
    ({ question }) => question.type !== 'SOA' && (name === undefined || question.name === name),
  );

/** A query whose OPT record has one option, with a number in its data. */
export function queryWithOption(question: Question, code: number, number: number, bytes = 8) {
  const data = number
    .toString(16)
    .padStart(4, '0')
    .padEnd(2 * bytes, '0');
  return readQuery(encodeQuery({ ...question, options: [`${code} ${data}`] }));
}

/** Waits until every one of them has an answer. */
export const answered = (...clients: WaitingClient[]) =>
  until(() => clients.every(({ answer }) => answer !== undefined));
