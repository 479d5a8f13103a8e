import { type ClientNetworks, formatHostPort } from '@kube-dns/base';
import {
  type BucketHistogram,
  byKey,
  type Log,
  type MetricFamily,
  type MetricPrefix,
} from '@kube-dns/daemon';
import { networkOf, type Session, type SessionService } from '@kube-dns/transport';
import {
  changedTlv,
  DSO_TYPE,
  type DsoMessage,
  type DsoTlv,
  INSTANCE_BYTES,
  keepaliveTlv,
  lowerCaseByte,
  plainNameEnd,
  randomBytes,
  RCODE,
  readDso,
  serialTlv,
  subscribedTlv,
  writeDso,
} from '@kube-dns/wire';
import { type ChangeObserver, ChangeFeed } from './change-feed.js';

/** Well below the TTL of negative answers, which caches give no longer than that after a message. */
const HEARTBEAT_MS = 2_000;
/** A client that has sent nothing for this long, although it should every KEEPALIVE_MS, has gone. */
const SILENCE_MS = 30_000;
const KEEPALIVE_MS = 10_000;
/** A subscriber that leaves more unread than this gets nothing until it has read it, */
const MAX_UNSENT_BYTES = 64 * 1024;
/** and is disconnected when it has not by then. */
const BEHIND_MS = 10_000;
/** Half of the TCP connections of the DNS port; others ask for TTLs. */
const MAX_SUBSCRIBERS = 250;
/** Between lines of the log about clients that may not subscribe: each asks again every minute. */
const MS_BETWEEN_LINES = 60_000;

interface Subscriber {
  readonly sinceMs: number;
  lastSeenMs: number;
  /** Since when it reads too slowly, undefined when it does not: it needs a FLUSH then. */
  behindMs: number | undefined;
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
  /** Whether every change until now is known, which is what a heartbeat says. */
  readonly isKnown: boolean;
  /** The rcode for a subscription to a zone, lower-cased in wire form: NOERROR, NOTAUTH where none of its names is announced, SERVFAIL for now. */
  rcodeFor(zone: Uint8Array): number;
}

/** Who may subscribe. */
export interface SubscriberRules {
  /** Clients in these and those of this machine or pod; all unless given. */
  readonly networks?: ClientNetworks | undefined;
  /** Names a client that may not, once a minute. */
  readonly log: Pick<Log, 'warn'>;
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
  readonly #zones: PublishedZones;
  readonly #rules: SubscriberRules | undefined;
  readonly #subscribers = new Map<Session, Subscriber>();
  /** How many of them each address has: it is looked up for queries of an address that asks too much. */
  readonly #clients = new Map<string, number>();
  readonly #now: () => number;
  #heartbeat: NodeJS.Timeout | undefined;
  /** When the log named a client that may not subscribe. */
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: PublisherOptions<Reason>) {
    const { zones, reasons, now = () => performance.now() } = options;
    this.#zones = zones;
    this.#rules = options.rules;
    this.#now = now;
    this.feed = options.feed ?? new ChangeFeed(reasons, now);
  }

  get apex(): Uint8Array {
    return this.#zones.apex;
  }

  /** Of the last change that was announced. */
  get serial(): number {
    return this.feed.serial;
  }

  /** The connections with a subscription. */
  get count(): number {
    return this.#subscribers.size;
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

  rows(): SubscriberRow[] {
    const now = this.#now();
    return Array.from(this.#subscribers, ([session, { sinceMs, lastSeenMs, behindMs }]) => ({
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
    this.#send(changedTlv({ before: after - 1, after, names }));
  }

  onFlush(serial: number): void {
    this.#send(serialTlv(DSO_TYPE.FLUSH, serial));
  }

  /** Changes are not known any more: for the subscribers answers expire by their TTLs, until they subscribe again. */
  dismiss(): void {
    for (const session of [...this.#subscribers.keys()]) {
      this.#leave(session);
      session.close();
    }
  }

  close(): void {
    this.feed.close();
    clearInterval(this.#heartbeat);
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
      if (rcode !== RCODE.NOERROR) respond(rcode);
      else respond(rcode, subscribedTlv(this));
    }
  }

  #subscribe(zone: Uint8Array, session: Session): number {
    if (!this.#maySubscribe(session)) return RCODE.REFUSED;
    if (plainNameEnd(zone, 0) !== zone.length) return RCODE.FORMERR;
    const rcode = this.#zones.rcodeFor(zone.map(lowerCaseByte));
    if (rcode !== RCODE.NOERROR) return rcode;
    if (this.#subscribers.has(session)) return RCODE.NOERROR;
    const evicted = evictedFor(this.#subscribers, session);
    // It is asked again soon: REFUSED is also what servers say that know no subscriptions.
    if (evicted === 'own') return RCODE.SERVFAIL;
    if (evicted !== 'none') this.#drop(evicted);
    const now = this.#now();
    this.#subscribers.set(session, { sinceMs: now, lastSeenMs: now, behindMs: undefined });
    this.#clients.set(session.address, (this.#clients.get(session.address) ?? 0) + 1);
    this.feed.observe(this);
    this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref();
    session.stay();
    session.onClose(() => this.#leave(session));
    return RCODE.NOERROR;
  }

  #maySubscribe(session: Session): boolean {
    if (this.#rules?.networks === undefined || isLoopback(session)) return true;
    const { networks, log } = this.#rules;
    if (networks.has(session.address)) return true;
    const now = this.#now();
    if (now - this.#loggedAtMs >= MS_BETWEEN_LINES) {
      this.#loggedAtMs = now;
      log.warn(`${session.address} may not subscribe to changes: it is not in --subscribers`);
    }
    return false;
  }

  #drop(session: Session): void {
    this.dropped++;
    this.#leave(session);
    session.close();
  }

  #leave(session: Session): void {
    if (!this.#subscribers.delete(session)) return;
    const rest = this.#clients.get(session.address)! - 1;
    if (rest > 0) this.#clients.set(session.address, rest);
    else this.#clients.delete(session.address);
    if (this.count > 0) return;
    this.feed.leave(this);
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
  }

  #send(tlv: DsoTlv): void {
    const message = event(tlv);
    for (const [session, subscriber] of this.#subscribers) {
      if (this.#isBehind(session, subscriber)) continue;
      session.push(message);
    }
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
      session.push(event(serialTlv(DSO_TYPE.FLUSH, this.feed.serial)));
    }
    return true;
  }

  #beat(): void {
    const now = this.#now();
    const message = event(serialTlv(DSO_TYPE.HEARTBEAT, this.feed.serial));
    for (const [session, subscriber] of this.#subscribers) {
      const { lastSeenMs, behindMs = now } = subscriber;
      if (now - lastSeenMs > SILENCE_MS || now - behindMs > BEHIND_MS) {
        this.#drop(session);
      } else if (!this.#isBehind(session, subscriber) && this.#zones.isKnown) {
        session.push(message);
      }
    }
  }
}

function event(tlv: DsoTlv): Uint8Array {
  return writeDso({ id: 0, isResponse: false, rcode: RCODE.NOERROR, tlvs: [tlv] });
}

/**
 * The subscriber that is dropped for a new one: the oldest of the client that has most, where the new one has fewer or is
 * of this machine or pod. `none` while there are few enough, `own` when the new one is refused. A client is an
 * address, with IPv6 its /64.
 */
function evictedFor(
  subscribers: ReadonlyMap<Session, unknown>,
  own: Session,
): Session | 'own' | 'none' {
  if (subscribers.size < MAX_SUBSCRIBERS) return 'none';
  const firsts = new Map<string, { readonly session: Session; count: number }>();
  for (const session of subscribers.keys()) {
    const client = clientOf(session);
    const found = firsts.get(client);
    if (found === undefined) firsts.set(client, { session, count: 1 });
    else found.count++;
  }
  let most = { session: own, count: 0 };
  for (const [client, found] of firsts) {
    if (found.count > most.count && client !== clientOf(own)) most = found;
  }
  const ownCount = firsts.get(clientOf(own))?.count ?? 0;
  // Two that have as many would evict each other for ever.
  const isFair = isLoopback(own)
    ? ownCount === 0 || most.count > ownCount
    : most.count > ownCount + 1;
  return isFair && most.count > 0 ? most.session : 'own';
}

function clientOf({ address }: Session): string {
  return networkOf(address) ?? address;
}

function isLoopback({ address }: Session): boolean {
  return address === '::1' || address.startsWith('127.');
}

/** The page `/subscribers`, as JSON: who is subscribed, and who reads too slowly. Ages are in seconds. */
export function subscribersPage(
  publisher: Pick<SubscriberCounts, 'feed' | 'dropped'> & { rows(): readonly SubscriberRow[] },
): string {
  const { feed, dropped } = publisher;
  const rows = publisher
    .rows()
    .map(({ forMs, lastSeenAgoMs, behindMs, unreadBytes, ...client }) => ({
      address: formatHostPort(client),
      forSeconds: seconds(forMs),
      lastMessageAgeSeconds: seconds(lastSeenAgoMs),
      behindSeconds: behindMs === undefined ? undefined : seconds(behindMs),
      unreadBytes,
    }));
  const { serial, names, flushes } = feed;
  const page = { serial, names, flushes, dropped, subscribers: rows };
  return `${JSON.stringify(page, null, 2)}\n`;
}

function seconds(ms: number): number {
  return Math.round(ms) / 1_000;
}

/** What is counted of subscribers. */
export interface SubscriberCounts {
  readonly count: number;
  readonly behind: number;
  readonly dropped: number;
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
      'Subscribers that were disconnected because they did not read or sent nothing.',
      () => publisher().dropped,
    ),
  ];
}
