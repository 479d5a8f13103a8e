const DEADLINE_MS = 5000;

/** What has arrived and who waits for it. */
export class Inbox<T> {
  readonly #items: T[] = [];
  readonly #waiters: ((item: T) => void)[] = [];

  get length(): number {
    return this.#items.length;
  }

  push(item: T): void {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#items.push(item);
    else waiter(item);
  }

  /** The next item, in order of arrival; rejects when none comes in time. */
  next(): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('nothing arrived')), DEADLINE_MS);
      this.#waiters.push((arrived) => {
        clearTimeout(timer);
        resolve(arrived);
      });
    });
  }

  async take(count: number): Promise<T[]> {
    const items: T[] = [];
    while (items.length < count) items.push(await this.next());
    return items;
  }
}

/** Looks at a condition again and again until it holds; rejects when it does not in time. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`never: ${String(condition)}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Takes what a test opened, and gives it back. */
export type Lifetime = <T extends { close(): unknown }>(resource: T) => T;

/** Closes after each test what the test opened, the last first. */
export function lifetime(afterEach: (close: () => Promise<void>) => void): Lifetime {
  const opened: { close(): unknown }[] = [];
  afterEach(async () => {
    for (let resource = opened.pop(); resource; resource = opened.pop()) await resource.close();
  });
  return (resource) => {
    opened.push(resource);
    return resource;
  };
}
