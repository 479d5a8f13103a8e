/** Asks `read` until it gives something other than undefined and false; throws after the deadline. */
export async function waitFor<T>(
  what: string | (() => string),
  read: () => T | undefined | false,
  deadlineMs = 10_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const value = read();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > end) {
      throw new Error(`waited in vain for ${typeof what === 'string' ? what : what()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Asks `read` until it gives `value`; throws after the deadline with what it gave last. */
export async function waitForValue<T>(
  value: T,
  read: () => Promise<T>,
  deadlineMs = 10_000,
): Promise<void> {
  const end = performance.now() + deadlineMs;
  let last = await read();
  while (last !== value) {
    if (performance.now() > end) {
      throw new Error(`waited in vain for ${String(value)}, the last was ${String(last)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    last = await read();
  }
}

/** Whether a process with this id is there. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // ESRCH: gone
  }
}
