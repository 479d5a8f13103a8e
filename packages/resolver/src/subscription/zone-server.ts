import type { Log } from '@kube-dns/daemon';
import {
  type FlushCause,
  type ServerAddress,
  serverText,
  ZoneSubscription,
} from '@kube-dns/transport';
import { decodeName, type Subscribed, suffixOffset } from '@kube-dns/wire';
import type { HeardAt } from '../cache/announced-changes.js';
import type { AnswerCache } from '../cache/answer-cache.js';
import type { ChangeListener } from './change-listener.js';
import { ServerInstance } from './server-instance.js';
import type { SubscriptionRow } from './subscription-row.js';

/** Processes behind the address of one server that are subscribed to; the answers of others have their TTL. */
export const MAX_INSTANCES = 8;
/**
 * Pauses between connections in search of another process: each is twice the last one. Where one leads is chance, and
 * a connection costs less than answers that are not kept.
 */
const FIRST_SEARCH_MS = 1_000;
const LAST_SEARCH_MS = 5_000;

export interface ZoneServerOptions {
  readonly server: ServerAddress;
  readonly cache: Pick<AnswerCache, 'dropChanged' | 'dropBelow' | 'keptAnswers'>;
  /** When subscriptions were heard, by their numbers; the cache has the same. */
  readonly heardAt: HeardAt;
  /** The same, also of those that do not live any more. */
  readonly lastHeardAt?: HeardAt | undefined;
  /** Another number of a subscription; undefined when there is none. */
  readonly takeNumber: () => number | undefined;
  /** The name has changed, or all below it, in a zone of the server. */
  readonly onChange: (name: Uint8Array, zone: Uint8Array) => void;
  /** A process of the server tells changes from now on. */
  readonly onLive: (server: ServerAddress) => void;
  /** Whom changes are passed on to; none by default. */
  readonly listener?: ChangeListener | undefined;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** A subscription to one process, and which. */
interface Connected {
  readonly instance: ServerInstance;
  readonly subscription: ZoneSubscription;
}

/**
 * A server that may tell what changes in its zones. Behind the address of a Service are several processes, each with
 * a view of its own: an answer is kept only while the very process that gave it tells its changes.
 */
export class ZoneServer {
  /** How often a subscription became live and how often it ended, and names that changed. */
  readonly #events = { started: 0, lost: 0, changed: 0 };
  /** How often all answers were dropped, by reason. */
  readonly #flushes: Record<'new-subscription' | FlushCause, number> = {
    'new-subscription': 0,
    'by-server': 0,
    'missed-message': 0,
  };
  /** Cached answers that were dropped because their names changed. */
  #dropped = 0;
  #changedMs: number | undefined;
  readonly zones: Uint8Array[] = [];
  readonly #options: ZoneServerOptions;
  /** Without a connection now. */
  readonly #free: ServerInstance[] = [];
  /** The first one is tried for ever, the others until they end. */
  readonly #connected: Connected[] = [];
  #searchPauseMs = FIRST_SEARCH_MS;
  #nextSearchMs = 0;

  constructor(options: ZoneServerOptions) {
    this.#options = options;
  }

  get server(): ServerAddress {
    return this.#options.server;
  }

  /** As in the log and in metrics: `127.0.0.1#10053`. */
  get text(): string {
    return serverText(this.server);
  }

  /** What pages, metrics and statistics show; undefined when it is never subscribed to. */
  row(): SubscriptionRow | undefined {
    const shown = this.#connected.find(({ instance }) => instance.isLive) ?? this.#connected[0];
    if (shown === undefined) return undefined;
    return {
      ...shown.subscription.status,
      server: this.text,
      zones: this.#zoneNames,
      processes: this.liveCount,
      changedMs: this.#changedMs,
      keptAnswers: this.#keptAnswers,
      droppedAnswers: this.#dropped,
      events: this.#events,
      flushes: this.#flushes,
    };
  }

  /** Whether one of its processes has this number of a subscription. */
  hasNumber(number: number): boolean {
    return this.#connected.some(({ instance }) => instance.number === number);
  }

  /** Whether it tells changes, or did. */
  get hasTold(): boolean {
    return this.#events.started > 0;
  }

  /** Whether it never told changes, as one does that does not know how. */
  get isUnsupported(): boolean {
    return this.row()?.state !== 'down' && this.live === undefined;
  }

  /** The processes that tell changes now. */
  get liveCount(): number {
    let count = 0;
    for (const { instance } of this.#connected) if (instance.isLive) count++;
    return count;
  }

  /** A process that tells changes now. */
  get live(): ServerInstance | undefined {
    for (const { instance } of this.#connected) if (instance.isLive) return instance;
    return undefined;
  }

  /** Subscribes to a process of the server. */
  connect(): void {
    const instance = this.#free.pop() ?? this.#createInstance();
    if (instance === undefined) return;
    const subscription = new ZoneSubscription({
      server: this.server,
      zones: this.zones,
      events: {
        onLive: (subscribed) => this.#goLive(connected, subscribed),
        onChanged: (name, serial) => this.#change(instance, Uint8Array.from(name), serial),
        onFlush: (cause, serial) => this.#flush(instance, cause, serial),
        onHeard: () => this.#noteHeard(instance),
        onLost: (reason) => this.#lose(connected, reason),
        onUnsupported: (reason) => this.#giveUp(connected, reason),
      },
    });
    const connected = { instance, subscription };
    this.#connected.push(connected);
    subscription.start();
  }

  /** The live process whose instance is at an offset. */
  find(bytes: Uint8Array, at: number): ServerInstance | undefined {
    for (const { instance } of this.#connected) {
      if (instance.isLive && instance.is(bytes, at)) return instance;
    }
    return undefined;
  }

  /** A process answered that tells no changes: another connection may lead to it. */
  search(nowMs: number): void {
    const isSearching = this.#connected.some(({ instance }) => !instance.isLive);
    if (isSearching || nowMs < this.#nextSearchMs) return;
    this.#nextSearchMs = nowMs + this.#searchPauseMs;
    this.#searchPauseMs = Math.min(this.#searchPauseMs * 2, LAST_SEARCH_MS);
    this.connect();
  }

  /** The server replies again after it was down. */
  retry(): void {
    for (const { subscription } of this.#connected) subscription.retry();
  }

  close(): void {
    for (const connected of [...this.#connected]) this.#end(connected);
  }

  get #zoneNames(): string[] {
    return this.zones.map((zone) => decodeName(zone));
  }

  get #keptAnswers(): number {
    let count = 0;
    for (const { instance } of this.#connected) {
      if (instance.isLive) count += this.#options.cache.keptAnswers(instance.number);
    }
    return count;
  }

  #createInstance(): ServerInstance | undefined {
    if (this.#connected.length === MAX_INSTANCES) return undefined;
    const number = this.#options.takeNumber();
    return number === undefined ? undefined : new ServerInstance(number, this.zones);
  }

  #goLive(connected: Connected, { instance: id, apex, serial }: Subscribed): void {
    const { instance } = connected;
    const same = this.#connected.find((one) => one.instance.isLive && one.instance.is(id, 0));
    if (same !== undefined && connected !== this.#connected[0]) {
      this.#end(connected);
      return;
    }
    if (same !== undefined) this.#end(same);
    const isFirst = this.live === undefined;
    this.#searchPauseMs = FIRST_SEARCH_MS;
    this.#events.started++;
    instance.become(id, apex);
    // What is dropped now is asked for at once: the server must not be taken for down until its next probe.
    this.#options.onLive(this.server);
    this.#flush(instance, 'new-subscription', serial);
    this.#setLive(instance, true);
    const { log } = this.#options;
    if (isFirst) {
      log.info(
        `${this.text} tells the changes of ${this.#zoneNames.join(', ')}: its answers are kept until then`,
      );
    } else log.info(`${this.text} has ${this.liveCount} processes that tell changes`);
  }

  /** Names beside the zones are none of its business, whatever the apex that it told. */
  #change(instance: ServerInstance, name: Uint8Array, serial: number): void {
    this.#events.changed++;
    this.#changedMs = performance.now();
    const zone = this.zones.find((each) => suffixOffset(name, name.length, each) >= 0);
    if (zone !== undefined) {
      this.#options.onChange(name, zone);
      this.#dropped += this.#options.cache.dropChanged(name, instance, serial, zone);
      this.#options.listener?.onChanged(instance, name);
    } else if (this.zones.some((each) => suffixOffset(each, each.length, name) >= 0)) {
      this.#flush(instance, 'by-server', serial);
    }
  }

  #lose(connected: Connected, reason: string): void {
    this.#events.lost++;
    this.#setLive(connected.instance, false);
    const count = this.liveCount;
    const { log } = this.#options;
    if (count > 0) log.info(`${this.text} has ${count} processes that tell changes: ${reason}`);
    else log.warn(`${this.text} tells no changes any more: ${reason}; TTLs rule until it does`);
    if (connected !== this.#connected[0]) this.#end(connected);
  }

  #giveUp(connected: Connected, reason: string): void {
    if (connected !== this.#connected[0]) this.#end(connected);
    else {
      const { log } = this.#options;
      log.info(
        `${this.text} does not tell changes of ${this.#zoneNames.join(', ')} (${reason}): TTLs rule`,
      );
    }
  }

  #end(connected: Connected): void {
    connected.subscription.close();
    this.#setLive(connected.instance, false);
    this.#connected.splice(this.#connected.indexOf(connected), 1);
    this.#free.push(connected.instance);
  }

  /** Any of its answers may have changed, up to this serial. */
  #flush(instance: ServerInstance, cause: FlushCause | 'new-subscription', serial: number): void {
    this.#flushes[cause]++;
    instance.changes.noteAll(serial);
    for (const zone of this.zones) {
      this.#options.onChange(zone, zone);
      this.#options.cache.dropBelow(zone);
    }
    this.#options.listener?.onFlushed(instance);
  }

  #noteHeard({ isLive, number }: ServerInstance): void {
    const { heardAt, lastHeardAt } = this.#options;
    heardAt[number] = isLive ? performance.now() / 1_000 : Number.NEGATIVE_INFINITY;
    if (isLive && lastHeardAt !== undefined) lastHeardAt[number] = heardAt[number]!;
  }

  #setLive(instance: ServerInstance, isLive: boolean): void {
    instance.isLive = isLive;
    this.#noteHeard(instance);
    const { listener } = this.#options;
    if (isLive) listener?.onLive(instance);
    else listener?.onEnded(instance);
  }
}
