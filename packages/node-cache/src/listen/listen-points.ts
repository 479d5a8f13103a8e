import { isIPv6 } from 'node:net';
import { errorText } from '@kube-dns/base';
import { failStartup, type Log } from '@kube-dns/daemon';
import type { LoopDetector } from '@kube-dns/resolver';
import {
  type Answerer,
  type AnswerObserver,
  type AnswerSource,
  type Client,
  listen,
  type Listener,
  ListenError,
  type ReplyPath,
  type ServerAddress,
  ServerCookies,
  SOURCE,
  type UdpEngine,
} from '@kube-dns/transport';
import {
  AnswerWriter,
  EVERY_ADDRESS,
  EXTENDED_ERROR,
  extendedErrorOption,
  type Query,
  RCODE,
  RCODE_MASK,
  readUint16,
} from '@kube-dns/wire';
import { type QueryWords, QueryLines } from '../answer/logs.js';
import { Lookups, type ZoneLookup } from '../answer/lookups.js';
import type { ServedBlock } from '../answer/served-block.js';
import { ZoneCounters, ZoneSet } from '../answer/zones.js';
import type { SelfProbe } from './self-probe.js';

/** CoreDNS's exit code when it cannot listen. */
const EXIT_CANNOT_LISTEN = 1;
const MAX_TCP_CONNECTIONS = 1_000;

interface ListenPointsOptions {
  readonly engine: UdpEngine;
  readonly reusesPort: boolean;
  /** Of TCP connections; 0 is no limit. */
  readonly maxTcpAgeMs: number;
  readonly own: OwnQuestions;
  /** Sees the queries and their answers, but those of `own`. */
  readonly observer?: AnswerObserver | undefined;
  readonly log: Log;
}

/** An address and port that is listened on, with the zones that are served there. */
export interface ListenPoint {
  /** As a label of metrics: `dns://169.254.20.10:53`. */
  readonly label: string;
  readonly address: string;
  readonly port: number;
  readonly answerer: ZoneAnswerer;
  readonly listener: Listener;
  /** Those that are served now. */
  zones: readonly ServedZone[];
}

/** Where the blocks listen; a new Corefile opens and closes only what it changes. */
export class ListenPoints {
  readonly #options: ListenPointsOptions;
  readonly #cookies = new ServerCookies({});
  readonly #points = new Map<string, ListenPoint>();

  constructor(options: ListenPointsOptions) {
    this.#options = options;
  }

  get all(): readonly ListenPoint[] {
    return [...this.#points.values()];
  }

  /** Where this process listens: it must not forward to itself. */
  get addresses(): readonly ServerAddress[] {
    return this.all.map(({ address, port }) => ({ address, port }));
  }

  /**
   * Opens what these blocks need and is not open. Rejects with a StartupError for an address that cannot be listened
   * on; what was open stays so, and serves what it did.
   */
  async open(blocks: readonly ServedBlock['block'][]): Promise<void> {
    const opened: ListenPoint[] = [];
    try {
      for (const { address, port, key } of blocks.flatMap(bindingsOf)) {
        if (this.#points.has(key)) continue;
        const point = await this.#open(address, port);
        opened.push(point);
        this.#points.set(key, point);
      }
    } catch (error) {
      for (const point of opened) {
        this.#points.delete(keyOf(point.address, point.port));
        await point.listener.close();
      }
      failStartup(error, ListenError, EXIT_CANNOT_LISTEN);
    }
  }

  /** Serves the zones of these blocks, all of which are open, and closes what they do not need. */
  async serve(blocks: readonly ServedBlock[]): Promise<void> {
    const needed = new Map<string, ServedZone[]>();
    for (const served of blocks) {
      for (const { key, zone } of bindingsOf(served.block)) {
        const zones = needed.get(key) ?? [];
        needed.set(key, zones);
        zones.push(this.#servedZone(this.#points.get(key)!, served, zone));
      }
    }
    const unused: ListenPoint[] = [];
    for (const [key, point] of this.#points) {
      const zones = needed.get(key);
      point.zones = zones ?? [];
      if (zones !== undefined) point.answerer.serve(zones);
      else {
        this.#points.delete(key);
        unused.push(point);
      }
    }
    for (const { listener } of unused) {
      await listener.leave();
      await listener.close();
    }
  }

  /** With `--reuse-port`: leaves the ports to other processes. */
  async leave(): Promise<void> {
    await Promise.all(this.all.map(({ listener }) => listener.leave()));
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await Promise.all(this.all.map(({ listener }) => listener.close()));
  }

  async #open(address: string, port: number): Promise<ListenPoint> {
    const { engine, reusesPort, maxTcpAgeMs, own, observer, log } = this.#options;
    const isEvery = address === EVERY_ADDRESS;
    const isOfIpv6 = isIPv6(address);
    // One socket has both families.
    const byClient = (client: Client) => client.address.includes(':');
    const answerer = new ZoneAnswerer(isEvery ? byClient : () => isOfIpv6, own);
    const listener = await listen({
      answerer,
      address,
      port,
      engine,
      reusesPort,
      cookies: this.#cookies,
      observer,
      compresses: true,
      tcp: { maxConnections: MAX_TCP_CONNECTIONS, maxAgeMs: maxTcpAgeMs },
      onFailure: (error) => log.error(`answering: ${errorText(error)}`),
      onOverload: (text) => log.warn(text),
    });
    const host = isEvery ? '' : isOfIpv6 ? `[${address}]` : address;
    const label = `dns://${host}:${listener.port}`;
    return { label, address, port: listener.port, answerer, listener, zones: [] };
  }

  /** The counts of a zone go on. */
  #servedZone(point: ListenPoint, block: ServedBlock, zone: string): ServedZone {
    const { log: rules, zones } = block.block;
    const counters = point.zones.find((each) => each.zone === zone)?.counters ?? new ZoneCounters();
    const names = zones.map((each) => each.zone);
    const lines = rules && new QueryLines(rules, names, this.#options.log);
    return { zone, block, counters, lines };
  }
}

/** A zone at an address. */
interface Binding {
  readonly key: string;
  readonly address: string;
  readonly port: number;
  readonly zone: string;
}

function bindingsOf({ addresses, zones }: ServedBlock['block']): Binding[] {
  const all = addresses.length === 0 ? [EVERY_ADDRESS] : addresses;
  return all.flatMap((address) =>
    zones.map(({ zone, port }) => ({ key: keyOf(address, port), address, port, zone })),
  );
}

function keyOf(address: string, port: number): string {
  return `${address}#${port}`;
}

const ANSWER_COUNT_AT = 6;

/** A zone at one address: the block that answers for it, and what is counted. */
export interface ServedZone {
  readonly zone: string;
  readonly block: ServedBlock;
  readonly counters: ZoneCounters;
  /** Undefined where no answer is logged. */
  readonly lines: QueryLines | undefined;
}

// Why there is no better answer, as options of answers to clients with EDNS (RFC 8914).
/** No block has the name. */
const NO_ZONE = extendedErrorOption(EXTENDED_ERROR.NOT_AUTHORITATIVE, 'no server block has it');

/** Questions that this process asks itself, or that come back to it. */
interface OwnQuestions {
  readonly probe: SelfProbe;
  readonly loops: LoopDetector;
}

/** Answers the queries at one address and port, each from the block of the longest zone that its name is in. */
class ZoneAnswerer implements Answerer, ZoneLookup {
  /** Queries for names that are in no zone. */
  readonly unserved = new ZoneCounters();
  readonly #isIpv6: (client: Client) => boolean;
  readonly #own: OwnQuestions;
  readonly #writer = new AnswerWriter();
  readonly #client = new TimedClient();
  readonly #lookups = new Lookups(this);
  #zones = new ZoneSet<ServedZone>();

  /** `isIpv6` says of a client which family it came by; `own` are the questions of the process itself. */
  constructor(isIpv6: (client: Client) => boolean, own: OwnQuestions) {
    this.#isIpv6 = isIpv6;
    this.#own = own;
  }

  /** Serves these zones from now on. */
  serve(zones: Iterable<ServedZone>): void {
    const set = new ZoneSet<ServedZone>();
    for (const zone of zones) set.set(zone.zone, zone);
    this.#zones = set;
  }

  /** The longest zone that a name is in; undefined when it is in none. */
  zoneOf({ name, nameLength }: Query): ServedZone | undefined {
    return this.#zones.find(name, nameLength);
  }

  answer(query: Query, out: Uint8Array, client: Client): number {
    if (this.#own.probe.isOwn(query)) {
      client.answersFrom(SOURCE.NONE);
      return this.#own.probe.answer(query, out);
    }
    if (this.#own.loops.isOwnProbe(query)) return 0;
    const zone = this.zoneOf(query);
    const counters = zone?.counters ?? this.unserved;
    counters.countRequest(query, this.#isIpv6(client));
    const timed = this.#client;
    timed.start(client, query, counters, zone?.lines);
    const length =
      zone === undefined
        ? this.#refuse(query, out)
        : answerFrom(zone, query, out, timed, this.#lookups);
    if (length > 0) timed.note(out, length);
    return length;
  }

  /** For a question of this program's own, which is not counted. */
  answerInZone(
    query: Query,
    out: Uint8Array,
    client: Client,
    lookups: Lookups,
  ): number | undefined {
    return this.zoneOf(query)?.block.answer(query, out, client, lookups);
  }

  #refuse(query: Query, out: Uint8Array): number {
    this.#writer.begin(query, out);
    this.#writer.setRcode(RCODE.REFUSED, NO_ZONE);
    return this.#writer.finish();
  }
}

/** Answers a query from the block of its zone, and counts whether its cache had the answer. */
function answerFrom(
  { block, counters }: ServedZone,
  query: Query,
  out: Uint8Array,
  client: Client,
  inner: Lookups,
): number {
  const looked = block.resolver.counters;
  const { lookups, cached } = looked;
  const length = block.answer(query, out, client, inner);
  if (looked.lookups === lookups) return length;
  if (looked.cached === cached) counters.cacheMisses++;
  else if (readUint16(out, ANSWER_COUNT_AT) === 0) counters.cacheHits.denial++;
  else counters.cacheHits.success++;
  return length;
}

const MS_PER_SECOND = 1_000;

/** What is kept of a query until it is answered: its answer is counted and logged then. */
class Timing {
  counters!: ZoneCounters;
  isOverTcp = false;
  startedMs = 0;
  /** Undefined where the answer is not logged. */
  lines: QueryLines | undefined;
  words: QueryWords | undefined;

  copy(): Timing {
    const copy = new Timing();
    copy.counters = this.counters;
    copy.isOverTcp = this.isOverTcp;
    copy.startedMs = this.startedMs;
    copy.lines = this.lines;
    copy.words = this.words;
    return copy;
  }

  note(message: Uint8Array, length: number): void {
    const seconds = (performance.now() - this.startedMs) / MS_PER_SECOND;
    const rcode = readUint16(message, 2) & RCODE_MASK;
    this.counters.countResponse(this.isOverTcp, rcode, length, seconds);
    this.lines?.write(this.words!, message, length, seconds);
  }
}

/** The client of the current query; its answer is counted and logged when it is sent, now or later. */
class TimedClient implements Client {
  readonly #timing = new Timing();
  #client!: Client;

  /** Begins a query. */
  start(client: Client, query: Query, counters: ZoneCounters, lines: QueryLines | undefined): void {
    const timing = this.#timing;
    this.#client = client;
    timing.counters = counters;
    timing.isOverTcp = query.isOverTcp;
    timing.startedMs = performance.now();
    timing.lines = lines?.isLogged(query) === true ? lines : undefined;
    timing.words = timing.lines?.wordsOf(query, client);
  }

  get address(): string {
    return this.#client.address;
  }

  get port(): number {
    return this.#client.port;
  }

  answersFrom(source: AnswerSource): void {
    this.#client.answersFrom(source);
  }

  defer(): ReplyPath {
    return new TimedAnswer(this.#timing.copy(), this.#client.defer());
  }

  /** The query is answered at once. */
  note(message: Uint8Array, length: number): void {
    this.#timing.note(message, length);
  }
}

/** An answer that comes later. */
class TimedAnswer implements ReplyPath {
  readonly #timing: Timing;
  readonly #reply: ReplyPath;

  constructor(timing: Timing, reply: ReplyPath) {
    this.#timing = timing;
    this.#reply = reply;
  }

  get address(): string {
    return this.#reply.address;
  }

  get port(): number {
    return this.#reply.port;
  }

  get out(): Uint8Array | undefined {
    return this.#reply.out;
  }

  send(message: Uint8Array, length: number, source?: AnswerSource, server?: ServerAddress): void {
    this.#timing.note(message, length);
    this.#reply.send(message, length, source, server);
  }

  abandon(): void {
    this.#reply.abandon();
  }
}
