import { type LastSeen, neverSeen, PublisherProcess, type Relay } from '@kube-dns/push';
import { type AnswerCache, type ReplyPipeline, Resolver } from '@kube-dns/resolver';
import { NO_OPTIONS, retryPlan } from '@kube-dns/transport';
import { encodeKey, type Query, TYPE } from '@kube-dns/wire';
import { parseServerRule } from '../src/options/server-value.js';
import { Routes } from '../src/routing/routes.js';

import { policyWith, repliesWith } from './replies.js';

const APEX = encodeKey('z');
const CLIENT = {
  address: '192.0.2.1',
  port: 5_000,
  answersFrom: () => undefined,
  defer: () => undefined as never,
};
const routes = new Routes({ rules: [parseServerRule('/z/192.0.2.1')], resolvServers: [] });

/** A cache that got the changes of one process. */
export class Hop {
  readonly lastSeen: LastSeen = neverSeen();
  readonly publisher = new PublisherProcess(1, [APEX]);
  readonly cache: AnswerCache;
  readonly replies: ReplyPipeline;
  readonly #resolver: Resolver;

  constructor(relay?: Relay) {
    const { lastSeen, publisher } = this;
    const subscriptions = {
      find: (reply: Uint8Array, at: number) =>
        publisher.isLive && publisher.is(reply, at) ? publisher : undefined,
      search: () => undefined,
      publisherOf: () => (publisher.isLive ? publisher : undefined),
      optionsFor: () => NO_OPTIONS,
    };
    const nothing = () => 0;
    this.#resolver = new Resolver({
      cache: { maxRecords: 1_000, nowSeconds: () => 1, lastSeen },
      forwarding: { maxInFlight: 1, plan: retryPlan(1), maxUdpBytes: 512 },
      subscriptions,
      relay,
      policy: {
        replies: policyWith({ routes }),
        groupOf: () => undefined,
        answerUncached: nothing,
        answerUnrouted: nothing,
      },
    });
    this.cache = this.#resolver.cache;
    this.replies = repliesWith({ cache: this.cache, routes, relay, subscriptions });
  }

  /** The length of the answer that its cache has; 0 for none. */
  answer(query: Query, out: Uint8Array): number {
    return this.#resolver.resolve(query, out, CLIENT);
  }

  /** Whether the answer of a name stays until it changes. */
  isKept(name: string): boolean {
    const key = encodeKey(name);
    return this.cache.inspect(key, key.length, TYPE.A)?.subscription === this.publisher.number;
  }

  goLive(id: Uint8Array, serial: number): void {
    this.publisher.become(id, APEX);
    this.flush(serial);
    this.publisher.isLive = true;
    this.lastSeen[1] = Number.POSITIVE_INFINITY;
  }

  end(): void {
    this.publisher.isLive = false;
    this.lastSeen[1] = Number.NEGATIVE_INFINITY;
  }

  flush(serial: number): void {
    this.publisher.changes.noteAll(serial);
    this.cache.dropBelow(APEX);
  }

  change(name: Uint8Array, serial: number): void {
    this.cache.dropChanged(name, this.publisher, serial);
  }
}
