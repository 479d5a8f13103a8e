/** Index of the first item whose key is not less than `key`, in items that are sorted by key. */
export function indexFrom<T>(items: readonly T[], key: string, keyOf: (item: T) => string): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyOf(items[middle]!) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
