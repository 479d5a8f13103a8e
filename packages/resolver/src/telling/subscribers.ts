import type { Session, SessionService } from '@kube-dns/transport';
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
import { makePlace } from './subscriber-places.js';
import { type NewsListener, ZoneNews } from './zone-news.js';

/** Well below the TTL of negative answers, which caches give no longer than that after a message. */
const HEARTBEAT_MS = 2_000;
/** A client that has sent nothing for this long, although it should every KEEPALIVE_MS, has gone. */
const SILENCE_MS = 30_000;
const KEEPALIVE_MS = 10_000;
/** A subscriber that leaves more unread than this is told of nothing until it has read it, */
const MAX_UNSENT_BYTES = 64 * 1024;
/** and is disconnected when it has not by then. */
const BEHIND_MS = 10_000;

interface Subscriber {
  readonly sinceMs: number;
  heardMs: number;
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
  readonly heardAgoMs: number;
  readonly behindMs: number | undefined;
  readonly unreadBytes: number;
}

/** The zones whose changes are told. */
export interface ToldZones {
  /** The name of the zone that has the services, lower-cased in wire form. */
  readonly apex: Uint8Array;
  /** Whether every change until now is known, which is what a heartbeat says. */
  readonly isKnown: boolean;
  /** The rcode for a subscription to a zone, lower-cased in wire form: NOERROR, NOTAUTH where none of its names is told, SERVFAIL for now. */
  rcodeFor(zone: Uint8Array): number;
}

export interface SubscribersOptions<Reason extends string> {
  readonly zones: ToldZones;
  /** Why else everything may have changed. */
  readonly reasons: readonly Reason[];
  /** Milliseconds that never fall; the process's unless given. */
  readonly now?: () => number;
}

/**
 * The caches that want to know what changes in zones. Each subscribes by DNS Stateful Operations (RFC 8490) on a
 * connection to the DNS port, and learns names, never records.
 */
export class Subscribers<Reason extends string = never> implements SessionService, NewsListener {
  readonly news: ZoneNews<Reason>;
  readonly instance = randomBytes(INSTANCE_BYTES);
  /** Subscribers that were disconnected because they did not read, or sent nothing, or for one of another client. */
  dropped = 0;
  readonly #zones: ToldZones;
  readonly #subscribers = new Map<Session, Subscriber>();
  readonly #now: () => number;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor({ zones, reasons, now = () => performance.now() }: SubscribersOptions<Reason>) {
    this.#zones = zones;
    this.#now = now;
    this.news = new ZoneNews(reasons, now);
  }

  get apex(): Uint8Array {
    return this.#zones.apex;
  }

  /** Of the last change that was told. */
  get serial(): number {
    return this.news.serial;
  }

  /** The connections with a subscription. */
  get count(): number {
    return this.#subscribers.size;
  }

  /** Those that read too slowly, and are told nothing meanwhile. */
  get behind(): number {
    const isBehind = ({ behindMs }: Subscriber) => behindMs !== undefined;
    return Array.from(this.#subscribers.values()).filter(isBehind).length;
  }

  rows(): SubscriberRow[] {
    const now = this.#now();
    return Array.from(this.#subscribers, ([session, { sinceMs, heardMs, behindMs }]) => ({
      host: session.address,
      port: session.port,
      forMs: now - sinceMs,
      heardAgoMs: now - heardMs,
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
    this.#tell(changedTlv({ before: after - 1, after, names }));
  }

  onFlush(serial: number): void {
    this.#tell(serialTlv(DSO_TYPE.FLUSH, serial));
  }

  /** Changes are not known any more: for the subscribers TTLs rule, until they subscribe again. */
  dismiss(): void {
    for (const session of [...this.#subscribers.keys()]) {
      this.#leave(session);
      session.close();
    }
  }

  close(): void {
    this.news.close();
    clearInterval(this.#heartbeat);
  }

  #receive({ id, tlvs }: DsoMessage, session: Session): void {
    const subscriber = this.#subscribers.get(session);
    if (subscriber !== undefined) subscriber.heardMs = this.#now();
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
      else respond(rcode, this.#subscribed());
    }
  }

  #subscribed(): DsoTlv {
    return subscribedTlv(this);
  }

  #subscribe(zone: Uint8Array, session: Session): number {
    if (plainNameEnd(zone, 0) !== zone.length) return RCODE.FORMERR;
    const rcode = this.#zones.rcodeFor(zone.map(lowerCaseByte));
    if (rcode !== RCODE.NOERROR) return rcode;
    if (this.#subscribers.has(session)) return RCODE.NOERROR;
    const place = makePlace(this.#subscribers, session);
    if (place === false) return RCODE.REFUSED;
    if (place !== true) this.#drop(place);
    const now = this.#now();
    this.#subscribers.set(session, { sinceMs: now, heardMs: now, behindMs: undefined });
    this.news.listen(this);
    this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref();
    session.stay();
    session.onClose(() => this.#leave(session));
    return RCODE.NOERROR;
  }

  #drop(session: Session): void {
    this.dropped++;
    this.#leave(session);
    session.close();
  }

  #leave(session: Session): void {
    this.#subscribers.delete(session);
    if (this.count > 0) return;
    this.news.leave(this);
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
  }

  #tell(tlv: DsoTlv): void {
    const message = event(tlv);
    for (const [session, subscriber] of this.#subscribers) {
      if (this.#isBehind(session, subscriber)) continue;
      session.push(message);
    }
  }

  /** One that has caught up is told that everything may have changed. */
  #isBehind(session: Session, subscriber: Subscriber): boolean {
    const { unsentBytes } = session;
    if (subscriber.behindMs === undefined) {
      if (unsentBytes <= MAX_UNSENT_BYTES) return false;
      subscriber.behindMs = this.#now();
    } else if (unsentBytes === 0) {
      this.news.lag.observe((this.#now() - subscriber.behindMs) / 1_000);
      this.news.flushes['slow-subscriber']++;
      subscriber.behindMs = undefined;
      session.push(event(serialTlv(DSO_TYPE.FLUSH, this.news.serial)));
    }
    return true;
  }

  #beat(): void {
    const now = this.#now();
    const message = event(serialTlv(DSO_TYPE.HEARTBEAT, this.news.serial));
    for (const [session, subscriber] of this.#subscribers) {
      const { heardMs, behindMs = now } = subscriber;
      if (now - heardMs > SILENCE_MS || now - behindMs > BEHIND_MS) {
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
