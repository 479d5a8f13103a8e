import type { SessionService } from '@kube-dns/transport';
import {
  appendZoneVersion,
  FLAG,
  hasSameIdentity,
  type Query,
  raiseTo,
  RCODE,
  replaceZoneVersion,
  ROOT_NAME,
  type ZoneVersion,
  zoneVersionAt,
} from '@kube-dns/wire';
import { type PublishedZones, Publisher, type SubscriberRules } from './publisher.js';
import type { PublisherProcess } from './publisher-process.js';
import type { ChangeListener, Subscriptions } from './subscriber.js';
import { MAX_SUBSCRIPTIONS, overlaps, versionLabels, WITH_TTL } from './version.js';

/** A server sends a heartbeat every 2 s; when one is late, subscribers get none either. */
const LATE_SECONDS = 3;

/** The subscriptions whose changes are passed on. */
type RelayedSubscriptions = Pick<Subscriptions, 'servers' | 'lastSeen' | 'passOnTo'>;

/**
 * Passes on what servers announce: to its subscribers this process is a publisher of its own, with its own instance and
 * serials, and with the version of the cluster that its servers have. An answer has its version only where a server that announces changes now gave it, and only if it knows all that
 * were announced here until then. So it is older than no change with that serial or a lower one; each later change gets a
 * higher one, which drops it there. All other answers have no version, and their TTL.
 */
export class Relay implements ChangeListener, PublishedZones, ZoneVersion {
  readonly publisher: Publisher<'by-server' | 'configuration'>;
  readonly #subscriptions: RelayedSubscriptions;
  readonly #now: () => number;
  /** The processes whose changes are passed on, and the same by their numbers. */
  readonly #sources = new Set<PublisherProcess>();
  readonly #sourceOf = new Array<PublisherProcess | undefined>(MAX_SUBSCRIPTIONS + 1).fill(
    undefined,
  );
  /** Of the last answer. */
  labelCount = 0;
  cluster: Uint8Array | undefined;

  /** `now`: seconds of the clock of `lastSeen`. */
  constructor(
    subscriptions: RelayedSubscriptions,
    rules?: SubscriberRules,
    now = () => performance.now() / 1_000,
  ) {
    this.#subscriptions = subscriptions;
    this.#now = now;
    const reasons = ['by-server', 'configuration'] as const;
    this.publisher = new Publisher({ zones: this, reasons, rules });
    this.publisher.remember();
    subscriptions.passOnTo(this);
  }

  /** Its subscribers; undefined where no server can announce changes. */
  get sessions(): SessionService | undefined {
    return this.#subscriptions.servers.length > 0 ? this.publisher : undefined;
  }

  /** All whose changes are passed on have it. */
  get apex(): Uint8Array {
    for (const { apex } of this.#sources) return apex;
    return ROOT_NAME;
  }

  get isKnown(): boolean {
    const now = this.#now();
    const { lastSeen } = this.#subscriptions;
    for (const { number } of this.#sources)
      if (now - lastSeen[number]! > LATE_SECONDS) return false;
    return true;
  }

  get instance(): Uint8Array {
    return this.publisher.instance;
  }

  get serial(): number {
    return this.publisher.serial;
  }

  /** The version of the cluster that all changes up to were passed on of: each was announced by the source that knows most of its resource. */
  get version(): Uint8Array | undefined {
    let version: Uint8Array | undefined;
    for (const source of this.#sources) {
      if (source.version === undefined) return undefined;
      if (version === undefined) version = source.version.slice();
      else if (hasSameIdentity(source.version, 0, version)) raiseTo(version, source.version);
      else return undefined;
    }
    return version;
  }

  rcodeFor(zone: Uint8Array): number {
    const { servers } = this.#subscriptions;
    const able = servers.filter((server) => server.zones.some((own) => overlaps(own, zone)));
    if (able.some(({ live }) => live !== undefined && this.#sources.has(live)))
      return RCODE.NOERROR;
    // What is not announced in one of several zones has no version.
    const isHopeless = this.#sources.size > 0 || able.every((server) => server.isUnsupported);
    return isHopeless ? RCODE.NOTAUTH : RCODE.SERVFAIL;
  }

  /** One with another apex has other names for the same changes. */
  onLive(instance: PublisherProcess): void {
    if (this.#sources.size > 0 && Buffer.compare(instance.apex, this.apex) !== 0) return;
    this.#sources.add(instance);
    this.#sourceOf[instance.number] = instance;
    this.publisher.welcome();
  }

  onChanged(instance: PublisherProcess, name: Uint8Array): void {
    if (this.#sources.has(instance)) this.publisher.feed.add(name);
  }

  onFlushed(): void {
    this.publisher.feed.flush('by-server');
  }

  /** Its answers may change unseen: they are dropped everywhere, and none has a version. */
  onEnded(instance: PublisherProcess): void {
    if (!this.#sources.delete(instance)) return;
    this.#sourceOf[instance.number] = undefined;
    if (this.#sources.size > 0) this.publisher.feed.flush('by-server');
    else this.publisher.dismiss();
  }

  /** What is answered locally, or which servers are asked, has changed. */
  onReconfigured(): void {
    this.publisher.feed.flush('configuration');
  }

  /**
   * Adds the version to a cached answer with an OPT record without options, if this subscription announces its changes.
   * Without AA the answer is only partly of the zone, and has its TTL. Returns its length.
   */
  addTo(query: Query, out: Uint8Array, length: number, subscription: number): number {
    const source =
      subscription < 2 * WITH_TTL ? this.#sourceOf[subscription % WITH_TTL] : undefined;
    if (source === undefined) return length;
    this.labelCount = versionLabels(query.name, query.nameLength, this.apex);
    this.cluster = query.knowsClusterVersion ? source.version : undefined;
    const end = appendZoneVersion(out, length, query.maxAnswerBytes, this);
    if (end > length && subscription < WITH_TTL) out[2]! |= FLAG.AA >> 8;
    return end;
  }

  /**
   * Replaces the version of a reply of a process by ours; by one before all changes unless the reply knows those that
   * were announced here: it is of use for its client only.
   */
  translate(reply: Uint8Array, instance: PublisherProcess, isCurrent: boolean): void {
    if (this.publisher.count === 0 || !this.#sources.has(instance)) return;
    const at = zoneVersionAt(reply);
    if (at < 0 || !instance.is(reply, at)) return;
    replaceZoneVersion(reply, at, { instance: this.instance, serial: isCurrent ? this.serial : 0 });
  }

  close(): void {
    this.publisher.close();
  }
}
