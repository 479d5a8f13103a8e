import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Something that runs until it is closed. */
export interface Closable {
  close(): unknown;
}

/** Everything that a test or a command started; it is closed in reverse order. */
export class Owned implements Closable {
  readonly #items: Closable[] = [];
  #isClosed = false;
  /** What is being closed; never rejects. */
  #closing: Promise<unknown> = Promise.resolve();

  /** An item that is added after `close` is closed immediately. */
  add<T extends Closable>(item: T): T {
    this.#items.push(item);
    if (this.#isClosed) void this.#end().catch(() => undefined);
    return item;
  }

  /** May be called twice, also at the same time: each call waits for the end of all. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  /** Closes all items so far; more can be added afterwards, for example by the next test. */
  async clear(): Promise<void> {
    await this.#end();
  }

  /** One item that fails to close keeps no other open; the first error is thrown at the end. */
  #end(): Promise<void> {
    const ended = this.#closing.then(async () => {
      const errors: unknown[] = [];
      for (let item = this.#items.pop(); item; item = this.#items.pop()) {
        try {
          await item.close();
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw errors[0];
    });
    this.#closing = ended.catch(() => undefined);
    return ended;
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

/** A folder that is removed with its files by `close`. */
export class TemporaryFolder implements Closable {
  readonly path = mkdtempSync(join(tmpdir(), 'kube-dns-test-'));

  /** Writes a file and returns its path. */
  file(name: string, content: string | Uint8Array): string {
    const path = join(this.path, name);
    writeFileSync(path, content);
    return path;
  }

  /** May be called twice. */
  close(): Promise<void> {
    rmSync(this.path, { recursive: true, force: true });
    return Promise.resolve();
  }
}
