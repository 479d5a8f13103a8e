import type { Log } from '@kube-dns/daemon';
import {
  type ChangeSource,
  type LastSeen,
  neverSeen,
  type PublisherProcess,
  type SubscribedServer,
  type SubscriptionRow,
  Subscriptions,
} from '@kube-dns/push';
import { type AnswerCache } from '@kube-dns/resolver';
import type { AddedOptions, ServerAddress, ServerGroup } from '@kube-dns/transport';
import { encodeKey } from '@kube-dns/wire';

export interface ClusterSubscriptionsOptions {
  /** The caches of the blocks that the cluster's DNS answers for. */
  readonly caches: () => Iterable<AnswerCache>;
  readonly ownAddresses: () => readonly ServerAddress[];
  /** A name, or all below it, has changed in a zone: both lower-cased, in wire form. */
  readonly onChange: (name: Uint8Array, zone: Uint8Array) => void;
  readonly onLive: (server: ServerAddress) => void;
  readonly log: Log;
}

/**
 * The subscription to the DNS of the cluster: one for the zones of all its blocks, whose caches drop what changes. Where
 * that DNS tells no changes, TTLs rule.
 */
export class ClusterSubscriptions {
  /** When its servers were heard; the caches of the blocks have the same. */
  readonly heardAt: LastSeen = neverSeen();
  readonly lastHeardAt: LastSeen = neverSeen();
  readonly #options: ClusterSubscriptionsOptions;
  #zones: readonly string[] = [];
  #key = '';
  #subscriptions: Subscriptions;

  constructor(options: ClusterSubscriptionsOptions) {
    this.#options = options;
    this.#subscriptions = this.#create([]);
  }

  /** Subscribes to these zones of the cluster's DNS from now on, if they are others than before. */
  follow(server: ServerAddress | undefined, zones: readonly string[]): void {
    const key = JSON.stringify([server?.address, server?.port, ...zones]);
    if (key === this.#key) return;
    this.#key = key;
    this.#subscriptions.close();
    // What was kept has only its TTL, and may be older than what the next server tells.
    for (const zone of this.#zones) this.#dropBelow(encodeKey(zone));
    this.#zones = zones;
    const wanted =
      server === undefined || zones.length === 0 ? [] : [{ server, zones: zones.map(encodeKey) }];
    this.#subscriptions = this.#create(wanted);
    this.#subscriptions.start();
  }

  /** As of Subscriptions. */
  optionsFor(group: ServerGroup): AddedOptions {
    return this.#subscriptions.optionsFor(group);
  }
  find(reply: Uint8Array, at: number): PublisherProcess | undefined {
    return this.#subscriptions.find(reply, at);
  }
  search(name: Uint8Array, nameLength: number): void {
    this.#subscriptions.search(name, nameLength);
  }
  publisherOf(name: Uint8Array, nameLength: number): PublisherProcess | undefined {
    return this.#subscriptions.publisherOf(name, nameLength);
  }
  retry(server: ServerAddress): void {
    this.#subscriptions.retry(server);
  }
  rowOf(number: number): SubscriptionRow | undefined {
    return this.#subscriptions.rowOf(number);
  }
  rows(): SubscriptionRow[] {
    return this.#subscriptions.rows();
  }
  close(): void {
    this.#subscriptions.close();
  }

  #create(servers: readonly SubscribedServer[]): Subscriptions {
    const { ownAddresses, onChange, onLive, log } = this.#options;
    return new Subscriptions({
      servers,
      own: {
        get ownAddresses() {
          return ownAddresses();
        },
      },
      isEnabled: true,
      cache: {
        dropChanged: (name, teller, serial, zone) => this.#dropChanged(name, teller, serial, zone),
        dropBelow: (domain) => this.#dropBelow(domain),
        keptAnswers: (number) => this.#keptAnswers(number),
      },
      lastSeen: this.heardAt,
      lastSeenEver: this.lastHeardAt,
      onChange,
      onLive,
      log,
    });
  }

  #dropChanged(name: Uint8Array, teller: ChangeSource, serial: number, zone?: Uint8Array): number {
    let count = 0;
    for (const cache of this.#options.caches())
      count += cache.dropChanged(name, teller, serial, zone);
    return count;
  }

  #dropBelow(domain: Uint8Array): void {
    for (const cache of this.#options.caches()) cache.dropBelow(domain);
  }

  #keptAnswers(number: number): number {
    let count = 0;
    for (const cache of this.#options.caches()) count += cache.keptAnswers(number);
    return count;
  }
}
