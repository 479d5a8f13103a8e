import { BackOff } from '@kube-dns/base';
import {
  by,
  byBoth,
  type Log,
  type MetricFamily,
  type MetricPrefix,
  type StatusFacts,
} from '@kube-dns/daemon';
import {
  type AddedOptions,
  isOwnAddress,
  NO_OPTIONS,
  type ServerAddress,
  type ServerGroup,
  serverText,
} from '@kube-dns/transport';
import {
  CLUSTER_VERSION_REQUEST,
  type ClusterVersionNote,
  decodeName,
  INSTANCE_BYTES,
  isInZone,
  isOfInstance,
  ROOT_NAME,
  type Subscribed,
} from '@kube-dns/wire';
import { PublisherProcess } from './publisher-process.js';
import { type FlushCause, type SubscriptionStatus, ZoneSubscription } from './subscription.js';
import {
  type ChangeSource,
  type LastSeen,
  MAX_SUBSCRIPTIONS,
  neverSeen,
  WITH_TTL,
} from './version.js';

/** One subscription, as pages, metrics and statistics show it. */
export interface SubscriptionRow extends SubscriptionStatus {
  /** `ADDRESS#PORT`. */
  readonly server: string;
  readonly zones: readonly string[];
  /** Behind that address, those that announce changes now. */
  readonly processes: number;
  /** When something changed last, in milliseconds of `performance.now()`; undefined before that. */
  readonly changedMs: number | undefined;
  /** Cached answers that stay until the server says that they changed. */
  readonly pinnedAnswers: number;
  /** All cached answers of its zones that have not expired: see `AnswerCache.zoneAnswers`. */
  readonly zoneAnswers: number;
  /** Cached answers that were dropped because their names changed. */
  readonly droppedAnswers: number;
  readonly events: Readonly<Record<string, number>>;
  /** How often all answers were dropped, by reason. */
  readonly flushes: Readonly<Record<string, number>>;
}

/** Learns what processes of servers announce, once the cache has dropped what that changes. */
export interface ChangeListener {
  /** From now on a process announces every change. */
  onLive(instance: PublisherProcess): void;
  /** A name (lower-cased, in wire form) has changed, in a zone of its server. */
  onChanged(instance: PublisherProcess, name: Uint8Array): void;
  /** Any answer of a process may have changed. */
  onFlushed(instance: PublisherProcess): void;
  /** A process announces nothing any more; also called for one that never did. */
  onEnded(instance: PublisherProcess): void;
}

/** Processes behind the address of one server that are subscribed to; the answers of others have their TTL. */
export const MAX_INSTANCES = 8;
/**
 * A process that was behind other replicas is not subscribed to for so long. When it still sends heartbeats after that, it
 * has another history: see `hasOtherHistory`.
 */
const AVOIDED_MS = 13_000;
/**
 * Pauses between connections in search of another process: each is twice the last one. Where one leads is chance, and
 * a connection costs less than answers that are not pinned.
 */
const FIRST_SEARCH_MS = 1_000;
const LAST_SEARCH_MS = 5_000;

/** The cache whose answers are pinned while their server announces its changes; see `AnswerCache`. */
export interface SubscribedCache {
  /** Drops what a change of a name, in a zone of the source, may change; returns how many answers. */
  dropChanged(name: Uint8Array, source: ChangeSource, serial: number, zone: Uint8Array): number;
  dropBelow(zone: Uint8Array): void;
  /** How many answers the subscription with this number pins. */
  pinnedAnswers(subscription: number): number;
  /** How many answers there are of the zones of the server with this number. */
  zoneAnswers(server: number): number;
}

export interface ZoneServerOptions {
  readonly server: ServerAddress;
  /** By which the cache counts its answers. */
  readonly number: number;
  readonly cache: SubscribedCache;
  /** When subscriptions were heard, by their numbers; the cache has the same. */
  readonly lastSeen: LastSeen;
  /** Another number of a subscription; undefined when there is none. */
  readonly takeNumber: () => number | undefined;
  /** The name has changed, or all below it, in a zone of the server. */
  readonly onChange: (name: Uint8Array, zone: Uint8Array) => void;
  /** A process of the server announces changes from now on. */
  readonly onLive: (server: ServerAddress) => void;
  /** Whom changes are passed on to; none by default. */
  readonly listener?: ChangeListener | undefined;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** A subscription to one process, and which. */
interface Connected {
  readonly instance: PublisherProcess;
  readonly subscription: ZoneSubscription;
  /** The last process, if it was behind other replicas, and until when it is not wanted. */
  laggard: { readonly id: Uint8Array; readonly untilMs: number } | undefined;
}

/**
 * A server that may announce what changes in its zones. Behind the address of a Service are several processes. Where their
 * answers tell the version of the cluster, one subscription is enough, to any of them. Else an answer is pinned only while the
 * very process that gave it announces its changes.
 */
export class ZoneServer {
  /** How often a subscription became live, went on where it was, ended, and was behind other replicas; names that changed. */
  readonly #events = { started: 0, resumed: 0, lost: 0, behind: 0, changed: 0 };
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
  readonly #idle: PublisherProcess[] = [];
  /** The first one is tried for ever, the others until they end. */
  readonly #connected: Connected[] = [];
  readonly #searches = new BackOff({
    firstMs: FIRST_SEARCH_MS,
    longestMs: LAST_SEARCH_MS,
    randomPart: 0,
  });
  #nextSearchMs = 0;

  constructor(options: ZoneServerOptions) {
    this.#options = options;
  }

  get server(): ServerAddress {
    return this.#options.server;
  }

  get number(): number {
    return this.#options.number;
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
      pinnedAnswers: this.#pinnedAnswers,
      zoneAnswers: this.#options.cache.zoneAnswers(this.number),
      droppedAnswers: this.#dropped,
      events: this.#events,
      flushes: this.#flushes,
    };
  }

  /** Whether one of its processes has this number of a subscription. */
  hasNumber(number: number): boolean {
    return this.#connected.some(({ instance }) => instance.number === number);
  }

  /** Whether it announces changes, or did. */
  get hasAnnounced(): boolean {
    return this.#events.started > 0;
  }

  /** Whether it announces changes, did, or said that it will: its replies have a version, if that is asked for. */
  get announces(): boolean {
    return (
      this.hasAnnounced || this.#connected.some(({ subscription }) => subscription.isSupported)
    );
  }

  /** Whether it never announced changes, as one does that does not know how. */
  get isUnsupported(): boolean {
    return this.row()?.state !== 'down' && this.live === undefined;
  }

  /** The processes that announce changes now. */
  get liveCount(): number {
    let count = 0;
    for (const { instance } of this.#connected) if (instance.isLive) count++;
    return count;
  }

  /** A process that announces changes now. */
  get live(): PublisherProcess | undefined {
    for (const { instance } of this.#connected) if (instance.isLive) return instance;
    return undefined;
  }

  /** Subscribes to a process of the server. */
  connect(): void {
    const instance = this.#idle.pop() ?? this.#createInstance();
    if (instance === undefined) return;
    const subscription = new ZoneSubscription({
      server: this.server,
      zones: this.zones,
      knownVersion: () => instance.version,
      events: {
        onLive: (subscribed, note) => this.#goLive(connected, subscribed, note),
        onVersion: (note, serial) => this.#noteVersion(connected, note, serial),
        onChanged: (name, serial) =>
          this.#change(instance, new Uint8Array(name), instance.serialHere(serial)),
        onFlush: (cause, serial) => this.#flush(instance, cause, instance.serialHere(serial)),
        onSeen: () => this.#noteSeen(instance),
        onLost: (reason) => this.#lose(connected, reason),
        onUnsupported: (reason) => this.#giveUp(connected, reason),
        onBusy: (reason) =>
          this.#options.log.warn(
            `${this.text} takes no subscription to ${this.#zoneNames.join(', ')} (${reason}): answers expire by their TTLs until it does`,
          ),
      },
    });
    const connected: Connected = { instance, subscription, laggard: undefined };
    this.#connected.push(connected);
    subscription.start();
  }

  /** The live process whose instance is at an offset. */
  find(bytes: Uint8Array, at: number): PublisherProcess | undefined {
    for (const { instance } of this.#connected) {
      if (instance.isLive && instance.is(bytes, at)) return instance;
    }
    return undefined;
  }

  /** A process that answers alike, as the version of the cluster tells: it announces changes, or is to do so again soon. */
  findReplica(bytes: Uint8Array, at: number): PublisherProcess | undefined {
    for (const { instance } of this.#connected) if (instance.isReplica(bytes, at)) return instance;
    return undefined;
  }

  /** A process whose announcements tell what other replicas' answers know, also after it was lost; or else one that announces changes now. */
  get publisher(): PublisherProcess | undefined {
    for (const { instance } of this.#connected) if (instance.isComparable) return instance;
    return this.live;
  }

  /** A process answered that announces no changes: another connection may lead to it. */
  search(nowMs: number): void {
    const isSearching = this.#connected.some(({ instance }) => !instance.isLive);
    if (isSearching || nowMs < this.#nextSearchMs) return;
    this.#nextSearchMs = nowMs + this.#searches.next();
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

  get #pinnedAnswers(): number {
    let count = 0;
    for (const { instance } of this.#connected) {
      if (instance.isLive) count += this.#options.cache.pinnedAnswers(instance.number);
    }
    return count;
  }

  #createInstance(): PublisherProcess | undefined {
    if (this.#connected.length === MAX_INSTANCES) return undefined;
    const number = this.#options.takeNumber();
    if (number === undefined) return undefined;
    const instance = new PublisherProcess(number, this.zones, () => this.#leave(instance));
    return instance;
  }

  #goLive(
    connected: Connected,
    { instance: id, apex, serial }: Subscribed,
    note: ClusterVersionNote | undefined,
  ): void {
    const { instance, laggard } = connected;
    const version = note?.version;
    if (
      laggard !== undefined &&
      isOfInstance(id, 0, laggard.id) &&
      performance.now() < laggard.untilMs
    ) {
      connected.subscription.leave('it was behind other replicas a moment ago');
      return;
    }
    const twin = this.#twinOf(connected, id, version);
    if (twin !== undefined && connected !== this.#connected[0]) {
      this.#end(connected);
      return;
    }
    if (twin !== undefined) this.#end(twin);
    const isFirst = this.live === undefined;
    this.#searches.reset();
    this.#events.started++;
    // What is dropped now is asked for at once: the server must not be taken for down until its next probe.
    this.#options.onLive(this.server);
    if (note?.isResumed === true && version !== undefined && twin === undefined) {
      this.#events.resumed++;
      instance.resume(id, apex, serial, version);
      // Only a heartbeat says that it has contact to the API server.
      this.#setLive(instance, true);
    } else {
      connected.laggard = undefined;
      instance.become(id, apex, serial, version);
      this.#setLive(instance, true);
      this.#noteSeen(instance);
      this.#drop(instance, 'new-subscription');
    }
    const { log } = this.#options;
    if (isFirst) {
      log.info(
        `${this.text} announces the changes of ${this.#zoneNames.join(', ')}: its answers are pinned until one changes`,
      );
    } else log.info(`${this.text} has ${this.liveCount} processes that announce changes`);
  }

  /** The same process again, or a replica that answers alike: one subscription is enough. */
  #twinOf(connected: Connected, id: Uint8Array, version?: Uint8Array): Connected | undefined {
    return this.#connected.find(
      (one) => one !== connected && one.instance.isLive && one.instance.isTwin(id, version),
    );
  }

  #noteVersion(connected: Connected, note: ClusterVersionNote, serial?: number): void {
    const { instance } = connected;
    if (!instance.noteVersion(note, serial)) {
      const isHeartbeat = serial === undefined;
      if (isHeartbeat && instance.hasOtherHistory) this.#restart(connected);
      return;
    }
    const twin = this.#twinOf(connected, instance.id, note.version);
    if (twin !== undefined) this.#end(connected === this.#connected[0] ? twin : connected);
    // Answers of replicas with the history before are not compared any more.
    this.#drop(instance, 'by-server');
  }

  /** A process is behind other replicas: the next one goes on where it was. */
  #leave(instance: PublisherProcess): void {
    const connected = this.#connected.find((one) => one.instance === instance);
    if (connected === undefined) return;
    this.#events.behind++;
    connected.laggard = { id: instance.id, untilMs: performance.now() + AVOIDED_MS };
    connected.subscription.leave('it is behind other replicas');
  }

  /** What is known is of another history than that of a process: the next subscription begins anew. */
  #restart(connected: Connected): void {
    connected.instance.forget();
    this.#drop(connected.instance, 'by-server');
    connected.laggard = undefined;
    connected.subscription.leave('its cluster has another history');
  }

  /** Names beside the zones are none of its business, whatever the apex that it announced. */
  #change(instance: PublisherProcess, name: Uint8Array, serial: number): void {
    this.#events.changed++;
    this.#changedMs = performance.now();
    const zone = this.zones.find((each) => isInZone(name, name.length, each));
    if (zone !== undefined) {
      this.#options.onChange(name, zone);
      this.#dropped += this.#options.cache.dropChanged(name, instance, serial, zone);
      this.#options.listener?.onChanged(instance, name);
    } else if (this.zones.some((each) => isInZone(each, each.length, name))) {
      this.#flush(instance, 'by-server', serial);
    }
  }

  #lose(connected: Connected, reason: string): void {
    // One that was not wanted.
    if (!connected.instance.isLive) return;
    this.#events.lost++;
    this.#setLive(connected.instance, false);
    const count = this.liveCount;
    const { log } = this.#options;
    if (count > 0) log.info(`${this.text} has ${count} processes that announce changes: ${reason}`);
    else
      log.warn(
        `${this.text} announces no changes any more: ${reason}; answers expire by their TTLs until it does`,
      );
    if (connected !== this.#connected[0]) this.#end(connected);
  }

  #giveUp(connected: Connected, reason: string): void {
    if (connected !== this.#connected[0]) this.#end(connected);
    else {
      const { log } = this.#options;
      log.info(
        `${this.text} does not announce changes of ${this.#zoneNames.join(', ')} (${reason}): answers expire by their TTLs`,
      );
    }
  }

  #end(connected: Connected): void {
    connected.subscription.close();
    this.#setLive(connected.instance, false);
    connected.instance.become(NO_INSTANCE, ROOT_NAME);
    this.#connected.splice(this.#connected.indexOf(connected), 1);
    this.#idle.push(connected.instance);
  }

  /** Any of its answers may have changed, up to this serial. */
  #flush(instance: PublisherProcess, cause: FlushCause, serial: number): void {
    instance.changes.noteAll(serial);
    this.#drop(instance, cause);
  }

  #drop(instance: PublisherProcess, cause: FlushCause | 'new-subscription'): void {
    this.#flushes[cause]++;
    for (const zone of this.zones) {
      this.#options.onChange(zone, zone);
      this.#options.cache.dropBelow(zone);
    }
    this.#options.listener?.onFlushed(instance);
  }

  #noteSeen({ isLive, number }: PublisherProcess): void {
    if (isLive) this.#options.lastSeen[number] = performance.now() / 1_000;
  }

  #setLive(instance: PublisherProcess, isLive: boolean): void {
    const { listener } = this.#options;
    if (isLive) {
      instance.isLive = true;
      listener?.onLive(instance);
    } else {
      instance.end();
      listener?.onEnded(instance);
    }
  }
}

const NO_INSTANCE = new Uint8Array(INSTANCE_BYTES);

/** A server, and zones (lower-cased, in wire form) that it is asked for. */
export interface SubscribedServer {
  readonly server: ServerAddress;
  readonly zones: readonly Uint8Array[];
}

/** A cache that subscriptions keep right: it is notified of each change before that is passed on. */
export interface ChangeSink extends SubscribedCache {
  /** The name has changed, or all below it, in a zone of the server: replies on their way may be older. */
  forgetQuestions(name: Uint8Array, zone: Uint8Array): void;
}

export interface SubscriptionsOptions {
  /** The servers that may announce changes, and of which zones, until `follow`; a server may be there several times. */
  readonly servers?: readonly SubscribedServer[];
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Asks for the version of the zone: which process answers, which changes it knows, and the version of the cluster. */
const VERSION_OPTIONS: AddedOptions = { bytes: CLUSTER_VERSION_REQUEST, hasClientSubnet: false };

/**
 * Subscribes to the zones of a server at the very address that is asked for them: who gives the answers of a zone is who may
 * drop them from the cache. While a process announces its changes, its answers are pinned until it says that they changed.
 */
export class Subscriptions implements SubscribedCache {
  /** When the servers of subscriptions were last seen; the caches have the same. */
  readonly lastSeen: LastSeen = neverSeen();
  readonly #log: Pick<Log, 'info' | 'warn'>;
  readonly #sinks = new Set<ChangeSink>();
  #listener: ChangeListener | undefined;
  #upstreams: { noteAlive(server: ServerAddress): void } | undefined;
  #servers: readonly ZoneServer[];
  #lastNumber = 0;
  /** The number of the server of each subscription. */
  readonly #serverNumbers = new Uint8Array(WITH_TTL);

  constructor({ servers = [], log }: SubscriptionsOptions) {
    this.#log = log;
    this.#servers = this.#zoneServers(servers);
  }

  get servers(): readonly ZoneServer[] {
    return this.#servers;
  }

  /** What changes is dropped from this cache, too, from now on. */
  attach(sink: ChangeSink): void {
    this.#sinks.add(sink);
  }

  detach(sink: ChangeSink): void {
    this.#sinks.delete(sink);
  }

  /** Passes changes on to this one, once the caches have dropped what they change. */
  passOnTo(listener: ChangeListener): void {
    this.#listener = listener;
  }

  /** A server that announces changes is up. */
  reportTo(upstreams: { noteAlive(server: ServerAddress): void }): void {
    this.#upstreams = upstreams;
  }

  /** Subscribes to all servers but those at addresses of this one, which are known by then. */
  start(ownAddresses: readonly ServerAddress[]): void {
    for (const one of this.#servers) {
      if (!isOwnAddress(one.server, ownAddresses)) one.connect();
    }
  }

  /** Subscribes to these servers in place of those before, whose answers may be older than what these announce. */
  follow(servers: readonly SubscribedServer[], ownAddresses: readonly ServerAddress[]): void {
    const before = this.#servers;
    this.close();
    for (const { zones } of before) for (const zone of zones) this.dropBelow(zone);
    this.#lastNumber = 0;
    this.#servers = this.#zoneServers(servers);
    this.start(ownAddresses);
  }

  // To all caches.

  dropChanged(name: Uint8Array, source: ChangeSource, serial: number, zone: Uint8Array): number {
    let count = 0;
    for (const sink of this.#sinks) count += sink.dropChanged(name, source, serial, zone);
    return count;
  }
  dropBelow(zone: Uint8Array): void {
    for (const sink of this.#sinks) sink.dropBelow(zone);
  }
  pinnedAnswers(subscription: number): number {
    let count = 0;
    for (const sink of this.#sinks) count += sink.pinnedAnswers(subscription);
    return count;
  }
  zoneAnswers(server: number): number {
    let count = 0;
    for (const sink of this.#sinks) count += sink.zoneAnswers(server);
    return count;
  }

  /** The number of a server, by which the caches count: see `ZoneServerNumbers`. The longest zone of a name decides. */
  serverNumber(name: Uint8Array, length: number, subscription: number): number {
    if (subscription !== 0) return this.#serverNumbers[subscription % WITH_TTL]!;
    let longest = 0;
    let number = 0;
    for (const one of this.#servers) {
      for (const zone of one.zones) {
        if (zone.length <= longest || !isInZone(name, length, zone)) continue;
        longest = zone.length;
        number = one.number;
      }
    }
    return number;
  }

  /** What pages, metrics and statistics show. */
  rows(): SubscriptionRow[] {
    return this.#servers.flatMap((one) => one.row() ?? []);
  }

  /** The same of the one with this number, WITH_TTL more or not; undefined when it has ended. */
  rowOf(number: number): SubscriptionRow | undefined {
    return this.#servers.find((one) => one.hasNumber(number % WITH_TTL))?.row();
  }

  /** A server replies again after it was down. */
  retry({ address, port }: ServerAddress): void {
    const one = this.#servers.find(
      ({ server }) => server.port === port && server.address === address,
    );
    one?.retry();
  }

  /** The options that questions to a group of servers have. */
  optionsFor({ servers }: ServerGroup): AddedOptions {
    for (const one of this.#servers) {
      if (!one.announces) continue;
      const { address, port } = one.server;
      for (const server of servers) {
        if (server.port === port && server.address === address) return VERSION_OPTIONS;
      }
    }
    return NO_OPTIONS;
  }

  /** Whether one of these servers announces changes, or did. */
  hasAnnounced({ servers }: ServerGroup): boolean {
    return this.#servers.some(
      (one) => one.hasAnnounced && servers.some((server) => isSameServer(server, one.server)),
    );
  }

  /** Who announces the changes of a reply: the process whose instance is at an offset, or one that answers alike. */
  find(reply: Uint8Array, at: number): PublisherProcess | undefined {
    for (const one of this.#servers) {
      const instance = one.find(reply, at);
      if (instance !== undefined) return instance;
    }
    for (const one of this.#servers) {
      const instance = one.findReplica(reply, at);
      if (instance !== undefined) return instance;
    }
    return undefined;
  }

  /** A process that announces changes of the zone that a name (lower-cased, in wire form) is in. */
  publisherOf(name: Uint8Array, nameLength: number): PublisherProcess | undefined {
    for (const one of this.#servers) {
      const { publisher } = one;
      if (publisher?.has(name, nameLength) === true) return publisher;
    }
    return undefined;
  }

  /** A process that announces no changes has answered for such a name: it is looked for, where that is of use. */
  search(name: Uint8Array, nameLength: number): void {
    const nowMs = performance.now();
    for (const one of this.#servers) {
      if (one.live?.has(name, nameLength) === true) one.search(nowMs);
    }
  }

  close(): void {
    for (const one of this.#servers) one.close();
  }

  /** Each server once, in the order given. */
  #zoneServers(given: readonly SubscribedServer[]): ZoneServer[] {
    const servers = new Map<string, ZoneServer>();
    for (const { server, zones } of given) {
      const text = serverText(server);
      const one = servers.get(text) ?? this.#zoneServer(server, servers.size + 1);
      servers.set(text, one);
      one.zones.push(...zones);
    }
    return Array.from(servers.values());
  }

  #takeNumber(server: number): number | undefined {
    if (this.#lastNumber === MAX_SUBSCRIPTIONS) return undefined;
    this.#serverNumbers[++this.#lastNumber] = server;
    return this.#lastNumber;
  }

  #zoneServer(server: ServerAddress, given: number): ZoneServer {
    const listenerNow = () => this.#listener;
    // Of more than are subscribed to nothing is counted.
    const number = given > MAX_SUBSCRIPTIONS ? 0 : given;
    return new ZoneServer({
      server,
      number,
      cache: this,
      lastSeen: this.lastSeen,
      takeNumber: () => this.#takeNumber(number),
      onChange: (name, zone) => {
        for (const sink of this.#sinks) sink.forgetQuestions(name, zone);
      },
      onLive: (at) => this.#upstreams?.noteAlive(at),
      get listener() {
        return listenerNow();
      },
      log: this.#log,
    });
  }
}

/** Fewer answers than these say nothing of a share. */
const MIN_ANSWERS = 50;
/** A smaller share of pinned answers is a problem. */
const MIN_COVERAGE = 0.9;

/** The share of a server's cached answers that are pinned; undefined without answers. */
function coverageOf({ pinnedAnswers, zoneAnswers }: SubscriptionRow): number | undefined {
  return zoneAnswers === 0 ? undefined : pinnedAnswers / zoneAnswers;
}

function isSameServer(one: ServerAddress, other: ServerAddress): boolean {
  return one.port === other.port && one.address === other.address;
}

/** The page `/subscriptions`, as JSON: whether each zone is live, why not, and since when. Ages are in seconds. */
export function subscriptionsPage(
  rows: readonly SubscriptionRow[],
  nowMs = performance.now(),
): string {
  const ageSeconds = (ms: number | undefined) =>
    ms === undefined ? undefined : Math.round(nowMs - ms) / 1_000;
  const subscriptions = rows.map((row) => ({
    server: row.server,
    zones: row.zones,
    state: row.state,
    reason: row.reason === '' ? undefined : row.reason,
    forSeconds: ageSeconds(row.sinceMs),
    lastMessageAgeSeconds: ageSeconds(row.lastSeenMs),
    serial: row.serial,
    processes: row.processes,
    pinnedAnswers: row.pinnedAnswers,
    zoneAnswers: row.zoneAnswers,
    coverage: coverageOf(row),
    droppedAnswers: row.droppedAnswers,
    events: row.events,
    flushes: row.flushes,
  }));
  return `${JSON.stringify({ subscriptions }, null, 2)}\n`;
}

/**
 * A row for each zone whose server may announce what changes, those that should and do not first. What is counted of a server
 * is in the row of its first zone.
 */
export function zoneRows(
  rows: readonly SubscriptionRow[],
  nowMs = performance.now(),
): StatusFacts[] {
  const ageSeconds = (ms: number | undefined) =>
    ms === undefined ? null : Math.round((nowMs - ms) / 100) / 10;
  const shown = rows.flatMap((row) =>
    row.zones.map((zone, index): StatusFacts => ({
      zone,
      server: row.server,
      state: row.state,
      reason: row.reason === '' ? null : row.reason,
      forSeconds: ageSeconds(row.sinceMs),
      serial: row.serial ?? null,
      lastChangeSeconds: ageSeconds(row.changedMs),
      lastMessageSeconds: ageSeconds(row.lastSeenMs),
      processes: row.processes,
      // Of the server, not of a zone: once.
      pinnedAnswers: index === 0 ? row.pinnedAnswers : null,
      zoneAnswers: index === 0 ? row.zoneAnswers : null,
      coveragePercent: index === 0 ? percentOf(coverageOf(row)) : null,
      droppedAnswers: index === 0 ? row.droppedAnswers : null,
      flushes: index === 0 ? flushesText(row) : null,
    })),
  );
  const rank = ({ state }: StatusFacts) => Number(state !== 'down');
  return shown.sort((one, other) => rank(one) - rank(other));
}

/** How often all answers were dropped, by reason: `missed-message 2`. */
function flushesText({ flushes }: SubscriptionRow): string {
  const counted = Object.entries(flushes).filter(([, count]) => count > 0);
  return counted.map(([reason, count]) => `${reason} ${count}`).join(', ');
}

/** Rounded down: 100 means all. */
function percentOf(share: number | undefined): number | null {
  return share === undefined ? null : Math.floor(share * 100);
}

/** A sentence for each server that announced what changes, and does not now, and for each whose changes reach few answers. */
export function zoneProblems(rows: readonly SubscriptionRow[]): string[] {
  return rows.flatMap((row) => {
    const { server, state, reason } = row;
    const zones = row.zones.join(', ');
    if (state === 'down') {
      return `${server} announces no changes of ${zones} now (${reason}): answers expire by their TTLs`;
    }
    const coverage = coverageOf(row);
    const isLow = row.zoneAnswers >= MIN_ANSWERS && coverage! < MIN_COVERAGE;
    if (state !== 'live' || !isLow) return [];
    return `${server} announces the changes of ${zones}, but only ${percentOf(coverage)} % of ${row.zoneAnswers} cached answers are pinned: after a change the others are old until their TTL ends`;
  });
}

/** The metrics of the subscriptions; a server that does not offer them has none. */
export function subscriptionFamilies(
  { counter, gauge }: MetricPrefix,
  rows: () => readonly SubscriptionRow[],
): MetricFamily[] {
  const offered = () => rows().filter(({ state }) => state !== 'unsupported');
  const byServer = (valueOf: (row: SubscriptionRow) => number) =>
    by('server', () => offered().map((row) => [row.server, valueOf(row)]));
  const byServerAnd = (
    label: string,
    valuesOf: (row: SubscriptionRow) => Readonly<Record<string, number>>,
  ) => byBoth(['server', label], () => offered().map((row) => [row.server, valuesOf(row)]));
  return [
    gauge(
      'subscription_live',
      'Whether a server announces the changes of a zone: 1, and its answers are kept until they change.',
      byServerAnd('zone', ({ zones, state }) =>
        Object.fromEntries(zones.map((zone) => [zone, Number(state === 'live')])),
      ),
    ),
    gauge(
      'subscription_message_age_seconds',
      'Time since the last message of a live subscription; there is one every 2 s at least.',
      by('server', () =>
        offered().flatMap(({ server, state, lastSeenMs }) =>
          state === 'live' && lastSeenMs !== undefined
            ? [[server, (performance.now() - lastSeenMs) / 1_000] as const]
            : [],
        ),
      ),
    ),
    gauge(
      'subscription_change_age_seconds',
      'Time since a server announced a change last; nothing before the first.',
      by('server', () =>
        offered().flatMap(({ server, changedMs }) =>
          changedMs === undefined
            ? []
            : [[server, (performance.now() - changedMs) / 1_000] as const],
        ),
      ),
    ),
    gauge(
      'subscription_kept_answers',
      'Cached answers that stay until their names change.',
      byServer(({ pinnedAnswers }) => pinnedAnswers),
    ),
    gauge(
      'subscription_zone_answers',
      'Cached answers of the zones that have not expired, kept or not.',
      byServer(({ zoneAnswers }) => zoneAnswers),
    ),
    gauge(
      'subscription_coverage_ratio',
      'Share of them that stay until their names change, from 0 to 1; nothing without cached answers.',
      by('server', () =>
        offered().flatMap((row) => {
          const coverage = coverageOf(row);
          return coverage === undefined ? [] : [[row.server, coverage] as const];
        }),
      ),
    ),
    counter(
      'subscription_dropped_answers_total',
      'Cached answers that were dropped because their names changed.',
      byServer(({ droppedAnswers }) => droppedAnswers),
    ),
    counter(
      'subscription_events_total',
      'Subscriptions that started or were lost, and names that changed.',
      byServerAnd('event', ({ events }) => events),
    ),
    counter(
      'subscription_flushes_total',
      'How often all answers of the zones were dropped, by reason.',
      byServerAnd('reason', ({ flushes }) => flushes),
    ),
  ];
}
