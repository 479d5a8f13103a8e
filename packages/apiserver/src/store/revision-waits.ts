/** Those who wait until a version is reached. */
export class RevisionWaits {
  readonly #waits = new Map<() => void, number>();

  /** Resolves when `reached` is called with this revision or a later one, at the latest after a time. */
  wait(revision: number, withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(end, withinMs);
      const waits = this.#waits.set(end, revision);
      function end() {
        waits.delete(end);
        clearTimeout(timer);
        resolve();
      }
    });
  }

  reached(revision: number): void {
    for (const [end, wanted] of this.#waits) if (wanted <= revision) end();
  }
}
