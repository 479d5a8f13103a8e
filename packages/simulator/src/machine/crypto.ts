import * as crypto from 'node:crypto';
import type { Random } from '../random.js';

/** `node:crypto` whose random numbers are the seed's; hashes and signatures are Node's. */
export function cryptoModule(random: Random): object {
  const fill = <T extends ArrayBufferView>(
    view: T,
    offset = 0,
    size = view.byteLength - offset,
  ): T => {
    random.fill(new Uint8Array(view.buffer, view.byteOffset + offset, size));
    return view;
  };
  const randomBytes = (size: number, done?: (error: null, bytes: Buffer) => void) => {
    const bytes = fill(Buffer.alloc(size));
    if (done !== undefined) queueMicrotask(() => done(null, bytes));
    return bytes;
  };
  const randomInt = (from: number, to?: number) =>
    to === undefined ? random.below(from) : random.between(from, to - 1);
  const randomUUID = () => {
    const bytes = fill(Buffer.alloc(16));
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/u, '$1-$2-$3-$4-');
  };
  return {
    ...crypto,
    randomBytes,
    randomFillSync: fill,
    randomInt,
    randomUUID,
    getRandomValues: fill,
    webcrypto: { getRandomValues: fill, randomUUID },
  };
}
