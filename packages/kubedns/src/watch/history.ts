import { BackOff } from '@kube-dns/base';
import { StreamError } from '../errors.js';
import type { ApiReader } from './api-client.js';
import { ItemReader, listKind } from './json-stream.js';
import { MAX_PAUSE_MS, restartReason, Task, type WatchPace, withLimit } from './pace.js';
import type { ApiObject } from './store.js';

/** A small object that is listed alone, to learn the version of its resource. It need not exist. */
export interface Landmark {
  readonly namespace?: string;
  readonly name: string;
  /** Whether another UID of it means another cluster. */
  readonly isIdentity?: boolean;
}

/** What a list of the landmark alone shows; '' for what it does not. */
interface LandmarkState {
  readonly version: string;
  readonly uid: string;
}

/** Every cluster has this service, one slice and one Endpoints object of its name. */
export const KUBERNETES: Landmark = { namespace: 'default', name: 'kubernetes' };
/** No cluster can be without this namespace, or delete it. */
export const KUBE_SYSTEM: Landmark = { name: 'kube-system', isIdentity: true };

/** A server that ignores the selector would send everything. */
const MAX_LANDMARK_BYTES = 256 * 1024;

export interface HistoryOptions {
  readonly client: ApiReader;
  readonly path: string;
  readonly pace: WatchPace;
  /** The service `kubernetes` unless given. */
  readonly landmark: Landmark | undefined;
  /** The server answered a check. */
  readonly onAnswer: () => void;
  /** A check has found the history that is known. */
  readonly onProved: () => void;
  /** The server has another history: everything must be listed again. */
  readonly onRestored: (error: StreamError) => void;
  /** The UID of the landmark was seen, '' when it was deleted. */
  readonly onIdentity?: ((uid: string) => void) | undefined;
}

/**
 * The version of one resource up to which its history is known, and the proof that the server still has this
 * history. A cluster that was restored from a backup, or emptied, counts its versions from a lower one again;
 * a watch from a version that is yet to come is accepted and says nothing. A lower version, or another UID of
 * the landmark, is a sign, but the cache of one of several servers may lag: a consistent read is the proof.
 */
export class History {
  readonly #options: HistoryOptions;
  readonly #landmark: Landmark;
  #version = '';
  /** The last known version, also while a list is needed. */
  #lastVersion = '';
  #uid = '';
  #isSuspect = false;
  /** The checks that are pending. */
  #recheck: Task | undefined;
  readonly #backOff: BackOff;
  #nextMs = 0;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#landmark = options.landmark ?? KUBERNETES;
    const { recheckMs: firstMs } = options.pace;
    this.#backOff = new BackOff({ firstMs, longestMs: MAX_PAUSE_MS, randomPart: 0 });
  }

  /** The version to continue from; '' while a list is needed. */
  get version(): string {
    return this.#version;
  }

  /** The last version up to which all was known, also while a list is needed; '' where there is none. */
  get lastVersion(): string {
    return this.#lastVersion;
  }

  /** The UID of the landmark; '' while it is not known. */
  get uid(): string {
    return this.#uid;
  }

  /** A list is needed. */
  lose(): void {
    this.#version = '';
  }

  /** Any cluster may follow. */
  forget(): void {
    this.cancel();
    this.#version = this.#lastVersion = this.#uid = '';
  }

  /** Called for each object of a list or a watch. Throws a StreamError (`restored`) when it is of another cluster. */
  note(object: ApiObject | null | undefined, isDeleted = false): void {
    const uid = this.#landmarkUid(object);
    if (uid === '') return;
    const problem = this.#problemOf({ version: '', uid }, '');
    // One that is deleted and created again has another UID in the same cluster.
    const before = this.#uid;
    this.#uid = isDeleted ? '' : uid;
    if (this.#uid !== before) this.#options.onIdentity?.(this.#uid);
    if (problem !== undefined) throw new StreamError('restored', problem);
  }

  /** A list is read. Throws a StreamError (`restored`) when it is older than what was known. */
  noteList(version: string): void {
    const problem = this.#problemOf({ version, uid: '' }, this.#lastVersion);
    if (problem !== undefined) throw new StreamError('restored', problem);
  }

  /** A complete list is applied. */
  begin(version: string): void {
    this.#version = this.#lastVersion = version;
    this.#isSuspect = false;
  }

  /** What is known is of a snapshot, with this UID of the landmark: whether the server has this history is to be seen. */
  resume(version: string, uid: string): void {
    this.begin(version);
    this.#uid = uid;
    this.#options.onIdentity?.(uid);
    this.suspect();
  }

  /** Whether this version of an event or bookmark is not older than what is known. When it is, a check follows. */
  isNext(version: string): boolean {
    if (!isLowerVersion(version, this.#version)) return true;
    this.#request();
    return false;
  }

  /** Continues to the version of an event or bookmark, unless a list is needed. Returns whether it is another one. */
  advance(version: string): boolean {
    if (version === '' || this.#version === '') return false;
    // A version that is no number where the others are: a watch from it would be refused.
    if (isDecimal(this.#version) && !isDecimal(version)) return false;
    const isOther = version !== this.#version;
    this.#version = this.#lastVersion = version;
    return isOther;
  }

  /** A watch did not end at its time: the server may have been restarted, with other data. */
  suspect(): void {
    this.#isSuspect = true;
  }

  /** A watch is open: what is suspect is checked, soon also when checks had no answer for long. */
  noteOpen(): void {
    if (!this.#isSuspect) return;
    this.#isSuspect = false;
    this.cancel();
    this.#backOff.reset();
    this.#nextMs = Math.min(this.#nextMs, performance.now() + this.#options.pace.recheckMs);
    this.#request();
  }

  /**
   * Called when a watch is silent. Rejects when the server refuses or does not answer. If it `compares`, it rejects with a
   * StreamError (`idle`) when only the connection of the watch is dead, too. When only proof of another history is missing,
   * it is asked for again later.
   */
  probe(outer: AbortSignal, compares: boolean): Promise<void> {
    const version = this.#version;
    return this.#inTime(outer, async (task) => {
      const cached = await this.#check(task.signal);
      if (cached === undefined) this.#request();
      if (cached === undefined || !compares) return;
      // The version of a quiet resource rises with those of others, of which a watch learns once a minute.
      if (isLowerVersion(version, cached.version) && (await this.#hasMissed(version, task))) {
        throw new StreamError('idle', `another watch from version ${version} has events`);
      }
    });
  }

  /** Ends checks that are pending. */
  cancel(): void {
    this.#recheck?.abort();
    this.#recheck = undefined;
  }

  /** Checks soon, and again until there is an answer. */
  #request(): void {
    if (this.#recheck !== undefined) return;
    this.#recheck = new Task();
    void this.#checkUntilAnswered(this.#recheck);
  }

  async #checkUntilAnswered(recheck: Task): Promise<void> {
    let isAnswered = false;
    while (!isAnswered) {
      if (!(await recheck.pause(Math.max(this.#nextMs - performance.now(), 0)))) return;
      const check = this.#inTime(recheck.signal, ({ signal }) => this.#check(signal));
      isAnswered = (await check.catch(() => undefined)) !== undefined;
      if (recheck.isAborted) return;
      this.#nextMs = performance.now() + this.#backOff.next();
      if (isAnswered) this.#backOff.reset();
    }
    this.#recheck = undefined;
  }

  #inTime<R>(outer: AbortSignal, work: (task: Task) => Promise<R>): Promise<R> {
    return withLimit(outer, this.#options.pace.probeLimitMs, 'no answer', work);
  }

  /** Resolves to what the server's cache shows; undefined while a proof is missing. Rejects when it does not answer. */
  async #check(signal: AbortSignal): Promise<LandmarkState | undefined> {
    const { onAnswer, onProved, onRestored } = this.#options;
    // Events that arrive meanwhile raise it.
    const version = this.#version;
    const cached = await this.#readLandmark('0', signal);
    onAnswer();
    let problem = this.#problemOf(cached, version);
    if (problem !== undefined) {
      const current = await this.#readLandmark('', signal).catch(() => undefined);
      if (current === undefined || signal.aborted) return undefined;
      problem = this.#problemOf(current, version);
    }
    if (problem === undefined) onProved();
    else onRestored(new StreamError('restored', problem));
    return cached;
  }

  /**
   * Lists the landmark alone: out of the server's cache, which needs no etcd, with `resourceVersion` 0, or
   * consistently with ''. Rejects as `ApiReader.get`, and when the answer is cut.
   */
  async #readLandmark(resourceVersion: '0' | '', signal: AbortSignal): Promise<LandmarkState> {
    const { client, path } = this.#options;
    const { namespace, name } = this.#landmark;
    const byName = `metadata.name=${name}`;
    const fieldSelector =
      namespace === undefined ? byName : `${byName},metadata.namespace=${namespace}`;
    // With version 0 a server ignores `limit`: only the selector keeps the answer small.
    const query = new URLSearchParams({ fieldSelector, limit: '1' });
    if (resourceVersion !== '') query.set('resourceVersion', resourceVersion);
    const body = await client.get({ path, query, signal });
    const reader = new ItemReader(listKind(path));
    let uid = '';
    try {
      for await (const { bytes } of body) {
        for (const item of reader.push(bytes)) uid ||= this.#landmarkUid(item as ApiObject);
        if (body.contentBytes > MAX_LANDMARK_BYTES) return { version: '', uid };
      }
      return { version: reader.finish().resourceVersion, uid };
    } catch (error) {
      // The server is there; more does not follow from an answer that is no list.
      if (error instanceof StreamError && error.reason === 'garbled') return { version: '', uid };
      throw error;
    }
  }

  /** The UID of the landmark; '' of any other object. */
  #landmarkUid(object: ApiObject | null | undefined): string {
    const { namespace, name, uid } = object?.metadata ?? {};
    const isLandmark = name === this.#landmark.name && namespace === this.#landmark.namespace;
    return isLandmark && typeof uid === 'string' ? uid : '';
  }

  /** Whether a short watch brings something, and the one that is silent does not. */
  async #hasMissed(version: string, task: Task): Promise<boolean> {
    const { client, path, pace } = this.#options;
    const { signal } = task;
    const hasEvents = async () => {
      const query = new URLSearchParams({
        watch: 'true',
        resourceVersion: version,
        timeoutSeconds: '1',
      });
      // Without bookmarks: whatever it brings is an event.
      for await (const { bytes } of await client.get({ path, query, signal, isWatch: true }))
        if (bytes.length > 0) return true;
      return false;
    };
    const isGone = (error: unknown) => restartReason(error) === 'gone';
    if (!(await hasEvents().catch(isGone))) return false;
    await task.pause(pace.recheckMs);
    signal.throwIfAborted();
    return this.#version === version;
  }

  /** Why something is of another history; undefined when it need not be. */
  #problemOf({ version, uid }: LandmarkState, after: string): string | undefined {
    if (isLowerVersion(version, after)) {
      return `the cluster was restored: its version is ${version} after ${after}`;
    }
    const isOther = uid !== '' && this.#uid !== '' && uid !== this.#uid;
    if (!isOther || this.#landmark.isIdentity !== true) return undefined;
    return `it is another cluster: ${this.#landmark.name} has another UID`;
  }
}

const DECIMAL = /^(?:0|[1-9]\d*)$/;

/** Whether a resourceVersion is a number, as those of Kubernetes are. */
function isDecimal(version: string): boolean {
  return DECIMAL.test(version);
}

/**
 * Whether a resourceVersion is lower than another of the same resource: they are decimal numbers of any
 * length (KEP-5504). False when one of them is anything else.
 */
export function isLowerVersion(version: string, other: string): boolean {
  // Most versions of a watch are higher, which the lengths and the texts tell.
  if (version.length > other.length) return false;
  if (version.length === other.length && version >= other) return false;
  return isDecimal(version) && isDecimal(other);
}
