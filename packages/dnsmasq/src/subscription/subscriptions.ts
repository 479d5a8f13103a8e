import type { Log } from '@kube-dns/daemon';
import {
  type FlushCause,
  isOwnAddress,
  type ServerAddress,
  serverText,
  type SubscriptionEvents,
  ZoneSubscription,
} from '@kube-dns/transport';
import { decodeName, ROOT_NAME, suffixOffset } from '@kube-dns/wire';
import type { AnswerCache } from '../cache/answer-cache.js';
import {
  type KeptBy,
  type LiveSubscriptions,
  MAX_SUBSCRIPTIONS,
  WITH_TTL,
} from '../cache/kept-entries.js';
import type { ServerRule } from '../options/server-value.js';
import type { SubscriptionRow } from './subscription-row.js';

export interface SubscriptionsOptions {
  /** The servers of the command line, with their domains. */
  readonly rules: readonly ServerRule[];
  /** The addresses that this server listens on, once it does. */
  readonly own: { readonly ownAddresses: readonly ServerAddress[] };
  readonly cache: Pick<AnswerCache, 'dropChanged' | 'dropZone' | 'keptAnswers'>;
  /** Which subscriptions live, by their numbers; the cache has the same. */
  readonly live: LiveSubscriptions;
  /** Whether servers are asked at all. */
  readonly isEnabled: boolean;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** A server that may tell what changes in some zones, and what it has told. */
export class ZoneServer implements KeptBy {
  /** How often a subscription became live and how often it ended, and names that changed. */
  readonly events = { started: 0, lost: 0, changed: 0 };
  /** How often all answers were dropped, by reason. */
  readonly flushes: Record<'new-subscription' | FlushCause, number> = {
    'new-subscription': 0,
    'by-server': 0,
    'missed-message': 0,
  };
  /** Cached answers that were dropped because their names changed. */
  dropped = 0;
  isLive = false;
  /** The apex of the zone that the server told last. */
  apex: Uint8Array = ROOT_NAME;
  /** For its answers that are of others: they may change with its zone, and have their TTL. */
  readonly relayed: { number: number; apex: Uint8Array };
  readonly zones: Uint8Array[] = [];
  /** Its number among the subscriptions, from 1. */
  readonly number: number;
  readonly server: ServerAddress;

  constructor(number: number, server: ServerAddress) {
    this.number = number;
    this.relayed = { number: number + WITH_TTL, apex: ROOT_NAME };
    this.server = server;
  }

  /** Whether a name (lower-cased, in wire form) is in one of its zones. */
  has(name: Uint8Array, length: number): boolean {
    for (const zone of this.zones) if (suffixOffset(name, length, zone) >= 0) return true;
    return false;
  }

  /** As in the log and in metrics: `127.0.0.1#10053`. */
  get text(): string {
    return serverText(this.server);
  }

  /** The names of its zones. */
  get zoneNames(): string {
    return this.zones.map((zone) => decodeName(zone)).join(', ');
  }
}

/**
 * Subscribes to the zones of `--server=/ZONE/ADDRESS` at that very address of this machine or pod: who gives the answers
 * of a zone is who may drop them from the cache. While a server tells its changes, its answers are kept until it says that they changed.
 */
export class Subscriptions {
  readonly servers: readonly ZoneServer[];
  readonly #options: SubscriptionsOptions;
  readonly #subscriptions = new Map<ZoneServer, ZoneSubscription>();

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
    this.servers = options.isEnabled ? zoneServers(options.rules) : [];
  }

  /** To be called once it is known which addresses are this server's own. */
  start(): void {
    const { ownAddresses } = this.#options.own;
    const others = this.servers.filter(
      ({ server }) => !ownAddresses.some((own) => isOwnAddress(server, own)),
    );
    for (const one of others) {
      const { server, zones } = one;
      const subscription = new ZoneSubscription({ server, zones, events: this.#eventsOf(one) });
      this.#subscriptions.set(one, subscription);
      subscription.start();
    }
  }

  /** What pages, metrics and statistics show. */
  rows(): SubscriptionRow[] {
    return Array.from(this.#subscriptions, ([one, { status }]) => ({
      ...status,
      server: one.text,
      zones: one.zones.map((zone) => decodeName(zone)),
      keptAnswers: one.isLive ? this.#options.cache.keptAnswers(one.number) : 0,
      droppedAnswers: one.dropped,
      events: one.events,
      flushes: one.flushes,
    }));
  }

  /** A server that tells now what changes in its zones; undefined when it does not. */
  find({ address, port }: ServerAddress): ZoneServer | undefined {
    for (const one of this.servers) {
      if (one.isLive && one.server.port === port && one.server.address === address) return one;
    }
    return undefined;
  }

  close(): void {
    for (const subscription of this.#subscriptions.values()) subscription.close();
    for (const one of this.servers) this.#setLive(one, false);
  }

  #eventsOf(one: ZoneServer): SubscriptionEvents {
    const { cache, log } = this.#options;
    const server = one.text;
    return {
      onLive: ({ apex }) => {
        one.apex = one.relayed.apex = apex;
        one.events.started++;
        this.#flush(one, 'new-subscription');
        this.#setLive(one, true);
        log.info(
          `${server} tells the changes of ${one.zoneNames}: its answers are kept until then`,
        );
      },
      onChanged: (name) => {
        one.events.changed++;
        one.dropped += cache.dropChanged(Uint8Array.from(name), one.apex);
      },
      onFlush: (cause) => this.#flush(one, cause),
      onLost: (reason) => {
        one.events.lost++;
        this.#setLive(one, false);
        log.warn(`${server} tells no changes any more: ${reason}; TTLs rule until it does`);
      },
      onUnsupported: (reason) => {
        log.info(`${server} does not tell changes of ${one.zoneNames} (${reason}): TTLs rule`);
      },
    };
  }

  #flush({ zones, flushes }: ZoneServer, cause: keyof ZoneServer['flushes']): void {
    flushes[cause]++;
    for (const zone of zones) this.#options.cache.dropZone(zone);
  }

  #setLive(one: ZoneServer, isLive: boolean): void {
    one.isLive = isLive;
    this.#options.live[one.number] = Number(isLive);
  }
}

/**
 * The servers of domains, each once, in the order of their rules. One at an address of another machine may be several
 * behind a Service, and the one that answers need not be the one that tells.
 */
function zoneServers(rules: readonly ServerRule[]): ZoneServer[] {
  const servers = new Map<string, ZoneServer>();
  for (const { domains, target } of rules) {
    if (target.kind !== 'server' || domains.length === 0) continue;
    if (!isLoopback(target.server.address)) continue;
    const text = serverText(target.server);
    const known = servers.get(text);
    if (known === undefined && servers.size === MAX_SUBSCRIPTIONS) continue;
    const one = known ?? new ZoneServer(servers.size + 1, target.server);
    servers.set(text, one);
    one.zones.push(...domains);
  }
  return Array.from(servers.values());
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}
