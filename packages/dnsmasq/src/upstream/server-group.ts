import type { UpstreamServer } from './upstream-servers.js';

/** How a group chooses among its servers (`--strict-order`, `--all-servers`). */
export type ServerOrder = 'preferred' | 'strict' | 'all';

/** All servers of the group are to be asked. */
export const ALL_SERVERS = -1;

/** dnsmasq src/config.h, FORWARD_TEST and FORWARD_TIME. */
const QUERIES_BETWEEN_PROBES = 50;
const MS_BETWEEN_PROBES = 20_000;
const NONE = -1;

/**
 * The servers of one domain. One of them is preferred; now and then a query goes to all, so that one
 * that is faster or works again becomes it (dnsmasq src/forward.c, forward_query).
 */
export class ServerGroup {
  /** Presentation text; `.` for the default servers. */
  readonly domain: string;
  readonly servers: readonly UpstreamServer[];
  readonly order: ServerOrder;
  /** Questions under way, counted by the forwarder. */
  inFlight = 0;
  /** Clients that wait beside the first of their question, counted by the forwarder. */
  joiners = 0;
  #preferred = NONE;
  #queriesSinceProbe = 0;
  #probedAtMs = Number.NEGATIVE_INFINITY;

  constructor(domain: string, servers: readonly UpstreamServer[], order: ServerOrder) {
    this.domain = domain;
    this.servers = servers;
    this.order = order;
  }

  /** The server that a new question goes to, by its place in `servers`, or ALL_SERVERS. */
  choose(nowMs: number): number {
    if (this.order === 'strict' || this.servers.length === 1) return 0;
    if (this.order === 'all') return ALL_SERVERS;
    const isOften = this.#queriesSinceProbe++ > QUERIES_BETWEEN_PROBES;
    const isLong = nowMs - this.#probedAtMs > MS_BETWEEN_PROBES;
    if (this.#preferred !== NONE && !isOften && !isLong) return this.#preferred;
    this.#queriesSinceProbe = 0;
    this.#probedAtMs = nowMs;
    return ALL_SERVERS;
  }

  /** The places of all servers, the one to be asked first in front. */
  inOrder(): number[] {
    const places = this.servers.map((_server, at) => at);
    if (this.#preferred <= 0 || this.order === 'strict') return places;
    return [this.#preferred, ...places.filter((at) => at !== this.#preferred)];
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
