/** After a making that took t the next begins 3 t later: pages get at most a quarter of the event loop. */
const PAUSE_PER_TIME = 3;

/** One call of `make` at a time; those who ask meanwhile, or in the pause after it, share the next one's result. */
export function sharedResult<T>(make: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | undefined;
  let quiet = Promise.resolve();
  return () =>
    (next ??= quiet.then(() => {
      next = undefined;
      const startedMs = performance.now();
      const made = make();
      const pause = () => {
        const pauseMs = PAUSE_PER_TIME * (performance.now() - startedMs);
        return new Promise<void>((resolve) => setTimeout(resolve, pauseMs));
      };
      quiet = made.then(pause, pause);
      return made;
    }));
}
