import type { Trace } from '@kube-dns/base';
import {
  buildQuery,
  encodeKey,
  type Query,
  ROOT_NAME,
  TYPE,
  writeUint16,
  rcodeOf,
} from '@kube-dns/wire';
import { nowMs } from '../batch-clock.js';
import type { KeptConnections } from '../encrypted/pool.js';
import { TlsTrust } from '../encrypted/tls.js';
import { ExchangeError, type ExchangeErrorCode } from '../errors.js';
import { type Exchange, exchange, type ExchangeDone } from '../exchange.js';
import { randomId } from '../random-id.js';
import { isStreamed, type ServerAddress, serverKey, serverText } from '../server-address.js';
import { CaseEcho, EdnsSupport, UpstreamCookies } from './capabilities.js';
import { type Failure, NOT_SENT, notSentTo } from './failure.js';
import type { ExchangeObservers, ServerCounter, ServerCounters } from './observers.js';
import { domainHash, GroupLoad, ServerTcpSlots, Slot, type TcpWaiter } from './quota.js';
import { PROBE_PAUSE_MS, ServerHealth } from './server-health.js';
import type {
  ReplyHandler,
  SentQuery,
  ServerSockets,
  Unreachable,
  UpstreamTarget,
} from './server-sockets.js';
import type { UpstreamSockets } from './sockets.js';

/** A server that had no reply over TCP is not asked over TCP for so long where it need not be. */
const TCP_FAILURE_MS = 60_000;
/** How often servers that are down are looked after, and how many of them at a time: each probe needs a socket. */
const LOOK_MS = 250;
const MAX_LOOKS = 16;
/** dnsmasq src/config.h, FORWARD_TEST and FORWARD_TIME. */
const QUERIES_BETWEEN_PROBES = 50;
const MS_BETWEEN_PROBES = 20_000;
const NONE = -1;

/** All servers of the group must be asked. */
export const ALL_SERVERS = -1;

/** The source of queries to a server, where the system does not choose it. */
export interface ServerSource {
  readonly address?: string;
  /** Over UDP. */
  readonly port?: number;
}

/** A server that can be asked; one object per address, port and source, whatever its domains. */
export interface UpstreamServer extends ServerAddress {
  /** As `serverText` writes it: `ADDRESS#PORT` of one that is not encrypted. */
  readonly text: string;
  readonly source: ServerSource;
  readonly sockets: ServerSockets;
  /** Its connections over plain TCP. */
  readonly tcpSlots: ServerTcpSlots;
  /** The connections to it, where they are kept. */
  readonly encrypted?: KeptConnections;
  readonly counts: ServerCounter;
  /** Over UDP. */
  readonly health: ServerHealth;
  readonly tcpHealth: TcpHealth;
  readonly caseEcho: CaseEcho;
  readonly edns: EdnsSupport;
  /** The cookies that it is asked with, if any. */
  readonly cookies?: UpstreamCookies;
}

export interface UpstreamServersOptions {
  /** Called when a server goes down, and when it is up again. */
  readonly onHealthChange?: (server: UpstreamServer) => void;
  /** Servers that are asked over UDP are asked with cookies (RFC 7873); not by default. */
  readonly usesCookies?: boolean;
  /** Milliseconds that never fall, as the forwarder's; the clock of the process by default. */
  readonly now?: () => number;
  /** The authorities of encrypted servers, as PEM text; the system's by default. A text without a certificate is an error. */
  readonly tlsCa?: string | undefined;
  /** Called when no connection to a server that is asked over kept ones can be opened, for each new reason. */
  readonly onTlsFailure?: (server: UpstreamServer, why: Unreachable) => void;
}

/** The servers of all domains, with their sockets and counts; both outlive a change of configuration. */
export class UpstreamServers {
  /** Replies over UDP that were not accepted because our cookie was missing. */
  rejectedReplies = 0;
  /** Ports at which a reply had an ID that no question there has, or had. */
  get guessedPorts(): number {
    return this.sockets.guessedPorts;
  }
  /** The sockets that all of them share. */
  readonly sockets: UpstreamSockets;
  readonly #counters: ServerCounters;
  readonly #options: UpstreamServersOptions;
  readonly #now: () => number;
  readonly #trust: TlsTrust;
  #servers = new Map<string, UpstreamServer>();
  /** Those that are down, the one that was probed last at the end. */
  readonly #down = new Set<UpstreamServer>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    sockets: UpstreamSockets,
    counters: ServerCounters,
    options: UpstreamServersOptions = {},
  ) {
    this.sockets = sockets;
    this.#counters = counters;
    this.#options = options;
    this.#now = options.now ?? nowMs;
    this.#trust = new TlsTrust(options.tlsCa);
  }

  /** The authorities of encrypted servers; undefined for the system's. */
  get tlsCa(): string | undefined {
    return this.#options.tlsCa;
  }

  /** The server at an address. */
  at(address: ServerAddress, source: ServerSource = {}): UpstreamServer {
    const text = serverText(address);
    const key = `${serverKey(address)} ${source.address} ${source.port}`;
    const existing = this.#servers.get(key);
    if (existing !== undefined) return existing;
    const target: UpstreamTarget = {
      server: address,
      ...(source.address !== undefined && { sourceAddress: source.address }),
      ...(source.port !== undefined && { sourcePort: source.port }),
    };
    const onFailure = (why: Unreachable) => this.#options.onTlsFailure?.(server, why);
    if (address.encryption !== undefined) this.#trust.load();
    const encrypted = isStreamed(address)
      ? this.sockets.encrypted.connectionsTo(target, this.#trust, onFailure)
      : undefined;
    const sockets = encrypted ?? this.sockets.socketsFor(target);
    const onChange = () => this.#noteHealth(server);
    const server: UpstreamServer = {
      ...address,
      ...(encrypted !== undefined && { encrypted }),
      ...(this.#options.usesCookies === true &&
        encrypted === undefined && { cookies: new UpstreamCookies(() => this.rejectedReplies++) }),
      text,
      source,
      sockets,
      tcpSlots: new ServerTcpSlots(this.sockets.tcp),
      health: new ServerHealth(address, sockets, this.#now, onChange),
      tcpHealth: new TcpHealth(this.#now),
      counts: this.#counters.of(text),
      caseEcho: new CaseEcho(),
      edns: new EdnsSupport(),
    };
    this.#servers.set(key, server);
    return server;
  }

  /** Those that are in use now. */
  get all(): Iterable<UpstreamServer> {
    return this.#servers.values();
  }

  /** Forgets every server but these, in the order of their metrics. */
  retain(servers: Iterable<UpstreamServer>): void {
    const retained = new Set(servers);
    this.#counters.retain(new Set([...retained].map(({ text }) => text)));
    for (const [key, server] of this.#servers) {
      if (retained.has(server)) continue;
      this.#down.delete(server);
      server.health.close();
      server.tcpHealth.close();
      server.sockets.close();
      this.#servers.delete(key);
    }
  }

  /** Probes servers that are down, so that they are up before a client asks; called by a timer. */
  probeDown(): void {
    const nowMs = this.#now();
    for (const server of [...this.#down].slice(0, MAX_LOOKS)) {
      server.health.probe(nowMs);
      this.#down.delete(server);
      this.#down.add(server);
    }
    if (this.#down.size === 0) this.close();
  }

  /** A server has said something, over another connection than those of questions. */
  noteAlive({ address, port }: ServerAddress): void {
    for (const server of [...this.#down]) {
      const isAt = server.port === port && server.address === address;
      if (isAt && server.encryption === undefined) server.health.noteReply(this.#now());
    }
  }

  /** Probes no server any more. May be called twice. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #noteHealth(server: UpstreamServer): void {
    server.tcpHealth.isUp = false;
    if (server.health.isDown) {
      this.#down.add(server);
      this.#timer ??= setInterval(() => this.probeDown(), LOOK_MS).unref();
    } else this.#down.delete(server);
    this.#options.onHealthChange?.(server);
  }
}

/** How a group chooses among its servers (`--strict-order`, `--all-servers`). */
export type ServerOrder = 'preferred' | 'strict' | 'all';

/**
 * The servers of one domain. One of them is preferred; now and then a query goes to all, to
 * find one that is faster or works again (dnsmasq src/forward.c, forward_query).
 */
export class ServerGroup {
  /** What it is shown as: a domain, or several with blanks between them; `.` for the default servers. */
  readonly domain: string;
  /** A server that is down is asked for the SOA of this name (in wire form): that of the first domain, or the root. */
  readonly probeName: Uint8Array;
  /** It is for names of one label: a name below one of these takes another way. */
  readonly isUnqualified: boolean;
  readonly servers: readonly UpstreamServer[];
  readonly order: ServerOrder;
  readonly load: GroupLoad;
  /** Each of its servers is asked over connections that are kept. */
  readonly isStreamed: boolean;
  readonly #domainHash: number | undefined;
  #notSent: Failure | undefined;
  #preferred = NONE;
  #queriesSinceProbe = 0;
  #probedAtMs = Number.NEGATIVE_INFINITY;

  /** `load` is given for groups that share one limit. */
  constructor(
    domain: string,
    servers: readonly UpstreamServer[],
    order: ServerOrder,
    load = new GroupLoad(),
  ) {
    this.domain = domain;
    this.isUnqualified = domain === '';
    this.probeName = nameOrRoot(domain.split(' ')[0]!);
    this.servers = servers;
    this.order = order;
    this.load = load;
    this.isStreamed = servers.every(isStreamed);
    const { probeName, isUnqualified } = this;
    if (probeName.length > 1 || isUnqualified) {
      this.#domainHash = domainHash(probeName, probeName.length, true);
    }
  }

  /** The hash of the domain that a question counts for: that of the group, or for all names the last two labels. */
  domainOf({ name, nameLength }: Query): number {
    return this.#domainHash ?? domainHash(name, nameLength, false);
  }

  /** The server that a new question goes to, by its index in `servers`, or ALL_SERVERS. */
  choose(nowMs: number): number {
    if (this.order === 'strict' || this.servers.length === 1) return this.#firstUp();
    if (this.order === 'all') return ALL_SERVERS;
    const isOften = this.#queriesSinceProbe++ > QUERIES_BETWEEN_PROBES;
    const isLong = nowMs - this.#probedAtMs > MS_BETWEEN_PROBES;
    const hasPreferred = this.#preferred !== NONE && !this.servers[this.#preferred]!.health.isDown;
    if (hasPreferred && !isOften && !isLong) return this.#preferred;
    this.#queriesSinceProbe = 0;
    this.#probedAtMs = nowMs;
    return ALL_SERVERS;
  }

  /** Why no server can be asked over UDP now: all of them are down. Undefined while one is up. */
  get failure(): Failure | undefined {
    let failure: Failure | undefined;
    for (const { health } of this.servers) {
      if (health.failure === undefined) return undefined;
      failure ??= health.failure;
    }
    return failure;
  }

  /** That a question cannot be sent to them now: it names the first. */
  get notSent(): Failure {
    const [first] = this.servers;
    return first === undefined ? NOT_SENT : (this.#notSent ??= notSentTo(first));
  }

  /** When one of its servers replied last, to a question or a probe. */
  get repliedAtMs(): number {
    let repliedAtMs = Number.NEGATIVE_INFINITY;
    for (const { health } of this.servers) {
      repliedAtMs = Math.max(repliedAtMs, health.repliedAtMs);
    }
    return repliedAtMs;
  }

  /** A reply that takes longer is late for the slowest of the servers that ever replied; Infinity when none did. */
  get replyLimitMs(): number {
    let limitMs = Number.NEGATIVE_INFINITY;
    for (const { health } of this.servers) {
      if (health.replyTime.isKnown) limitMs = Math.max(limitMs, health.replyTime.limitMs);
    }
    return limitMs < 0 ? Number.POSITIVE_INFINITY : limitMs;
  }

  /** Finds out whether any server replies: each gets a probe, one a second at most. */
  look(nowMs: number): void {
    for (const { health } of this.servers) health.probe(nowMs);
  }

  /** Whether no server can be asked now; over TCP those can that reply over TCP alone. */
  isDown(isOverTcp: boolean): boolean {
    for (const { health, tcpHealth } of this.servers) {
      if (!health.isDown || (isOverTcp && tcpHealth.isUp)) return false;
    }
    return true;
  }

  /** Probes the servers that are down, where that is due; false when it is not. */
  probe(nowMs: number, isOverTcp: boolean): boolean {
    let isSent = false;
    for (const server of this.servers) {
      const { health, tcpHealth } = server;
      if (!health.isDown) continue;
      isSent = health.probe(nowMs) || isSent;
      if (!isOverTcp || tcpHealth.isUp) continue;
      isSent = tcpHealth.probe(server, this.probeName, nowMs) || isSent;
    }
    return isSent;
  }

  /** All servers that can be asked over TCP, the preferred one first. */
  inOrder(): readonly UpstreamServer[] {
    const up = this.servers.filter(({ health, tcpHealth }) => !health.isDown || tcpHealth.isUp);
    const preferred = this.servers[this.#preferred];
    if (this.order === 'strict' || preferred === undefined || preferred.health.isDown) return up;
    return [preferred, ...up.filter((server) => server !== preferred)];
  }

  #firstUp(): number {
    for (let i = 0; i < this.servers.length; i++) {
      if (!this.servers[i]!.health.isDown) return i;
    }
    return 0;
  }

  /** The server that new questions go to; undefined while they go to all. */
  get preferred(): UpstreamServer | undefined {
    if (this.order === 'all') return undefined;
    return this.order === 'strict' ? this.servers[this.#firstUp()] : this.servers[this.#preferred];
  }

  /** A server had the first usable answer to a question. */
  prefer(index: number): void {
    this.#preferred = index;
  }

  /** A server refused, failed or stayed silent: the next question goes to all. */
  avoid(index: number): void {
    if (this.#preferred === index) this.#preferred = NONE;
  }
}

/** Any reply will do: what is shown need not be a name, as of the servers for names of one label. */
function nameOrRoot(text: string): Uint8Array {
  try {
    return encodeKey(text);
  } catch {
    return ROOT_NAME;
  }
}

/**
 * Whether a server replies over TCP, for questions that come over TCP while it is down over UDP: only then it is
 * probed.
 */
export class TcpHealth implements TcpRoundHandler {
  readonly client = '';
  readonly domain = 0;
  /** The last query over TCP had a reply. */
  isUp = false;
  /** When a query over TCP had no reply last. */
  failedAtMs = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;
  #probedAtMs = Number.NEGATIVE_INFINITY;
  #probe: TcpRound | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether a query over TCP had no reply in the last minute. */
  hasFailedSince(nowMs: number): boolean {
    return nowMs - this.failedAtMs < TCP_FAILURE_MS;
  }

  /** Probes the server when that is due; false when it is not. */
  probe(server: UpstreamServer, name: Uint8Array, nowMs: number): boolean {
    if (nowMs - this.#probedAtMs < PROBE_PAUSE_MS) return false;
    this.close();
    this.#probedAtMs = nowMs;
    const query = Buffer.from(buildQuery(name, TYPE.SOA));
    this.#probe = new TcpRound(this, query, [server], nowMs + PROBE_PAUSE_MS, 0);
    this.#probe.askNext();
    return true;
  }

  now(): number {
    return this.#now();
  }

  onTcpReply(): void {
    // The round has noted it.
  }

  onTcpError(): void {
    // As a reply.
  }

  onTcpEnd(): void {
    // No client waits for more.
  }

  /** Waits for no reply to a probe any more. */
  close(): void {
    this.#probe?.cancel();
    this.#probe = undefined;
  }
}

/** Is notified by a TcpRound. */
export interface TcpRoundHandler {
  /** For whom it is asked, and the hash of its domain. */
  readonly client: string;
  readonly domain: number;
  /** Undefined for questions that no client has asked. */
  readonly exchanges?: ExchangeObservers;
  /** Of the queries that are explained. */
  readonly traces?: readonly Trace[] | undefined;
  now(): number;
  /** A server replied, which is counted. The round continues only with `askNext`. */
  onTcpReply(server: UpstreamServer, reply: Buffer): void;
  /** A server did not reply. */
  onTcpError(server: UpstreamServer, code: ExchangeErrorCode): void;
  /** No server is left to ask. */
  onTcpEnd(): void;
}

/**
 * One question over TCP to servers in turn, a new connection each, for which it may have to wait; the handler calls
 * for the next. An encrypted server is asked over its own connections, never over plain TCP.
 */
export class TcpRound implements TcpWaiter {
  readonly slot = new Slot(this);
  readonly #handler: TcpRoundHandler;
  readonly #query: Buffer;
  /** The one that is asked, and those that come after it. */
  #server: UpstreamServer | undefined;
  readonly #next: UpstreamServer[];
  readonly #deadlineMs: number;
  readonly #reserved: number;
  #hasSlot = false;
  #exchange: Exchange | undefined;

  /**
   * The question gets random IDs. Each server has an equal part of the time until the deadline; `reserved`
   * more parts remain for servers that are asked afterwards.
   */
  constructor(
    handler: TcpRoundHandler,
    query: Buffer,
    servers: readonly UpstreamServer[],
    deadlineMs: number,
    reserved: number,
  ) {
    this.#handler = handler;
    this.#query = query;
    this.#next = [...servers];
    this.#deadlineMs = deadlineMs;
    this.#reserved = reserved;
  }

  /** Asks the next server. */
  askNext(): void {
    this.#server = this.#next.shift();
    if (this.#server === undefined) this.#handler.onTcpEnd();
    else this.#ask(this.#server);
  }

  /** Asks one more, after the others, unless it is one of them. */
  add(server: UpstreamServer): void {
    if (server !== this.#server && !this.#next.includes(server)) this.#next.push(server);
  }

  get client(): string {
    return this.#handler.client;
  }

  get domain(): number {
    return this.#handler.domain;
  }

  /** The question waits for another connection. */
  evict(): void {
    this.#exchange?.cancel();
    this.#hasSlot = false;
    this.#server!.tcpSlots.yield(this);
  }

  onSlot(): void {
    this.#hasSlot = true;
    const server = this.#server!;
    const startedAtMs = this.#handler.now();
    const remainingMs = this.#deadlineMs - startedAtMs;
    if (remainingMs <= 0) {
      this.cancel();
      this.#handler.onTcpEnd();
      return;
    }
    const fitted = fittedTo(server, this.#query, startedAtMs);
    const query = server.cookies?.add(fitted) ?? fitted;
    writeUint16(query, 0, randomId());
    const timeoutMs = Math.ceil(remainingMs / (1 + this.#next.length + this.#reserved));
    const { exchanges, traces } = this.#handler;
    exchanges?.sent(server, query, true, traces);
    this.#exchange = askOnce(server, query, timeoutMs, (error, reply) => {
      this.#releaseSlot();
      const { counts } = server;
      server.tcpHealth.isUp = reply !== null;
      if (reply === null) server.tcpHealth.failedAtMs = this.#handler.now();
      counts.countQuery(false);
      if (reply === null) {
        this.#handler.onTcpError(server, error!.code);
        this.askNext();
        return;
      }
      const nowMs = this.#handler.now();
      counts.countReply(rcodeOf(reply), nowMs - startedAtMs);
      exchanges?.replied(server, query, reply, true, nowMs - startedAtMs, traces);
      if (query !== fitted) server.cookies?.noteTcpReply(reply);
      if (server.edns.isRefused(query, reply)) {
        server.edns.noteUnknown(nowMs);
        this.#ask(server);
      } else this.#handler.onTcpReply(server, reply);
    });
  }

  /** Ends it without a call. */
  cancel(): void {
    this.#exchange?.cancel();
    this.#server?.tcpSlots.leave(this);
    this.#releaseSlot();
  }

  #ask(server: UpstreamServer): void {
    if (server.tcpSlots.acquire(this)) this.onSlot();
  }

  #releaseSlot(): void {
    if (!this.#hasSlot) return;
    this.#hasSlot = false;
    this.#server!.tcpSlots.release(this);
  }
}

/** A question as this server takes it, with or without EDNS: one that has cookies knows it. */
export function fittedTo({ cookies, edns }: UpstreamServer, question: Buffer, nowMs: number) {
  return cookies?.isKnown === true ? question : edns.fit(question, nowMs);
}

/** Over a new connection, or those of an encrypted server. */
function askOnce(
  server: UpstreamServer,
  query: Buffer,
  timeoutMs: number,
  done: ExchangeDone,
): Exchange {
  if (isStreamed(server)) return new StreamedExchange(server, query, timeoutMs, done);
  const { address: sourceAddress } = server.source;
  return exchange({ query, server, protocol: 'tcp', sourceAddress, timeoutMs }, done);
}

/** Asks a server once over its own connections, as `exchange` asks a plain one. */
class StreamedExchange implements ReplyHandler, Exchange {
  readonly #server: UpstreamServer;
  readonly #done: ExchangeDone;
  readonly #timer: NodeJS.Timeout;
  readonly #sent: SentQuery | undefined;
  #isOver = false;

  constructor(server: UpstreamServer, query: Buffer, timeoutMs: number, done: ExchangeDone) {
    this.#server = server;
    this.#done = done;
    this.#timer = setTimeout(() => this.#fail('timeout', 'no reply in time'), timeoutMs);
    this.#sent = server.sockets.send(query, this);
    if (this.#sent === undefined) {
      setImmediate(() => this.#fail('unreachable', 'too many queries wait'));
    }
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#sent?.socket.forget(this.#sent);
    this.#isOver = true;
  }

  onReply(_sent: SentQuery, reply: Buffer): void {
    if (this.#isOver) return;
    this.cancel();
    this.#done(null, reply);
  }

  onUnreachable(_sent: SentQuery, why?: Unreachable): void {
    this.#fail(why?.code ?? 'unreachable', why?.text ?? 'unreachable');
  }

  #fail(code: ExchangeErrorCode, reason: string): void {
    if (this.#isOver) return;
    this.cancel();
    this.#done(new ExchangeError(code, `${this.#server.text}: ${reason}`), null);
  }
}
