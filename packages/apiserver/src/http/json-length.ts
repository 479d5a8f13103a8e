const LENGTHS = new WeakMap<object, number>();

/** The length of an object's JSON, which is computed once: stored objects are never changed in place. */
export function jsonLength(object: object): number {
  const known = LENGTHS.get(object);
  if (known !== undefined) return known;
  const { length } = JSON.stringify(object);
  LENGTHS.set(object, length);
  return length;
}
