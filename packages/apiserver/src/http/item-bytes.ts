import type { KubeObject } from '../object.js';

/**
 * The JSON of each object that was in a list, with a comma before it. Stored objects are never
 * changed in place, so it is valid as long as the object exists: further lists of a large cluster
 * need no serialization and are written without a copy.
 */
const ITEMS = new WeakMap<KubeObject, Buffer>();

/**
 * Items share memory in slabs. With a separate buffer for each of 50,000 items, or a copy of each
 * page, the garbage collector runs every 100 ms for half a second of CPU (measured).
 */
const SLAB_BYTES = 256 * 1024;
let slab: Buffer = Buffer.alloc(0);

const END = Buffer.from(']}\n');

function itemBytes(object: KubeObject): Buffer {
  const cached = ITEMS.get(object);
  if (cached) return cached;
  // Items of typed lists have no `apiVersion` and `kind`.
  const text = `,${JSON.stringify({ ...object, apiVersion: undefined, kind: undefined })}`;
  const length = Buffer.byteLength(text);
  if (length > slab.length) slab = Buffer.allocUnsafeSlow(Math.max(length, SLAB_BYTES));
  slab.write(text);
  const bytes = slab.subarray(0, length);
  slab = slab.subarray(length);
  ITEMS.set(object, bytes);
  return bytes;
}

/** The JSON of a list in pieces, made as they are taken: the fields of `head`, then the objects as `items`. */
export function* encodeList(head: object, objects: readonly KubeObject[]): Generator<Buffer, void> {
  yield Buffer.from(`${JSON.stringify(head).slice(0, -1)},"items":[`);
  for (const [i, object] of objects.entries()) {
    const bytes = itemBytes(object);
    yield i === 0 ? bytes.subarray(1) : bytes;
  }
  yield END;
}
