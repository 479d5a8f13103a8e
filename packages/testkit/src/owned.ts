/** Something that runs until it is closed. */
export interface Closable {
  close(): unknown;
}

/** Everything that a test or a command started; it is closed in reverse order. */
export class Owned implements Closable {
  readonly #items: Closable[] = [];
  #isClosed = false;

  /** An item that is added after `close` is closed immediately. */
  add<T extends Closable>(item: T): T {
    if (this.#isClosed) void item.close();
    else this.#items.push(item);
    return item;
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  /** Closes all items so far; more can be added afterwards, for example by the next test. */
  async clear(): Promise<void> {
    await this.#end();
  }

  async #end(): Promise<void> {
    for (let item = this.#items.pop(); item; item = this.#items.pop()) await item.close();
  }
}

/** Adds an item and returns it. */
export type Lifetime = <T extends Closable>(item: T) => T;

/** Closes the items of a test after it: `const own = ownedBy(afterEach)`. */
export function ownedBy(afterEach: (close: () => Promise<void>) => void): Lifetime {
  const owned = new Owned();
  afterEach(() => owned.clear());
  return (item) => owned.add(item);
}
