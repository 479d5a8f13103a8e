import { StreamError } from '../errors.js';

/** Limits of the stored objects of one resource. */
export interface StoreLimits {
  readonly maxObjects: number;
  /** Of the memory that they are estimated to take, in the zone as well. */
  readonly maxBytes: number;
}

const MAX_OBJECTS = 100_000;
const MAX_BYTES = 64 * 1024 * 1024;
/**
 * Three resources are watched. Full, they take 192 MiB of the heap of 224 MiB that the manifest gives, and
 * 50,000 slices with ten endpoints each, or 40,000 services, stay below.
 */
export const DEFAULT_STORE_LIMITS: StoreLimits = { maxObjects: MAX_OBJECTS, maxBytes: MAX_BYTES };

/** Whether the limits allow so many objects and bytes. */
export function isWithin(objects: number, bytes: number, limits: StoreLimits): boolean {
  return objects <= limits.maxObjects && bytes <= limits.maxBytes;
}

/** Throws a StreamError (`full`) for more than the limits allow. */
export function checkLimits(objects: number, bytes: number, limits: StoreLimits): void {
  const { maxObjects, maxBytes } = limits;
  if (objects > maxObjects) {
    throw new StreamError('full', `there are more than ${maxObjects} objects (--max-objects)`);
  }
  if (bytes > maxBytes) {
    throw new StreamError(
      'full',
      `the objects take more than ${maxBytes} bytes (--max-stored-bytes)`,
    );
  }
}
