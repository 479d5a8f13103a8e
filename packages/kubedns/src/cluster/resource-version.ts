const DECIMAL = /^(?:0|[1-9]\d*)$/;

/** Whether a resourceVersion is a number, as those of Kubernetes are. */
export function isDecimal(version: string): boolean {
  return DECIMAL.test(version);
}

/**
 * Whether a resourceVersion is lower than another of the same resource: they are decimal numbers of any
 * length (KEP-5504). False when one of them is anything else.
 */
export function isLowerVersion(version: string, other: string): boolean {
  // Most versions of a watch are higher, which the lengths and the texts tell.
  if (version.length > other.length) return false;
  if (version.length === other.length && version >= other) return false;
  return isDecimal(version) && isDecimal(other);
}
