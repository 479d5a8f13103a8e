import {
  type AddedOptions,
  isOwnAddress,
  NO_OPTIONS,
  type ServerAddress,
  type ServerGroup,
  serverText,
} from '@kube-dns/transport';
import { ZONE_VERSION_REQUEST } from '@kube-dns/wire';
import { MAX_SUBSCRIPTIONS, WITH_TTL } from '../cache/announced-changes.js';
import type { ServerInstance } from './server-instance.js';
import type { SubscriptionRow } from './subscription-row.js';
import { ZoneServer, type ZoneServerOptions } from './zone-server.js';

/** A server, and zones (lower-cased, in wire form) that it is asked for. */
export interface SubscribedServer {
  readonly server: ServerAddress;
  readonly zones: readonly Uint8Array[];
}

export interface SubscriptionsOptions extends Omit<ZoneServerOptions, 'server' | 'takeNumber'> {
  /** The servers that may tell changes, and of which zones; a server may be there several times. */
  readonly servers: readonly SubscribedServer[];
  /** The addresses that this server listens on, once it does. */
  readonly own: { readonly ownAddresses: readonly ServerAddress[] };
  /** Whether servers are asked at all. */
  readonly isEnabled: boolean;
}

/** Asks for the version of the zone: which process answers, and which changes it knows. */
const VERSION_OPTIONS: AddedOptions = { bytes: ZONE_VERSION_REQUEST, hasClientSubnet: false };

/**
 * Subscribes to the zones of a server at the very address that is asked for them: who gives the answers of a zone is who may
 * drop them from the cache. While a process tells its changes, its answers are kept until it says that they changed.
 */
export class Subscriptions {
  readonly servers: readonly ZoneServer[];
  readonly #options: SubscriptionsOptions;
  #lastNumber = 0;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
    this.servers = options.isEnabled ? this.#zoneServers(options.servers) : [];
  }

  /** To be called once it is known which addresses are this server's own. */
  start(): void {
    const { ownAddresses } = this.#options.own;
    for (const one of this.servers) {
      if (!ownAddresses.some((own) => isOwnAddress(one.server, own))) one.connect();
    }
  }

  /** What pages, metrics and statistics show. */
  rows(): SubscriptionRow[] {
    return this.servers.flatMap((one) => one.row() ?? []);
  }

  /** The same of the one with this number, WITH_TTL more or not; undefined when it has ended. */
  rowOf(number: number): SubscriptionRow | undefined {
    return this.servers.find((one) => one.hasNumber(number % WITH_TTL))?.row();
  }

  /** A server replies again after it was down. */
  retry({ address, port }: ServerAddress): void {
    const one = this.servers.find(
      ({ server }) => server.port === port && server.address === address,
    );
    one?.retry();
  }

  /** The options that questions to a group of servers have. */
  optionsFor({ servers }: ServerGroup): AddedOptions {
    for (const one of this.servers) {
      if (one.live === undefined) continue;
      const { address, port } = one.server;
      for (const server of servers) {
        if (server.port === port && server.address === address) return VERSION_OPTIONS;
      }
    }
    return NO_OPTIONS;
  }

  /** Whether one of these servers tells changes, or did. */
  hasTold({ servers }: ServerGroup): boolean {
    return this.servers.some(
      (one) => one.hasTold && servers.some((server) => isSameServer(server, one.server)),
    );
  }

  /** The process whose instance is at an offset of a reply, and that tells its changes now. */
  find(reply: Uint8Array, at: number): ServerInstance | undefined {
    for (const one of this.servers) {
      const instance = one.find(reply, at);
      if (instance !== undefined) return instance;
    }
    return undefined;
  }

  /** A process that tells changes of the zone that a name (lower-cased, in wire form) is in. */
  tellerOf(name: Uint8Array, nameLength: number): ServerInstance | undefined {
    for (const one of this.servers) {
      const { live } = one;
      if (live?.has(name, nameLength) === true) return live;
    }
    return undefined;
  }

  /** A process that tells no changes has answered for such a name: it is looked for. */
  search(name: Uint8Array, nameLength: number): void {
    const nowMs = performance.now();
    for (const one of this.servers) if (one.live?.has(name, nameLength) === true) one.search(nowMs);
  }

  close(): void {
    for (const one of this.servers) one.close();
  }

  /** Each server once, in the order given. */
  #zoneServers(given: readonly SubscribedServer[]): ZoneServer[] {
    const servers = new Map<string, ZoneServer>();
    for (const { server, zones } of given) {
      const text = serverText(server);
      const one = servers.get(text) ?? this.#zoneServer(server);
      servers.set(text, one);
      one.zones.push(...zones);
    }
    return Array.from(servers.values());
  }

  #zoneServer(server: ServerAddress): ZoneServer {
    const takeNumber = () =>
      this.#lastNumber === MAX_SUBSCRIPTIONS ? undefined : ++this.#lastNumber;
    return new ZoneServer({ ...this.#options, server, takeNumber });
  }
}

function isSameServer(one: ServerAddress, other: ServerAddress): boolean {
  return one.port === other.port && one.address === other.address;
}
