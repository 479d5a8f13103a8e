/** Something that runs until it is closed. */
export interface Closable {
  close(): unknown;
}

/** Everything that a test or a command started, ended in reverse order however it ends. */
export class Owned implements Closable {
  readonly #items: Closable[] = [];
  #isClosed = false;

  /** What is added after the end, because it was just being started, is ended at once. */
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

  /** Ends all that was added so far; more can be added after that, by the next test say. */
  async clear(): Promise<void> {
    await this.#end();
  }

  async #end(): Promise<void> {
    for (let item = this.#items.pop(); item; item = this.#items.pop()) await item.close();
  }
}

/** Takes what a test opened, and gives it back. */
export type Lifetime = <T extends Closable>(item: T) => T;

/** Ends after each test what it added: `const own = ownedBy(afterEach)`. */
export function ownedBy(afterEach: (close: () => Promise<void>) => void): Lifetime {
  const owned = new Owned();
  afterEach(() => owned.clear());
  return (item) => owned.add(item);
}
