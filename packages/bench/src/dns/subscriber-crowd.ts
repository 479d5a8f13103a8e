import { setTimeout as delay } from 'node:timers/promises';

import { ZoneSubscription } from '@kube-dns/push';
import { median } from '@kube-dns/testkit';
import { encodeName } from '@kube-dns/wire';
import { ZONE } from '../cluster/cluster-plan.js';

/** The methods of a crowd in its own process. */
export interface SubscriberCrowdMethods {
  /** Subscribes `count` more clients to the zone at a kubedns on this port; rejects when one is not told changes. */
  join(port: number, count: number): Promise<void>;
  leave(): void;
  /** Counts from now on. */
  startCount(): void;
  /** What came since `startCount`. */
  counted(): CrowdCount;
}

/** What a crowd of subscribers got. */
export interface CrowdCount {
  /** A second, of all subscribers together; one message may have several names. */
  readonly messagesPerSecond: number;
  /** From the first subscriber that got a message until the last one, in milliseconds: the median of all messages. */
  readonly spreadMs: number;
}

const LIMIT_MS = 30_000;
const STEP_MS = 5;
/** More at one time than a listener accepts wait for their next SYN. */
const TOGETHER = 250;

/** Clients that get the changes of the zone, and do nothing with them. */
export class SubscriberCrowd implements SubscriberCrowdMethods {
  #subscriptions: ZoneSubscription[] = [];
  #countedFromMs = 0;
  #messages = 0;
  /** When the first and the last subscriber got a message, by its serial. */
  readonly #arrivals = new Map<number, { readonly firstMs: number; lastMs: number }>();

  async join(port: number, count: number): Promise<void> {
    for (let left = count; left > 0; left -= TOGETHER) {
      const added = Array.from({ length: Math.min(left, TOGETHER) }, () => this.#subscribe(port));
      this.#subscriptions.push(...added);
      const endMs = performance.now() + LIMIT_MS;
      while (!added.every(({ isLive }) => isLive)) {
        if (performance.now() > endMs) throw new Error('not all subscribers get changes');
        await delay(STEP_MS);
      }
    }
  }

  leave(): void {
    for (const subscription of this.#subscriptions) subscription.close();
    this.#subscriptions = [];
  }

  startCount(): void {
    this.#countedFromMs = performance.now();
    this.#messages = 0;
    this.#arrivals.clear();
  }

  counted(): CrowdCount {
    const seconds = (performance.now() - this.#countedFromMs) / 1_000;
    const spreads = Array.from(this.#arrivals.values(), ({ firstMs, lastMs }) => lastMs - firstMs);
    return { messagesPerSecond: this.#messages / seconds, spreadMs: median(spreads) };
  }

  #note(serial: number): void {
    const nowMs = performance.now();
    this.#messages++;
    const known = this.#arrivals.get(serial);
    if (known === undefined) this.#arrivals.set(serial, { firstMs: nowMs, lastMs: nowMs });
    else known.lastMs = nowMs;
  }

  #subscribe(port: number): ZoneSubscription {
    let last = 0;
    const subscription = new ZoneSubscription({
      server: { address: '127.0.0.1', port },
      zones: [encodeName(ZONE)],
      events: {
        onLive: () => undefined,
        onChanged: (_, serial) => {
          if (serial !== last) this.#note(serial);
          last = serial;
        },
        onFlush: () => undefined,
        onLost: () => undefined,
        onUnsupported: () => undefined,
      },
    });
    subscription.start();
    return subscription;
  }
}
