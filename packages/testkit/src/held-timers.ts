const ALL = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

export type HeldName = (typeof ALL)[number];

/**
 * For `jest.useFakeTimers(held('setTimeout', 'clearTimeout'))`: these pass by `jest.advanceTimersByTime` alone, until
 * `jest.useRealTimers`. All else of Node runs on: sockets, with their own timeouts, and promises.
 */
export function held(...names: readonly HeldName[]): { readonly doNotFake: HeldName[] } {
  return { doNotFake: ALL.filter((name) => !names.includes(name)) };
}
