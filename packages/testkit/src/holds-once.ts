const ATTEMPTS = 4;

/**
 * Repeats a measurement of another process until it holds: a busy machine spoils one measurement, a slow program all of
 * them. This process does not see that another one gets no CPU time; for work of its own there is `againIfStalled`.
 * The last error is thrown.
 */
export async function holdsOnce(measure: (attempt: number) => unknown): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await measure(attempt);
      return;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
