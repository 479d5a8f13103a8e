import {
  ANSWER_VERSION_BYTES,
  clusterVersionAt,
  type ClusterVersionNote,
  INSTANCE_BYTES,
  isInZone,
  isOfInstance,
  knownOf,
  ROOT_NAME,
  seenOf,
  serialAt,
  VERSIONED_RESOURCES,
} from '@kube-dns/wire';
import { AnnouncedChanges, type ChangeSource, UNVERSIONED, WITH_TTL } from './version.js';
import { NOT_KNOWN, VersionLog } from './version-log.js';

/** An answer without a version, where others have one, may be old: it is asked for again so soon. */
const UNVERSIONED_SECONDS = 1;
/** The same in the first seconds of a subscription: other replicas may be about to know what this one knows. */
const FIRST_UNVERSIONED_SECONDS = 0.1;
/** So long after the begin of a subscription an answer that is older than all that was announced is not cached: its server is behind, for now. */
const BEHIND_MS = 5_000;
/** A publisher that does not know after this time what another replica knew is behind; each says within 250 ms what it knows. */
const LAG_MS = 2_000;
/**
 * A kubedns goes on with heartbeats for 11 s at most while the API server hangs, a dnsmasq for 3 s more: one that sends one
 * after this time knows each change, and what it does not know is no change of its cluster.
 */
const UNAWARE_MS = 15_000;

/** A process behind the address of a server, which announces what changes in the server's zones. */
export class PublisherProcess implements ChangeSource {
  readonly number: number;
  readonly maxSeconds = Number.POSITIVE_INFINITY;
  readonly changes = new AnnouncedChanges();
  /** For its answers that are partly of others: they may change with its zone, and have their TTL. */
  readonly relayed: ChangeSource;
  /** For answers for its zones of which no version tells how old they are. */
  readonly unversioned: ChangeSource;
  isLive = false;
  /** What it announced last: the apex of its zone, and which process it is. */
  apex: Uint8Array = ROOT_NAME;
  /** The version of the cluster up to which changes are known; undefined where versions cannot be compared. */
  version: Uint8Array | undefined;
  #id: Uint8Array = new Uint8Array(INSTANCE_BYTES);
  readonly #zones: readonly Uint8Array[];
  readonly #announced = new VersionLog();
  /** Its serial when it was subscribed to; what is added to its serials, so that they continue those of the process before. */
  #firstSerial = 0;
  #offset = 0;
  #lastSerial = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;
  /** What other replicas know and it does not yet, as a version; undefined when it knows all that they do. */
  #ahead: Uint8Array | undefined;
  /** Since when. */
  #aheadMs = 0;
  #lagTimer: NodeJS.Timeout | undefined;
  readonly #onLag: () => void;

  /** `number` is that of its subscription; it serves these zones. `onLag` is called when it is behind other replicas. */
  constructor(number: number, zones: readonly Uint8Array[], onLag: () => void = () => undefined) {
    this.number = number;
    this.#zones = zones;
    this.#onLag = onLag;
    this.relayed = this.#sourceWith(WITH_TTL, () => Number.POSITIVE_INFINITY);
    this.unversioned = this.#sourceWith(UNVERSIONED, () => {
      if (!this.isComparable) return Number.POSITIVE_INFINITY;
      return this.takesOlder ? UNVERSIONED_SECONDS : FIRST_UNVERSIONED_SECONDS;
    });
  }

  /** Whether the answers of all replicas tell what of its announcements they know. */
  get isComparable(): boolean {
    return this.#announced.isComparable;
  }

  /** Which process it is now. What was announced before is of no use. */
  become(id: Uint8Array, apex: Uint8Array, serial = 0, version?: Uint8Array): void {
    this.#id = id;
    this.apex = apex;
    this.#firstSerial = this.#lastSerial = serial;
    this.#offset = 0;
    this.#announced.begin(serial, version);
    this.#sinceMs = performance.now();
    this.version = version;
    this.#ahead = undefined;
    if (version === undefined) this.changes.noteAll(serial);
    else this.changes.begin(serial);
  }

  /** Another process continues: it repeats what it knows and this one did not. */
  resume(id: Uint8Array, apex: Uint8Array, serial: number, version: Uint8Array): void {
    const before = this.version;
    this.#id = id;
    this.apex = apex;
    this.#firstSerial = serial;
    this.#lastSerial++;
    this.#offset = this.#lastSerial - serial;
    this.#announced.note(this.#lastSerial, version);
    this.version = version;
    if (before !== undefined) this.#noteAhead(before, 0);
    this.#checkAhead();
  }

  /** It announces nothing any more. What other replicas answer is judged by what it announced. */
  end(): void {
    this.isLive = false;
    this.#stopLagTimer();
  }

  /** The next subscription begins anew. */
  forget(): void {
    this.version = this.#ahead = undefined;
  }

  /** One of its serials as they count here. */
  serialHere(serial: number): number {
    const here = serial + this.#offset;
    this.#lastSerial = Math.max(this.#lastSerial, here);
    return here;
  }

  /** It is at this version, after the announcement with a serial if there is one. Returns whether it is of another history now. */
  noteVersion({ version, isPart }: ClusterVersionNote, serial?: number): boolean {
    const isOther = version === undefined ? this.isComparable : !this.#announced.isSame(version, 0);
    const here = serial === undefined ? this.#lastSerial : this.serialHere(serial);
    if (serial !== undefined || isOther) this.#announced.note(here, version);
    if (!isPart) this.version = version;
    if (isOther) {
      this.#ahead = undefined;
      this.changes.noteAll(here);
    }
    this.#checkAhead();
    return isOther;
  }

  /**
   * Whether it does not know for 15 s what another replica knows. If it sends heartbeats, the cluster in which that was known is
   * gone: it was restored from a backup. Without them it is only behind, as while the API server hangs.
   */
  get hasOtherHistory(): boolean {
    return this.#ahead !== undefined && performance.now() - this.#aheadMs > UNAWARE_MS;
  }

  /** Which process it is. */
  get id(): Uint8Array {
    return this.#id;
  }

  /** Whether it is the process whose instance is at an offset. */
  is(bytes: Uint8Array, at: number): boolean {
    return isOfInstance(bytes, at, this.#id);
  }

  /** Whether it is this process, or its version is of a replica. */
  isTwin(id: Uint8Array, version: Uint8Array | undefined): boolean {
    return this.is(id, 0) || (version !== undefined && this.#announced.isSame(version, 0));
  }

  /** Whether the version whose instance is at an offset is of a replica whose answers can be compared. */
  isReplica(bytes: Uint8Array, at: number): boolean {
    const clusterAt = clusterVersionAt(bytes, at);
    return clusterAt >= 0 && this.#announced.isSame(bytes, clusterAt);
  }

  /**
   * The last announcement that a reply of it or of a replica knows, by the version whose instance is at an offset;
   * NOT_KNOWN for one that is older than all that are remembered.
   */
  serialOf(bytes: Uint8Array, at: number): number {
    const own = this.is(bytes, at) ? serialAt(bytes, at) : NOT_KNOWN;
    if (own >= this.#firstSerial) return own + this.#offset;
    const clusterAt = clusterVersionAt(bytes, at);
    if (clusterAt < 0) return NOT_KNOWN;
    if (this.#announced.isSame(bytes, clusterAt)) this.#noteAhead(bytes, clusterAt);
    return this.#announced.serialOf(bytes, clusterAt);
  }

  /** Whether an answer with this serial, of which not each change was announced, may be cached: the change may be long ago. */
  get takesOlder(): boolean {
    return performance.now() - this.#sinceMs > BEHIND_MS;
  }

  /** Whether a name (lower-cased, in wire form) is in one of its zones. */
  has(name: Uint8Array, length: number): boolean {
    for (const zone of this.#zones) if (isInZone(name, length, zone)) return true;
    return false;
  }

  #sourceWith(kind: number, maxSeconds: () => number): ChangeSource {
    const { changes, number } = this;
    const apexOf = () => this.apex;
    return {
      number: number + kind,
      changes,
      get apex() {
        return apexOf();
      },
      get maxSeconds() {
        return maxSeconds();
      },
    };
  }

  /** A replica has this version: this process is to know the same soon. */
  #noteAhead(bytes: Uint8Array, at: number): void {
    if (this.version === undefined || !this.#isAhead(bytes, at)) return;
    if (this.#ahead === undefined) {
      this.#ahead = Uint8Array.from(bytes.subarray(at, at + ANSWER_VERSION_BYTES));
      this.#aheadMs = performance.now();
    }
    if (this.isLive) this.#startLagTimer();
  }

  #isAhead(bytes: Uint8Array, at: number): boolean {
    for (let i = 0; i < VERSIONED_RESOURCES; i++) {
      if (seenOf(bytes, at, i) > knownOf(this.version!, 0, i)) return true;
    }
    return false;
  }

  #checkAhead(): void {
    if (this.#ahead === undefined) return;
    if (this.version !== undefined && this.#isAhead(this.#ahead, 0)) {
      this.#startLagTimer();
      return;
    }
    this.#ahead = undefined;
    this.#stopLagTimer();
  }

  #startLagTimer(): void {
    this.#lagTimer ??= setTimeout(() => {
      this.#lagTimer = undefined;
      if (this.#ahead !== undefined) this.#onLag();
    }, LAG_MS).unref();
  }

  #stopLagTimer(): void {
    clearTimeout(this.#lagTimer);
    this.#lagTimer = undefined;
  }
}
