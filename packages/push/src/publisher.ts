import { type ClientNetworks, formatHostPort } from '@kube-dns/base';
import {
  type BucketHistogram,
  byKey,
  type Log,
  type MetricFamily,
  type MetricPrefix,
  type StatusFacts,
} from '@kube-dns/daemon';
import {
  descriptorShare,
  frameMessage,
  isLoopback,
  type Session,
  type SessionService,
} from '@kube-dns/transport';
import {
  changedTlv,
  clusterVersionTlv,
  DSO_TYPE,
  type DsoMessage,
  type DsoTlv,
  INSTANCE_BYTES,
  keepaliveTlv,
  lowerCaseByte,
  plainNameEnd,
  randomBytes,
  RCODE,
  readClusterVersion,
  readDso,
  serialTlv,
  subscribedTlv,
  writeDso,
} from '@kube-dns/wire';
import { type ChangeObserver, ChangeFeed } from './change-feed.js';
import { ClientShares } from './client-shares.js';
import { RecentChanges } from './recent-changes.js';

/** Well below the TTL of negative answers, which caches give no longer than that after a message. */
const HEARTBEAT_MS = 2_000;
/**
 * The same where the version has changed, and no name with it: so subscribers know that the server is not behind. With
 * more of them it is a millisecond more for so many.
 */
const VERSION_MS = 250;
const SUBSCRIBERS_PER_MS = 7;
/** A client that has sent nothing for this long, although it should every KEEPALIVE_MS, has gone. */
const SILENCE_MS = 30_000;
const KEEPALIVE_MS = 10_000;
/** A subscriber that leaves more unread than this gets nothing until it has read it, */
const MAX_UNSENT_BYTES = 64 * 1024;
/** and is disconnected when it has not by then. */
const BEHIND_MS = 10_000;
/** A subscriber takes some 7 KiB (bench fan-out); what others keep lives as long as its TTL says. */
const MAX_SUBSCRIBERS = 6_000;
const SHARE_OF_DESCRIPTORS = 1 / 4;
/** Between parts of those who get READY: SUBSCRIBERS_PER_MS come back in a millisecond. */
const READY_MS = 10;
/** Subscribers come back anywhere in a second after a process that ends; what follows them takes less than another one. */
const LEAVE_MS = 2_000;
/** Time for messages in one turn of the event loop: then queries are answered. */
const TURN_MS = 2;
/** Of one message. */
const MAX_NAMES = 256;
/** Between lines of the log about clients that may not subscribe, of each reason: they ask again all the time. */
const MS_BETWEEN_LINES = 60_000;
/** Rows of the page `/subscribers`. */
const MAX_ROWS = 1_000;

/** Why a client may not subscribe: there are enough, or it is in none of the networks that may. */
type Refusal = 'limit' | 'network';

interface Subscriber {
  readonly sinceMs: number;
  lastSeenMs: number;
  /** It was told what it missed, or that this is not known. */
  isResumed: boolean;
  /** Since when it reads too slowly, undefined when it does not: it needs a FLUSH then. */
  behindMs: number | undefined;
  /** The number of the message that it gets next. */
  next: number;
}

/** A subscriber, as the page shows it. Times are in milliseconds. */
export interface SubscriberRow {
  /** Its address and port. */
  readonly host: string;
  readonly port: number;
  /** How long it is subscribed, how long ago it sent something, how long it has been too slow. */
  readonly forMs: number;
  readonly lastSeenAgoMs: number;
  readonly behindMs: number | undefined;
  readonly unreadBytes: number;
}

/** The zones whose changes are announced. */
export interface PublishedZones {
  /** The name of the zone that has the services, lower-cased in wire form. */
  readonly apex: Uint8Array;
  /** The names of other zones, in the same form; none unless given. Of reverse names there may always be changes. */
  readonly beside?: readonly Uint8Array[];
  /** Zones whose answers have their TTL, in the same form; none unless given. */
  readonly unannounced?: readonly Uint8Array[];
  /** Whether every change until now is known, which is what a heartbeat says. */
  readonly isKnown: boolean;
  /** The rcode for a subscription to a zone, lower-cased in wire form: NOERROR, NOTAUTH where none of its names is announced, SERVFAIL for now. */
  rcodeFor(zone: Uint8Array): number;
  /** The version of the cluster that answers have now; undefined where versions cannot be compared. */
  readonly version?: Uint8Array | undefined;
}

/** Who may subscribe. */
export interface SubscriberRules {
  /** Clients in these and those of this machine or pod; all unless given. */
  readonly networks?: ClientNetworks | undefined;
  /** So many at a time; 6,000 unless given. */
  readonly limit?: number;
  /** Names a client that may not, and why, once a minute. */
  readonly log: Pick<Log, 'warn'>;
}

/** How many may subscribe to a process: 6,000, and at most a quarter of its descriptors. */
export function subscriberLimit(): number {
  return descriptorShare(MAX_SUBSCRIBERS, SHARE_OF_DESCRIPTORS);
}

export interface PublisherOptions<Reason extends string> {
  readonly zones: PublishedZones;
  /** What it announces; its own feed, with these reasons why else everything may have changed, unless given. */
  readonly feed?: ChangeFeed<Reason>;
  readonly reasons?: readonly Reason[];
  /** Every client may subscribe unless given. */
  readonly rules?: SubscriberRules | undefined;
  /** Milliseconds that never fall; the process's unless given. */
  readonly now?: () => number;
}

/**
 * The caches that want to know what changes in zones. Each subscribes by DNS Stateful Operations (RFC 8490) on a
 * connection to the DNS port, and learns names, never records.
 */
export class Publisher<Reason extends string = never> implements SessionService, ChangeObserver {
  readonly feed: ChangeFeed<Reason>;
  readonly instance = randomBytes(INSTANCE_BYTES);
  /** Subscribers that were disconnected because they did not read, or sent nothing, or for one of another client. */
  dropped = 0;
  /** Subscriptions that were refused, by reason. */
  readonly refused: Record<Refusal, number> = { limit: 0, network: 0 };
  /** How many may subscribe. */
  readonly limit: number;
  readonly #zones: PublishedZones;
  readonly #rules: SubscriberRules | undefined;
  readonly #subscribers = new Map<Session, Subscriber>();
  /** How many of them each address has: it is looked up for queries of an address that asks too much. */
  readonly #clients = new Map<string, number>();
  readonly #shares = new ClientShares<Session>();
  /** Who came too early and is still there: idle connections, of which the listener limits how many there are. */
  readonly #waiting = new Set<Session>();
  #readying: NodeJS.Timeout | undefined;
  /** The process ends soon: no one may subscribe any more. */
  #isLeaving = false;
  /** Called without a subscriber, then. */
  #onEmpty: () => void = () => undefined;
  readonly #now: () => number;
  readonly #recent = new RecentChanges();
  /** The version of the cluster that was announced last. */
  #announced: Uint8Array | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  readonly #outbox = new Outbox();
  /** While messages are sent: who has not got them yet, the number after those that all get; and the turn in which it goes on. */
  #pass: { subscribers: MapIterator<[Session, Subscriber]>; end: number } | undefined;
  #turn: NodeJS.Immediate | undefined;
  /** When the last one was sent. */
  #beatMs = Number.NEGATIVE_INFINITY;
  /** When the log named a client that may not subscribe. */
  readonly #loggedAtMs = new Map<Refusal, number>();

  constructor(options: PublisherOptions<Reason>) {
    const { zones, reasons, now = () => performance.now() } = options;
    this.#zones = zones;
    this.#rules = options.rules;
    this.limit = options.rules?.limit ?? MAX_SUBSCRIBERS;
    this.#now = now;
    this.feed = options.feed ?? new ChangeFeed(reasons, now);
  }

  get apex(): Uint8Array {
    return this.#zones.apex;
  }

  get beside(): readonly Uint8Array[] {
    return this.#zones.beside ?? [];
  }

  get unannounced(): readonly Uint8Array[] {
    return this.#zones.unannounced ?? [];
  }

  /** Of the last change that was announced. */
  get serial(): number {
    return this.feed.serial;
  }

  /** The version of the cluster that answers have now. */
  get cluster(): Uint8Array | undefined {
    return this.#zones.version;
  }

  /** The connections with a subscription. */
  get count(): number {
    return this.#subscribers.size;
  }

  get receivers(): number {
    return this.count;
  }

  /** Those that read too slowly, and are sent nothing meanwhile. */
  get behind(): number {
    const isBehind = ({ behindMs }: Subscriber) => behindMs !== undefined;
    return Array.from(this.#subscribers.values()).filter(isBehind).length;
  }

  /** Whether an address has a subscription: it has replied over TCP. */
  hasClient(address: string): boolean {
    return this.#clients.has(address);
  }

  /** The oldest, at most so many; all unless given. */
  rows(most = Number.POSITIVE_INFINITY): SubscriberRow[] {
    const now = this.#now();
    const oldest = [...this.#subscribers].slice(0, most);
    return oldest.map(([session, { sinceMs, lastSeenMs, behindMs }]) => ({
      host: session.address,
      port: session.port,
      forMs: now - sinceMs,
      lastSeenAgoMs: now - lastSeenMs,
      behindMs: behindMs === undefined ? undefined : now - behindMs,
      unreadBytes: session.unsentBytes,
    }));
  }

  receive(bytes: Uint8Array, session: Session): void {
    const message = readDso(bytes);
    // RFC 8490 section 5.4.1, 5.3.3: without a session no one can be told what is wrong.
    // Section 5.5.2: nor is a response to anything that was asked.
    if (message === undefined || message.isResponse) session.close();
    else this.#receive(message, session);
  }

  onChanged(names: readonly Uint8Array[], after: number): void {
    const version = this.#zones.version?.slice();
    const isPart = this.feed.isPending;
    this.#recent.note(names, version);
    if (!isPart) this.#announced = version;
    if (this.count === 0) return;
    this.#send(
      changedTlv({ before: after - 1, after, names }),
      clusterVersionTlv(version, { isPart }),
    );
  }

  onFlush(serial: number): void {
    this.#announced = this.#zones.version?.slice();
    this.#recent.begin(this.#announced);
    if (this.count === 0) return;
    this.#send(serialTlv(DSO_TYPE.FLUSH, serial), clusterVersionTlv(this.#announced));
  }

  /** The zones may be subscribed to from now on: those who were refused before get READY, a part at a time. */
  welcome(): void {
    clearTimeout(this.#readying);
    let left = READY_MS * SUBSCRIBERS_PER_MS;
    for (const session of this.#waiting) {
      if (left-- === 0) {
        this.#readying = setTimeout(() => this.welcome(), READY_MS).unref();
        return;
      }
      this.#waiting.delete(session);
      session.push(event({ type: DSO_TYPE.READY, data: NO_DATA }));
    }
  }

  /** Changes are not known any more: for the subscribers answers expire by their TTLs, until they subscribe again. */
  dismiss(): void {
    for (const session of [...this.#subscribers.keys()]) {
      this.#leave(session);
      session.close();
    }
  }

  /**
   * The process ends soon: its subscribers subscribe to another one, where there is one, and get every change until then. Resolves when
   * all have gone, or after 2 s.
   */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    if (this.count === 0) return;
    this.#send({ type: DSO_TYPE.LEAVING, data: NO_DATA });
    await new Promise<void>((resolve) => {
      const limit = setTimeout(resolve, LEAVE_MS);
      this.#onEmpty = () => {
        clearTimeout(limit);
        resolve();
      };
    });
  }

  close(): void {
    this.#onEmpty();
    this.feed.close();
    clearInterval(this.#heartbeat);
    clearTimeout(this.#readying);
    clearImmediate(this.#turn);
  }

  /** From now on changes are remembered, as from the first subscriber on; what changed before is not. */
  remember(): void {
    if (!this.feed.isObserved) this.#recent.begin(this.#zones.version?.slice());
    this.feed.observe(this);
    this.#announceVersion();
  }

  /** Takes the present version for announced, unless changes up to it are still to be; returns whether it is another one. */
  #announceVersion(): boolean {
    const { version } = this.#zones;
    if (this.feed.isPending || isSame(version, this.#announced)) return false;
    this.#announced = version?.slice();
    return true;
  }

  #receive({ id, tlvs }: DsoMessage, session: Session): void {
    const subscriber = this.#subscribers.get(session);
    if (subscriber !== undefined) subscriber.lastSeenMs = this.#now();
    const [operation] = tlvs;
    const respond = (rcode: number, ...answers: readonly DsoTlv[]) =>
      session.push(writeDso({ id, isResponse: true, rcode, tlvs: answers }));
    // A message that wants no response must be one that is understood (RFC 8490 section 5.1.1).
    if (id === 0) session.close();
    else if (operation === undefined) respond(RCODE.FORMERR);
    else if (operation.type === DSO_TYPE.KEEPALIVE)
      respond(RCODE.NOERROR, keepaliveTlv(KEEPALIVE_MS));
    else if (operation.type !== DSO_TYPE.SUBSCRIBE) respond(RCODE.DSOTYPENI);
    else {
      const rcode = this.#subscribe(operation.data, session);
      const note = readClusterVersion(tlvs);
      if (rcode !== RCODE.NOERROR) respond(rcode);
      else if (note === undefined) respond(rcode, subscribedTlv(this));
      else {
        this.#catchUp(session);
        this.#announceVersion();
        const missed = this.#missedBy(session, note.version);
        const isResumed = missed !== undefined;
        respond(rcode, subscribedTlv(this), clusterVersionTlv(this.#announced, { isResumed }));
        if (isResumed) this.#repeat(missed, session);
      }
    }
  }

  /** The names that changed after a version, once for each subscriber; undefined where that is not known. */
  #missedBy(session: Session, version: Uint8Array | undefined): readonly Uint8Array[] | undefined {
    const subscriber = this.#subscribers.get(session)!;
    if (version === undefined || this.#announced === undefined || subscriber.isResumed)
      return undefined;
    subscriber.isResumed = true;
    return this.#recent.after(version);
  }

  /** Tells a subscriber that has come back what it missed: more messages with the serial that it has. */
  #repeat(names: readonly Uint8Array[], session: Session): void {
    const { serial } = this.feed;
    for (let at = 0; at < names.length; at += MAX_NAMES) {
      const part = names.slice(at, at + MAX_NAMES);
      const isPart = at + MAX_NAMES < names.length;
      const changed = changedTlv({ before: serial, after: serial, names: part });
      session.push(event(changed, clusterVersionTlv(this.#announced, { isPart })));
    }
  }

  #subscribe(zone: Uint8Array, session: Session): number {
    if (!this.#maySubscribe(session)) return RCODE.REFUSED;
    if (plainNameEnd(zone, 0) !== zone.length) return RCODE.FORMERR;
    const rcode = this.#isLeaving ? RCODE.SERVFAIL : this.#zones.rcodeFor(zone.map(lowerCaseByte));
    if (rcode === RCODE.SERVFAIL && !this.#waiting.has(session)) {
      this.#waiting.add(session);
      session.onClose(() => this.#waiting.delete(session));
    }
    if (rcode !== RCODE.NOERROR) return rcode;
    if (this.#subscribers.has(session)) return RCODE.NOERROR;
    // It is asked again soon: REFUSED is also what servers say that know no subscriptions.
    if (this.count >= this.limit && !this.#makeRoom(session)) return RCODE.SERVFAIL;
    // Without a subscriber names are collected for longer.
    if (this.count === 0) this.feed.passOn();
    const now = this.#now();
    const { end: next } = this.#outbox;
    this.#subscribers.set(session, {
      sinceMs: now,
      lastSeenMs: now,
      isResumed: false,
      behindMs: undefined,
      next,
    });
    this.#shares.add(session);
    this.#clients.set(session.address, (this.#clients.get(session.address) ?? 0) + 1);
    this.remember();
    this.#heartbeat ??= setInterval(() => this.#beat(), VERSION_MS).unref();
    session.stay();
    session.onClose(() => this.#leave(session));
    return RCODE.NOERROR;
  }

  #maySubscribe(session: Session): boolean {
    const networks = this.#rules?.networks;
    if (networks === undefined) return true;
    if (isLoopback(session.address) || networks.has(session.address)) return true;
    this.refused.network++;
    this.#warn('network', `${session.address} may not subscribe to changes: it is not in --subscribers`); // prettier-ignore
    return false;
  }

  /** Takes its place from another one, if that is fair. */
  #makeRoom(session: Session): boolean {
    const taken = this.#shares.takenFor(session);
    const reached = limitReached(this);
    if (taken === undefined) {
      this.refused.limit++;
      this.#warn('limit', `${reached}: the answers of ${session.address} live as long as their TTL says`); // prettier-ignore
      return false;
    }
    this.#warn('limit', `${reached}: ${taken.address}, which has more, gives way to ${session.address}`); // prettier-ignore
    this.#drop(taken);
    return true;
  }

  #warn(why: Refusal, line: string): void {
    const now = this.#now();
    if (now - (this.#loggedAtMs.get(why) ?? Number.NEGATIVE_INFINITY) < MS_BETWEEN_LINES) return;
    this.#loggedAtMs.set(why, now);
    this.#rules?.log.warn(line);
  }

  #drop(session: Session): void {
    this.dropped++;
    this.#leave(session);
    session.close();
  }

  #leave(session: Session): void {
    if (!this.#subscribers.delete(session)) return;
    this.#shares.delete(session);
    const rest = this.#clients.get(session.address)! - 1;
    if (rest > 0) this.#clients.set(session.address, rest);
    else this.#clients.delete(session.address);
    if (this.count > 0) return;
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
    this.#onEmpty();
  }

  #send(...tlvs: readonly DsoTlv[]): void {
    this.#outbox.add(event(...tlvs));
    if (this.#turn === undefined) this.#sendOn();
  }

  /** Sends each subscriber what it has not got yet, for one turn of the event loop; goes on in the next ones. */
  readonly #sendOn = (): void => {
    this.#turn = undefined;
    const endMs = this.#now() + TURN_MS;
    const outbox = this.#outbox;
    this.#pass ??= { subscribers: this.#subscribers.entries(), end: outbox.end };
    const { subscribers, end } = this.#pass;
    for (let each = subscribers.next(); each.done !== true; each = subscribers.next()) {
      const [session, subscriber] = each.value;
      const { next } = subscriber;
      subscriber.next = outbox.end;
      if (!this.#isBehind(session, subscriber) && next < outbox.end)
        session.pushFrames(outbox.from(next));
      if (this.#now() >= endMs) {
        this.#turn = setImmediate(this.#sendOn);
        return;
      }
    }
    this.#pass = undefined;
    outbox.forget(end);
    // The first ones got their messages before the last ones came.
    if (outbox.end > end) this.#turn = setImmediate(this.#sendOn);
  };

  /** Sends a subscriber what it has not got yet, so that what follows continues it. */
  #catchUp(session: Session): void {
    const subscriber = this.#subscribers.get(session)!;
    const { next } = subscriber;
    if (next === this.#outbox.end || this.#isBehind(session, subscriber)) return;
    subscriber.next = this.#outbox.end;
    session.pushFrames(this.#outbox.from(next));
  }

  #withVersion(tlv: DsoTlv): readonly DsoTlv[] {
    return [tlv, clusterVersionTlv(this.#announced)];
  }

  /** One that has caught up is notified that everything may have changed. */
  #isBehind(session: Session, subscriber: Subscriber): boolean {
    const { unsentBytes } = session;
    if (subscriber.behindMs === undefined) {
      if (unsentBytes <= MAX_UNSENT_BYTES) return false;
      subscriber.behindMs = this.#now();
    } else if (unsentBytes === 0) {
      this.feed.lag.observe((this.#now() - subscriber.behindMs) / 1_000);
      this.feed.flushes['slow-subscriber']++;
      subscriber.behindMs = undefined;
      session.push(event(...this.#withVersion(serialTlv(DSO_TYPE.FLUSH, this.feed.serial))));
    }
    return true;
  }

  #beat(): void {
    const now = this.#now();
    const quietMs = now - this.#beatMs;
    const isDue = quietMs > VERSION_MS / 2 + this.count / SUBSCRIBERS_PER_MS;
    if (!(isDue && this.#announceVersion()) && quietMs < HEARTBEAT_MS - VERSION_MS / 2) return;
    this.#beatMs = now;
    for (const [session, { lastSeenMs, behindMs = now }] of this.#subscribers)
      if (now - lastSeenMs > SILENCE_MS || now - behindMs > BEHIND_MS) this.#drop(session);
    if (this.#zones.isKnown)
      this.#send(...this.#withVersion(serialTlv(DSO_TYPE.HEARTBEAT, this.feed.serial)));
    // So that those who have caught up are notified.
    else if (this.#turn === undefined) this.#sendOn();
  }
}

const NO_DATA = new Uint8Array(0);

function event(...tlvs: readonly DsoTlv[]): Uint8Array {
  return writeDso({ id: 0, isResponse: false, rcode: RCODE.NOERROR, tlvs });
}

function isSame(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return Buffer.compare(one, other) === 0;
}

/** The messages that not all subscribers have got, each with its length in front and a number: all share their bytes. */
class Outbox {
  /** The number after the last one. */
  end = 0;
  #frames: Buffer[] = [];
  #joined: { readonly from: number; readonly end: number; readonly frames: Buffer } | undefined;

  add(message: Uint8Array): void {
    this.#frames.push(frameMessage(message));
    this.end++;
  }

  /** All from this number on, together: one message, mostly. */
  from(number: number): Buffer {
    const count = this.end - number;
    if (count === 1) return this.#frames.at(-1)!;
    if (this.#joined?.from !== number || this.#joined.end !== this.end) {
      const frames = Buffer.concat(this.#frames.slice(-count));
      this.#joined = { from: number, end: this.end, frames };
    }
    return this.#joined.frames;
  }

  /** All have got those before this number. */
  forget(number: number): void {
    const count = this.end - number;
    this.#frames = count === 0 ? [] : this.#frames.slice(-count);
    this.#joined = undefined;
  }
}

/** The page `/subscribers`, as JSON: the oldest 1,000 who are subscribed, and who reads too slowly. Ages are in seconds. */
export function subscribersPage(
  publisher: Omit<SubscriberCounts, 'behind'> & { rows(most: number): readonly SubscriberRow[] },
): string {
  const { feed, dropped, count, limit, refused } = publisher;
  const rows = publisher
    .rows(MAX_ROWS)
    .map(({ forMs, lastSeenAgoMs, behindMs, unreadBytes, ...client }) => ({
      address: formatHostPort(client),
      forSeconds: seconds(forMs),
      lastMessageAgeSeconds: seconds(lastSeenAgoMs),
      behindSeconds: behindMs === undefined ? undefined : seconds(behindMs),
      unreadBytes,
    }));
  const { serial, names, flushes } = feed;
  const page = { serial, names, flushes, count, limit, refused, dropped, subscribers: rows };
  return `${JSON.stringify(page, null, 2)}\n`;
}

/** The same in short, for a status page. */
export function subscriberFacts(publisher: Omit<SubscriberCounts, 'behind'>): StatusFacts {
  const { feed, count, limit, dropped, refused } = publisher;
  return {
    serial: String(feed.serial),
    names: feed.names,
    subscribers: count,
    subscribersAtMost: limit,
    subscribersDropped: dropped,
    subscribersRefused: Object.values(refused).reduce((sum, each) => sum + each, 0),
  };
}

/** What someone has to look at. */
export function subscriberProblems(publisher: Pick<SubscriberCounts, 'count' | 'limit'>): string[] {
  return publisher.count < publisher.limit ? [] : [limitReached(publisher)];
}

function limitReached({ limit }: { readonly limit: number }): string {
  return `there are ${limit} subscribers to changes, the most that this process may have`;
}

function seconds(ms: number): number {
  return Math.round(ms) / 1_000;
}

/** What is counted of subscribers. */
export interface SubscriberCounts {
  readonly count: number;
  readonly behind: number;
  readonly dropped: number;
  readonly limit: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly feed: {
    readonly serial: number;
    readonly names: number;
    readonly lag: BucketHistogram;
    readonly flushes: Readonly<Record<string, number>>;
  };
}

/** The metrics of the subscribers; `subject` begins the names of those that count what they got. */
export function subscriberFamilies(
  { counter, gauge, histogram }: MetricPrefix,
  subject: 'subscription' | 'subscribers',
  publisher: () => SubscriberCounts,
): MetricFamily[] {
  return [
    gauge('subscribers', 'Caches that are notified which names change.', () => publisher().count),
    gauge(
      'subscribers_behind',
      'Subscribers that read too slowly and are sent nothing until they have read the rest.',
      () => publisher().behind,
    ),
    gauge(
      'subscribers_limit',
      'The most subscribers that this process takes; beyond, one gives way or is refused.',
      () => publisher().limit,
    ),
    counter(
      'subscribers_refused_total',
      'Subscriptions that were refused, by reason: the limit, or a network that is not in --subscribers.',
      byKey('reason', () => publisher().refused),
    ),
    histogram(
      `${subject}_lag_seconds`,
      'Time from what a server announces until it is announced to subscribers, or to a slow one.',
      () => publisher().feed.lag,
    ),
    counter(
      `${subject}_names_total`,
      'Names that changed and were announced to subscribers.',
      () => publisher().feed.names,
    ),
    counter(
      `${subject}_flushes_total`,
      'How often subscribers were notified that any name may have changed, by reason.',
      byKey('reason', () => publisher().feed.flushes),
    ),
    counter(
      'subscribers_dropped_total',
      'Subscribers that were disconnected because they did not read, sent nothing, or gave way to another client.',
      () => publisher().dropped,
    ),
  ];
}
