import { closeSync, openSync, readSync } from 'node:fs';

const SYSTEM_GENERATOR = '/dev/urandom';

/**
 * Fills all of it with bytes that cannot be guessed, from the system's generator (random(4)). Node's `crypto` has the same,
 * and 0.5 MiB of memory: it is used only where the device is not.
 */
export function fillRandom(bytes: Uint8Array): void {
  if (!readSystemGenerator(bytes)) process.getBuiltinModule('node:crypto').randomFillSync(bytes);
}

/** Bytes that cannot be guessed. */
export function randomBytes(count: number): Buffer {
  const bytes = Buffer.alloc(count);
  fillRandom(bytes);
  return bytes;
}

/** Returns whether it filled all of it. */
function readSystemGenerator(bytes: Uint8Array): boolean {
  let fd: number | undefined;
  try {
    fd = openSync(SYSTEM_GENERATOR, 'r');
    return readSync(fd, bytes) === bytes.length;
  } catch {
    return false; // another system, or no descriptor is free
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
