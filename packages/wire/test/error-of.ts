/** What an action throws; undefined when it does not. */
export function errorOf(action: () => unknown): unknown {
  try {
    action();
    return undefined;
  } catch (error) {
    return error;
  }
}
