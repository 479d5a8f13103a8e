import { setTimeout as delay } from 'node:timers/promises';

import { ZoneSubscription } from '@kube-dns/push';
import { encodeName } from '@kube-dns/wire';
import { ZONE } from '../cluster/cluster-plan.js';

/** The methods of a crowd in its own process. */
export interface SubscriberCrowdMethods {
  /** Subscribes `count` more clients to the zone at a kubedns on this port; rejects when one is not told changes. */
  join(port: number, count: number): Promise<void>;
  leave(): void;
}

const LIMIT_MS = 30_000;
const STEP_MS = 5;

/** Clients that get the changes of the zone, and do nothing with them. */
export class SubscriberCrowd implements SubscriberCrowdMethods {
  #subscriptions: ZoneSubscription[] = [];

  async join(port: number, count: number): Promise<void> {
    const added = Array.from({ length: count }, () => this.#subscribe(port));
    this.#subscriptions.push(...added);
    const endMs = performance.now() + LIMIT_MS;
    while (!added.every(({ isLive }) => isLive)) {
      if (performance.now() > endMs) throw new Error('not all subscribers get changes');
      await delay(STEP_MS);
    }
  }

  leave(): void {
    for (const subscription of this.#subscriptions) subscription.close();
    this.#subscriptions = [];
  }

  #subscribe(port: number): ZoneSubscription {
    const subscription = new ZoneSubscription({
      server: { address: '127.0.0.1', port },
      zones: [encodeName(ZONE)],
      events: {
        onLive: () => undefined,
        onChanged: () => undefined,
        onFlush: () => undefined,
        onLost: () => undefined,
        onUnsupported: () => undefined,
      },
    });
    subscription.start();
    return subscription;
  }
}
