interface Runner {
  readonly skip: (title: string, ...rest: never[]) => unknown;
}

/** `each` of a runner: a table, then a title and what runs. */
type Each = (...table: unknown[]) => (title: string, ...rest: unknown[]) => unknown;

/**
 * `it` or `describe` where there is no reason against it; else one whose tests are skipped, with the reason
 * at the end of their titles, as the count at the end of `npm test` shows it. A reason has no brackets.
 */
export function unless<T extends Runner>(reason: string | undefined, run: T): T {
  if (reason === undefined) return run;
  const skip = run.skip as unknown as ((title: string, ...rest: unknown[]) => unknown) & {
    readonly each: Each;
  };
  const titled = (title: string) => `${title} (skipped: ${reason})`;
  const skipping = (title: string, ...rest: unknown[]) => skip(titled(title), ...rest);
  const each: Each =
    (...table) =>
    (title, ...rest) =>
      skip.each(...table)(titled(title), ...rest);
  // It is called as `run` is; only titles differ.
  return Object.assign(skipping, { skip: skipping, each }) as unknown as T;
}
