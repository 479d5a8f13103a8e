import { errorText } from '@kube-dns/daemon';
import type { LoopTurn } from './loop-turn.js';

/** What every object of the API has. */
export interface ApiObject {
  readonly metadata?: {
    readonly namespace?: string;
    readonly name?: string;
    readonly resourceVersion?: string;
  };
}

/** What is kept of an object; the ObjectStore fills in both fields. */
export interface Kept {
  version: string;
  /** The last list that had the object, or that was the last when the object came. */
  listNumber: number;
}

/** Receives the objects of one resource; `key` is `namespace/name`, or the name alone. */
export interface ObjectSink<T extends ApiObject, K extends Kept> {
  /** Cuts an object down to what is kept, or throws when it makes no sense of it. */
  project(key: string, object: T): K;
  /** One object came (`before` undefined), changed, or went (`after` undefined). Must not throw. */
  change(key: string, before: K | undefined, after: K | undefined): void;
}

/** Hears of what was left out, and why. */
export type Rejected = (what: string, reason: string) => void;

const CHANGES_BETWEEN_LOOKS = 500;

/**
 * The objects of one resource, cut down: the only place that knows their keys and versions. A list is
 * applied as a diff: what it has in common with what is kept reaches the sink as nothing.
 */
export class ObjectStore<T extends ApiObject, K extends Kept> {
  readonly #sink: ObjectSink<T, K>;
  readonly #onRejected: Rejected;
  readonly #kept = new Map<string, K>();
  #listNumber = 0;

  constructor(sink: ObjectSink<T, K>, onRejected: Rejected) {
    this.#sink = sink;
    this.#onRejected = onRejected;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Takes an object as it is now. One that makes no sense is taken for removed. */
  put(object: T): void {
    const key = keyOf(object);
    if (key === undefined) {
      this.#onRejected('an object', 'it has no name');
      return;
    }
    const before = this.#kept.get(key);
    const version = versionOf(object);
    if (before !== undefined && version !== '' && before.version === version) {
      before.listNumber = this.#listNumber;
      return;
    }
    const after = this.#project(key, object);
    if (after === undefined) {
      this.#remove(key, before);
      return;
    }
    after.version = version;
    after.listNumber = this.#listNumber;
    this.#kept.set(key, after);
    this.#tell(key, before, after);
  }

  /** Takes an object for removed. */
  delete(object: T): void {
    const key = keyOf(object);
    if (key === undefined) this.#onRejected('a deletion', 'it has no name');
    else this.#remove(key, this.#kept.get(key));
  }

  /** Begins a list; the number is for its end. */
  beginList(): number {
    return ++this.#listNumber;
  }

  /**
   * Removes what the list did not have. Resolves to false, having removed nothing more, when `forget` or
   * another list came in between: then objects may be missing, and the list has to be read again.
   */
  async endList(number: number, turn: LoopTurn): Promise<boolean> {
    let looks = 0;
    for (const [key, kept] of this.#kept) {
      if (number !== this.#listNumber) return false;
      if (kept.listNumber !== number) this.#remove(key, kept);
      if (++looks % CHANGES_BETWEEN_LOOKS === 0 && turn.isOver) await turn.next();
    }
    return number === this.#listNumber;
  }

  /** Drops everything; a list under way is spoiled by it. */
  async forget(turn: LoopTurn): Promise<void> {
    const number = ++this.#listNumber;
    let looks = 0;
    for (const [key, kept] of this.#kept) {
      // What came while this waited for its turn is no longer what was to be forgotten.
      if (kept.listNumber < number) this.#remove(key, kept);
      if (++looks % CHANGES_BETWEEN_LOOKS === 0 && turn.isOver) await turn.next();
    }
  }

  #remove(key: string, before: K | undefined): void {
    if (before === undefined) return;
    this.#kept.delete(key);
    this.#tell(key, before, undefined);
  }

  #project(key: string, object: T): K | undefined {
    try {
      return this.#sink.project(key, object);
    } catch (error) {
      this.#onRejected(key, errorText(error));
      return undefined;
    }
  }

  #tell(key: string, before: K | undefined, after: K | undefined): void {
    try {
      this.#sink.change(key, before, after);
    } catch (error) {
      // It must not, but a slip there must not end the watch here.
      this.#onRejected(key, errorText(error));
    }
  }
}

/** The key of an object; undefined for what is none or has no name. */
function keyOf(object: ApiObject | null | undefined): string | undefined {
  const { namespace, name } = object?.metadata ?? {};
  if (typeof name !== 'string' || name === '') return undefined;
  // Unlike a template, join() makes a flat string that does not keep its parts alive.
  return typeof namespace === 'string' && namespace !== '' ? [namespace, name].join('/') : name;
}

function versionOf({ metadata }: ApiObject): string {
  const version: unknown = metadata?.resourceVersion;
  return typeof version === 'string' ? version : '';
}
