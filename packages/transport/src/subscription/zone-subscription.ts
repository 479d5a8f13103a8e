import type { ServerAddress } from '../server-address.js';
import {
  type ChangeEvents,
  type Outcome,
  SubscriptionConnection,
} from './subscription-connection.js';

/** A server sends a heartbeat every 2 s. */
const SILENCE_MS = 12_000;
/** A server that does not tell changes is asked again after this time. */
const UNSUPPORTED_PAUSE_MS = 60_000;
/** A server that cannot tell them now: its zone is not complete yet. */
const BUSY_PAUSE_MS = 1_000;
/** Pauses after a lost connection: each is twice the last one. */
const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 5_000;

export interface SubscriptionEvents extends ChangeEvents {
  /** No change is told any more. `reason` continues "the subscription has ended:". */
  onLost(reason: string): void;
  /** The server does not tell changes; it is asked again later, and this is not called again until it does. */
  onUnsupported(reason: string): void;
}

/** What is known of a subscription. */
export interface SubscriptionStatus {
  /** `unsupported`: the server has never told changes; `down`: it should, and does not. */
  readonly state: 'live' | 'down' | 'unsupported';
  /** Why it is not live, '' while it is. */
  readonly reason: string;
  /** Since when it is live, or is not; when the server sent something: in milliseconds of `performance.now()`. */
  readonly sinceMs: number;
  readonly heardMs: number | undefined;
  /** That of the last message; undefined while it is not live. */
  readonly serial: number | undefined;
}

export interface ZoneSubscriptionOptions {
  readonly server: ServerAddress;
  /** Lower-cased, in wire form; one at least. */
  readonly zones: readonly Uint8Array[];
  readonly events: SubscriptionEvents;
  /** So long without a message end a connection, in milliseconds; 12 s unless given. */
  readonly silenceMs?: number;
}

/**
 * Subscribes to the changes of zones at the server that answers for them: DNS Stateful Operations (RFC 8490) on a TCP
 * connection to its DNS port, and again whenever that ends.
 */
export class ZoneSubscription {
  readonly #options: ZoneSubscriptionOptions;
  #connection: SubscriptionConnection | undefined;
  #retry: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #wasEverLive = false;
  #isClosed = false;
  #isKnownUnsupported = false;
  #reason = 'no connection yet';
  #sinceMs = performance.now();

  constructor(options: ZoneSubscriptionOptions) {
    this.#options = options;
  }

  /** Whether changes are told now. */
  get isLive(): boolean {
    return this.#connection?.isLive ?? false;
  }

  get status(): SubscriptionStatus {
    const { isLive, heardMs, serial } = this.#connection ?? {};
    const since = { sinceMs: this.#sinceMs, heardMs };
    if (isLive === true) return { ...since, state: 'live', reason: '', serial };
    const isUnsupported = this.#isKnownUnsupported && !this.#wasEverLive;
    const state = isUnsupported ? 'unsupported' : 'down';
    return { ...since, state, reason: this.#reason, serial: undefined };
  }

  start(): void {
    const { server, zones, silenceMs = SILENCE_MS, events } = this.#options;
    const connection = new SubscriptionConnection(
      { server, zones, silenceMs },
      {
        onLive: (subscribed) => {
          this.#pauseMs = FIRST_PAUSE_MS;
          this.#wasEverLive = true;
          this.#isKnownUnsupported = false;
          this.#sinceMs = performance.now();
          events.onLive(subscribed);
        },
        onChanged: (name, serial) => events.onChanged(name, serial),
        onFlush: (cause, serial) => events.onFlush(cause, serial),
        onHeard: () => events.onHeard?.(),
        onEnd: (outcome, reason) => this.#onEnd(connection.isLive, outcome, reason),
      },
    );
    this.#connection = connection;
  }

  /**
   * The server is there again, or another one at its address: it is asked now, not after the pause, and on a new
   * connection, because one without a response may be of the server before.
   */
  retry(): void {
    if (this.isLive || this.#isClosed) return;
    clearTimeout(this.#retry);
    this.#connection?.close();
    this.start();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#connection?.close();
    this.#connection = undefined;
  }

  #onEnd(wasLive: boolean, outcome: Outcome, reason: string): void {
    const { events } = this.#options;
    this.#connection = undefined;
    this.#reason = reason;
    if (wasLive) this.#sinceMs = performance.now();
    this.#retry = setTimeout(() => this.start(), this.#nextPauseMs(outcome));
    if (wasLive) events.onLost(reason);
    else if (outcome === 'unsupported' && !this.#isKnownUnsupported) {
      this.#isKnownUnsupported = true;
      events.onUnsupported(reason);
    }
  }

  /** One that told changes before is starting again when it does not. */
  #nextPauseMs(outcome: Outcome): number {
    if (outcome === 'busy') return BUSY_PAUSE_MS;
    if (outcome === 'unsupported' && !this.#wasEverLive) return UNSUPPORTED_PAUSE_MS;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, LAST_PAUSE_MS);
    return pauseMs;
  }
}
