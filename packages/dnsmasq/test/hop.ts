import { type LastSeen, neverSeen, PublisherProcess, type Relay } from '@kube-dns/push';
import { AnswerCache } from '@kube-dns/resolver';
import { keyOf, PLAIN_RULES } from '@kube-dns/resolver/testing';
import { TYPE } from '@kube-dns/wire';
import { ReplyIntake } from '../src/answer/reply-intake.js';
import { defaultOptions } from '../src/options/option-table.js';
import { parseServerRule } from '../src/options/server-value.js';
import { Routes } from '../src/routing/routes.js';

import { recordedLog } from './recorded-log.js';

const APEX = keyOf('z');
const routes = new Routes({ rules: [parseServerRule('/z/192.0.2.1')], resolvServers: [] });

/** A cache that was told changes by one process. */
export class Hop {
  readonly heardAt: LastSeen = neverSeen();
  readonly cache = new AnswerCache({
    maxRecords: 1_000,
    nowSeconds: () => 1,
    heardAt: this.heardAt,
  });
  readonly teller = new PublisherProcess(1, [APEX]);
  readonly intake: ReplyIntake;

  constructor(relayed?: Relay) {
    const { teller } = this;
    this.intake = new ReplyIntake({
      cache: this.cache,
      caching: PLAIN_RULES,
      replies: defaultOptions(),
      filteredTypes: [],
      maxTtlSeconds: 0,
      local: { hasName: () => false },
      router: { routes },
      subscriptions: {
        find: (reply, at) => (teller.isLive && teller.is(reply, at) ? teller : undefined),
        search: () => undefined,
        publisherOf: () => (teller.isLive ? teller : undefined),
      },
      relayed,
      log: recordedLog(),
    });
  }

  /** Whether the answer of a name stays until it changes. */
  isKept(name: string): boolean {
    const key = keyOf(name);
    return this.cache.inspect(key, key.length, TYPE.A)?.subscription === this.teller.number;
  }

  goLive(id: Uint8Array, serial: number): void {
    this.teller.become(id, APEX);
    this.flush(serial);
    this.teller.isLive = true;
    this.heardAt[1] = Number.POSITIVE_INFINITY;
  }

  end(): void {
    this.teller.isLive = false;
    this.heardAt[1] = Number.NEGATIVE_INFINITY;
  }

  flush(serial: number): void {
    this.teller.changes.noteAll(serial);
    this.cache.dropBelow(APEX);
  }

  change(name: Uint8Array, serial: number): void {
    this.cache.dropChanged(name, this.teller, serial);
  }
}
