/** Something that runs until it is closed. */
export interface Closable {
  close(): Promise<void>;
}

/** Everything that a command started, ended in reverse order however the command ends. */
export class Owned implements Closable {
  readonly #items: Closable[] = [];
  #isClosed = false;

  /** What comes after the end, because it was on its way then, is ended at once. */
  add<T extends Closable>(item: T): T {
    if (this.#isClosed) void item.close();
    else this.#items.push(item);
    return item;
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (let item = this.#items.pop(); item; item = this.#items.pop()) await item.close();
  }
}
