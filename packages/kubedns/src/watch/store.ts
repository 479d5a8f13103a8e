import { errorText, type LoopTurn } from '@kube-dns/base';
import { StreamError } from '../errors.js';

/** The common fields of all API objects. */
export interface ApiObject {
  readonly metadata?: {
    readonly namespace?: string;
    readonly name?: string;
    readonly resourceVersion?: string;
    readonly uid?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** The stored fields of an object; the ObjectStore sets these two. */
export interface Projection {
  version: string;
  /** The last list with the object, or the last one when it arrived. */
  listNumber: number;
}

/** Receives the objects of one resource; `key` is `namespace/name`, or the name alone. */
export interface ObjectSink<T extends ApiObject, K extends Projection> {
  /** Returns the fields to store; throws for an invalid object. `onRejected` takes each part that is left out. */
  project(key: string, object: T, onRejected: (reason: string) => void): K;
  /** The object that stored fields are made of again, its version as well: for a snapshot. There is none unless given. */
  objectOf?(key: string, stored: K): ApiObject;
  /** Whether two states are the same to the sink: a change between them is not passed on. Never, unless given. */
  isSame?(before: K, after: K): boolean;
  /** The memory that an object takes, here and at the receiver, in bytes: an estimate. 0, unless given. */
  bytesOf?(stored: K): number;
  /** One object was added (`before` undefined), changed, or deleted (`after` undefined). Must not throw. */
  change(key: string, before: K | undefined, after: K | undefined): void;
}

/** Limits of the stored objects of one resource. */
export interface StoreLimits {
  readonly maxObjects: number;
  /** Of the memory that they are estimated to take, in the zone as well. */
  readonly maxBytes: number;
}

const MAX_OBJECTS = 100_000;
const MAX_BYTES = 64 * 1024 * 1024;
/**
 * Three resources are watched. Full, they take 192 MiB of the heap of 224 MiB that the manifest gives, and
 * 50,000 slices with ten endpoints each, or 40,000 services, stay below.
 */
export const DEFAULT_STORE_LIMITS: StoreLimits = { maxObjects: MAX_OBJECTS, maxBytes: MAX_BYTES };

const OBJECTS_PER_CLOCK_READ = 100;

/**
 * The projections of the objects of one resource, with their keys and versions. A list is applied as a
 * diff: only changes reach the sink.
 */
export class ObjectStore<T extends ApiObject, K extends Projection> {
  readonly #sink: ObjectSink<T, K>;
  readonly #onRejected: (what: string, reason: string) => void;
  readonly #limits: StoreLimits;
  readonly #stored = new Map<string, K>();
  /** Changes that reached the sink so far. */
  changes = 0;
  #bytes = 0;
  #listNumber = 0;
  #isListing = false;
  /** What the list in progress had so far, and whether some of it waits for those that are gone to be removed. */
  #listed = 0;
  #listedBytes = 0;
  #isPartial = false;

  /** `onRejected` is called for what was left out, with the reason. */
  constructor(
    sink: ObjectSink<T, K>,
    onRejected: (what: string, reason: string) => void,
    limits = DEFAULT_STORE_LIMITS,
  ) {
    this.#sink = sink;
    this.#onRejected = onRejected;
    this.#limits = limits;
  }

  get size(): number {
    return this.#stored.size;
  }

  /** The objects as they are stored when each is asked for, so that others may come and go meanwhile. */
  *objects(): Generator<ApiObject> {
    for (const [key, stored] of this.#stored) {
      const object = this.#sink.objectOf?.(key, stored);
      if (object !== undefined) yield object;
    }
  }

  /**
   * Stores the current state of an object. An invalid object counts as deleted. Throws a StreamError (`full`)
   * for one beyond the limits; those of a list are limits of what it has, not of what is gone, too.
   */
  put(object: T): void {
    const key = keyOf(object);
    if (key === undefined) {
      this.#onRejected('an object', 'it has no name');
      return;
    }
    const before = this.#stored.get(key);
    const version = versionOf(object);
    if (before !== undefined && version !== '' && before.version === version) {
      this.#mark(before);
      return;
    }
    const after = this.#project(key, object);
    if (after === undefined) {
      this.#remove(key, before);
      return;
    }
    if (before !== undefined && this.#sink.isSame?.(before, after) === true) {
      before.version = version;
      this.#mark(before);
      return;
    }
    const objects = this.size + Number(before === undefined);
    const bytes = this.#bytes - this.#bytesOf(before) + this.#bytesOf(after);
    const { maxObjects, maxBytes } = this.#limits;
    const isWaiting = this.#isListing && (objects > maxObjects || bytes > maxBytes);
    this.#countListed(before, after);
    if (isWaiting) {
      this.#check(this.#listed, this.#listedBytes);
      this.#isPartial = true;
      if (before !== undefined) before.listNumber = this.#listNumber;
      return;
    }
    this.#check(objects, bytes);
    this.#bytes = bytes;
    after.version = version;
    after.listNumber = this.#listNumber;
    this.#stored.set(key, after);
    this.#notify(key, before, after);
  }

  /** Removes an object. */
  delete(object: T): void {
    const key = keyOf(object);
    if (key === undefined) this.#onRejected('a deletion', 'it has no name');
    else this.#remove(key, this.#stored.get(key));
  }

  /** Begins a list; pass the number to `endList`. */
  beginList(): number {
    this.#isListing = true;
    this.#isPartial = false;
    this.#listed = this.#listedBytes = 0;
    return ++this.#listNumber;
  }

  /**
   * Removes the objects that the list did not have. Resolves to false, without further removals, when
   * `forget` or another list began meanwhile, and when there was no room for an object before these removals:
   * then objects may be missing, and the list must be read again. Throws a StreamError (`full`) for a list
   * beyond the limits.
   */
  async endList(number: number, turn: LoopTurn): Promise<boolean> {
    if (this.#isPartial) this.#check(this.#listed, this.#listedBytes);
    let count = 0;
    for (const [key, stored] of this.#stored) {
      if (number !== this.#listNumber) return false;
      if (stored.listNumber !== number) this.#remove(key, stored);
      if (++count % OBJECTS_PER_CLOCK_READ === 0 && turn.isOver) await turn.next();
    }
    this.#isListing = false;
    return number === this.#listNumber && !this.#isPartial;
  }

  /** From now on no stored object counts as the same as one with its version: the cluster may be another one. */
  forgetVersions(): void {
    for (const stored of this.#stored.values()) stored.version = '';
  }

  /** Drops all objects; `endList` of a list in progress then resolves to false. */
  async forget(turn: LoopTurn): Promise<void> {
    const number = this.beginList();
    this.#isListing = false;
    let count = 0;
    for (const [key, stored] of this.#stored) {
      // An object that arrived while this waited for its turn stays.
      if (stored.listNumber < number) this.#remove(key, stored);
      if (++count % OBJECTS_PER_CLOCK_READ === 0 && turn.isOver) await turn.next();
    }
  }

  #remove(key: string, before: K | undefined): void {
    if (before === undefined) return;
    this.#stored.delete(key);
    this.#bytes -= this.#bytesOf(before);
    this.#countListed(before, undefined);
    this.#notify(key, before, undefined);
  }

  /** The list in progress has this object, as it is stored. */
  #mark(stored: K): void {
    this.#countListed(stored, stored);
    stored.listNumber = this.#listNumber;
  }

  /** Counts `after` in the list in progress, in place of what it had of the object before. */
  #countListed(before: K | undefined, after: K | undefined): void {
    if (before?.listNumber === this.#listNumber) {
      this.#listed--;
      this.#listedBytes -= this.#bytesOf(before);
    }
    if (after === undefined) return;
    this.#listed++;
    this.#listedBytes += this.#bytesOf(after);
  }

  /** Throws for more than the limits allow. */
  #check(objects: number, bytes: number): void {
    const { maxObjects, maxBytes } = this.#limits;
    if (objects > maxObjects) {
      throw new StreamError('full', `there are more than ${maxObjects} objects (--max-objects)`);
    }
    if (bytes > maxBytes) {
      const problem = `the objects take more than ${maxBytes} bytes (--max-stored-bytes)`;
      throw new StreamError('full', problem);
    }
  }

  #bytesOf(stored: K | undefined): number {
    return stored === undefined ? 0 : (this.#sink.bytesOf?.(stored) ?? 0);
  }

  #project(key: string, object: T): K | undefined {
    try {
      return this.#sink.project(key, object, (reason) => this.#onRejected(key, reason));
    } catch (error) {
      this.#onRejected(key, errorText(error));
      return undefined;
    }
  }

  #notify(key: string, before: K | undefined, after: K | undefined): void {
    this.changes++;
    try {
      this.#sink.change(key, before, after);
    } catch (error) {
      // It must not throw, but an error there must not end the watch.
      this.#onRejected(key, errorText(error));
    }
  }
}

/** The key of an object; undefined when it has no name, or is no object. */
export function keyOf(object: ApiObject | null | undefined): string | undefined {
  const { namespace, name } = object?.metadata ?? {};
  if (typeof name !== 'string' || name === '') return undefined;
  // Unlike a template, join() makes a flat string that does not retain its parts.
  return typeof namespace === 'string' && namespace !== '' ? [namespace, name].join('/') : name;
}

/** The version of an object; '' when it has none. */
export function versionOf(object: ApiObject | null | undefined): string {
  const version: unknown = object?.metadata?.resourceVersion;
  return typeof version === 'string' ? version : '';
}
