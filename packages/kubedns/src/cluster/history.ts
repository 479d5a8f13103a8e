import { setTimeout as delay } from 'node:timers/promises';
import { StreamError } from '../errors.js';
import type { ApiReader } from './api-client.js';
import { MAX_MS } from './backoff.js';
import { Deadline } from './deadline.js';
import {
  KUBERNETES,
  type Landmark,
  landmarkUid,
  readLandmark,
  type LandmarkState,
} from './landmark.js';
import type { ApiObject } from './object-store.js';
import { isDecimal, isLowerVersion } from './resource-version.js';
import { restartReason } from './restart-reason.js';
import type { WatchPace } from './watch-pace.js';

export interface HistoryOptions {
  readonly client: ApiReader;
  readonly path: string;
  readonly pace: Pick<WatchPace, 'probeLimitMs' | 'recheckMs'>;
  readonly landmark: Landmark | undefined;
  /** The server answered a check. */
  readonly onAnswer: () => void;
  /** The server has another history: everything must be listed again. */
  readonly onRestored: (error: StreamError) => void;
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
  #isDoubtful = false;
  #abort: AbortController | undefined;
  #pauseMs: number;
  #nextMs = 0;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#landmark = options.landmark ?? KUBERNETES;
    this.#pauseMs = options.pace.recheckMs;
  }

  /** The version to continue from; '' while a list is needed. */
  get version(): string {
    return this.#version;
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
    const uid = landmarkUid(this.#landmark, object);
    if (uid === '') return;
    const problem = this.#problemOf({ version: '', uid }, '');
    // One that is deleted and created again has another UID in the same cluster.
    this.#uid = isDeleted ? '' : uid;
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
    this.#isDoubtful = false;
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
  doubt(): void {
    this.#isDoubtful = true;
  }

  /** A watch is open: what is in doubt is checked, soon also when checks had no answer for long. */
  noteOpen(): void {
    if (!this.#isDoubtful) return;
    this.#isDoubtful = false;
    this.cancel();
    this.#pauseMs = this.#options.pace.recheckMs;
    this.#nextMs = Math.min(this.#nextMs, performance.now() + this.#pauseMs);
    this.#request();
  }

  /**
   * Called when a watch is silent. Rejects when the server refuses or does not answer, and with a StreamError
   * (`idle`) when only the connection of the watch is dead. When only proof of another history is missing, it
   * is asked for again later.
   */
  async probe(signal: AbortSignal): Promise<void> {
    const known = this.#version;
    const cached = await this.#check(signal);
    if (cached === undefined) this.#request();
    // The version of a quiet resource rises with those of others, of which a watch learns once a minute.
    else if (isLowerVersion(known, cached.version) && (await this.#hasMissed(known, signal))) {
      throw new StreamError('idle', `another watch from version ${known} has events`);
    }
  }

  /** Ends checks that are pending. */
  cancel(): void {
    this.#abort?.abort();
    this.#abort = undefined;
  }

  /** Checks soon, and again until there is an answer. */
  #request(): void {
    if (this.#abort !== undefined) return;
    this.#abort = new AbortController();
    void this.#checkUntilAnswered(this.#abort.signal);
  }

  async #checkUntilAnswered(signal: AbortSignal): Promise<void> {
    const { recheckMs, probeLimitMs } = this.#options.pace;
    const isCancelled = () => signal.aborted;
    for (let isAnswered = false; !isAnswered;) {
      const waitMs = Math.max(this.#nextMs - performance.now(), 0);
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => {
        /* cancelled: no request is sent */
      });
      const deadline = new Deadline(signal, probeLimitMs, 'no answer');
      isAnswered = (await this.#check(deadline.signal).catch(() => undefined)) !== undefined;
      deadline.close();
      if (isCancelled()) return;
      this.#nextMs = performance.now() + this.#pauseMs;
      this.#pauseMs = isAnswered ? recheckMs : Math.min(this.#pauseMs * 2, MAX_MS);
    }
    this.#abort = undefined;
  }

  /** Resolves to what the server's cache shows; undefined while a proof is missing. Rejects when it does not answer. */
  async #check(signal: AbortSignal): Promise<LandmarkState | undefined> {
    const { onAnswer, onRestored } = this.#options;
    const ask = { ...this.#options, landmark: this.#landmark, signal };
    // Events that arrive meanwhile raise it.
    const known = this.#version;
    const cached = await readLandmark({ ...ask, resourceVersion: '0' });
    onAnswer();
    if (this.#problemOf(cached, known) === undefined) return cached;
    const current = await readLandmark({ ...ask, resourceVersion: '' }).catch(() => undefined);
    if (current === undefined || signal.aborted) return undefined;
    const problem = this.#problemOf(current, known);
    if (problem !== undefined) onRestored(new StreamError('restored', problem));
    return cached;
  }

  /** Whether a short watch brings something, and the one that is silent does not. */
  async #hasMissed(known: string, signal: AbortSignal): Promise<boolean> {
    const { client, path, pace } = this.#options;
    const query = { watch: 'true', resourceVersion: known, timeoutSeconds: '1' };
    const hasEvents = async () => {
      const request = { path, query: new URLSearchParams(query), signal, isWatch: true };
      // Without bookmarks: whatever it brings is an event.
      for await (const { bytes } of await client.get(request)) if (bytes.length > 0) return true;
      return false;
    };
    const isGone = (error: unknown) => restartReason(error) === 'gone';
    if (!(await hasEvents().catch(isGone))) return false;
    await delay(pace.recheckMs, undefined, { signal, ref: false });
    return this.#version === known;
  }

  /** Why something is of another history; undefined when it need not be. */
  #problemOf({ version, uid }: LandmarkState, known: string): string | undefined {
    if (isLowerVersion(version, known)) {
      return `the cluster was restored: its version is ${version} after ${known}`;
    }
    const isOther = uid !== '' && this.#uid !== '' && uid !== this.#uid;
    if (!isOther || this.#landmark.isIdentity !== true) return undefined;
    return `it is another cluster: ${this.#landmark.name} has another UID`;
  }
}
