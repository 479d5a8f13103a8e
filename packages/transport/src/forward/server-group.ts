import { isStreamed } from '../server-address.js';
import { FairPlaces } from './fair-places.js';
import type { Failure } from './failure.js';
import type { Flight } from './flight.js';
import type { RetryPlan } from './retry-plan.js';
import type { UpstreamServer } from './upstream-servers.js';
import type { Waiter } from './waiter.js';

/** How a group chooses among its servers (`--strict-order`, `--all-servers`). */
export type ServerOrder = 'preferred' | 'strict' | 'all';

/** All servers of the group must be asked. */
export const ALL_SERVERS = -1;

/** dnsmasq src/config.h, FORWARD_TEST and FORWARD_TIME. */
const QUERIES_BETWEEN_PROBES = 50;
const MS_BETWEEN_PROBES = 20_000;
const NONE = -1;

/** What waits for the servers of a group, or of several groups with one limit. */
export class GroupLoad {
  // Made when they are needed: a configuration has many groups that are never asked.
  #asked: FairPlaces<Flight> | undefined;
  #joined: FairPlaces<Waiter> | undefined;

  /** For the forwarder: the places of questions, each of the client that waits longest for it. */
  get asked(): FairPlaces<Flight> {
    return (this.#asked ??= new FairPlaces());
  }

  /** For the forwarder: the places of all others that wait. */
  get joined(): FairPlaces<Waiter> {
    return (this.#joined ??= new FairPlaces());
  }

  /** Questions in flight. */
  get questions(): number {
    return this.#asked?.size ?? 0;
  }

  /** Clients that joined a question in flight. */
  get joiners(): number {
    return this.#joined?.size ?? 0;
  }
}

/**
 * The servers of one domain. One of them is preferred; now and then a query goes to all, to
 * find one that is faster or works again (dnsmasq src/forward.c, forward_query).
 */
export class ServerGroup {
  /** Presentation text; `.` for the default servers. */
  readonly domain: string;
  readonly servers: readonly UpstreamServer[];
  readonly order: ServerOrder;
  readonly load: GroupLoad;
  /** Each of its servers is asked over connections that are kept. */
  readonly isStreamed: boolean;
  /** One of them is. */
  readonly hasStreamed: boolean;
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
    this.servers = servers;
    this.order = order;
    this.load = load;
    this.isStreamed = servers.every(isStreamed);
    this.hasStreamed = servers.some(isStreamed);
  }

  /** The server that a new question goes to, by its place in `servers`, or ALL_SERVERS. */
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
      isSent = tcpHealth.probe(server, this.domain, nowMs) || isSent;
    }
    return isSent;
  }

  /**
   * The pause after so many retransmissions of a question that is so old: until the time-out at most. In strict order
   * only the next server takes over, so the time is divided among them.
   */
  pauseMs(plan: RetryPlan, retries: number, ageMs: number): number {
    const leftMs = plan.timeoutMs - ageMs;
    if (this.order !== 'strict' || this.servers.length === 1)
      return Math.min(plan.delayMs(retries), leftMs);
    return Math.min(plan.delayMs(0), plan.timeoutMs / (this.servers.length + 1), leftMs);
  }

  /** All servers that can be asked over TCP, the preferred one first. */
  inOrder(): readonly UpstreamServer[] {
    const up = this.servers.filter(({ health, tcpHealth }) => !health.isDown || tcpHealth.isUp);
    const preferred = this.servers[this.#preferred];
    if (this.order === 'strict' || preferred === undefined || preferred.health.isDown) return up;
    return [preferred, ...up.filter((server) => server !== preferred)];
  }

  #firstUp(): number {
    for (let at = 0; at < this.servers.length; at++) {
      if (!this.servers[at]!.health.isDown) return at;
    }
    return 0;
  }

  /** The server that new questions go to; undefined while they go to all. */
  get preferred(): UpstreamServer | undefined {
    if (this.order === 'all') return undefined;
    return this.order === 'strict' ? this.servers[this.#firstUp()] : this.servers[this.#preferred];
  }

  /** A server had the first usable answer to a question. */
  prefer(at: number): void {
    this.#preferred = at;
  }

  /** A server refused, failed or stayed silent: the next question goes to all. */
  avoid(at: number): void {
    if (this.#preferred === at) this.#preferred = NONE;
  }
}
