import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { CodedError } from '@kube-dns/base';

/** A key, certificates, a kubeconfig, a resolv.conf, a Corefile: those of people have some kilobytes. */
const MAX_BYTES = 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
/** Linux Documentation/admin-guide/devices.txt: major 1, minor 3. */
const NULL_DEVICE = 0x103;
// Without NONBLOCK, opening a pipe that has no writer would never return, and no signal would be handled.
export const READ_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** A file that is not read: it is no regular file, or too large. Its `code` is `text-file`. */
export class TextFileError extends CodedError {
  constructor(message: string) {
    super('text-file', message);
  }
}

/**
 * Reads a file of settings, also through symbolic links, as UTF-8. Only a regular file of at most `maxBytes` (1 MiB by default) is read,
 * and /dev/null, which is empty: any other device or a pipe may be endless, and a read of it would block the process. Throws a
 * TextFileError with the reason alone, or the system's error.
 */
export function readTextFile(path: string, maxBytes = MAX_BYTES): string {
  // Before it is opened, because that alone has effects on some devices.
  if (isEmptyDevice(statSync(path))) return '';
  const fd = openSync(path, READ_FLAGS);
  try {
    // Another one may have its name by now.
    const stat = fstatSync(fd);
    if (isEmptyDevice(stat)) return '';
    if (stat.size > maxBytes) throw tooLarge(maxBytes);
    return readDescriptor(fd, maxBytes);
  } finally {
    closeSync(fd);
  }
}

/** Whether it is /dev/null; throws a TextFileError for what is no file. The read of a directory is the system's error. */
function isEmptyDevice(stat: Stats): boolean {
  if (stat.isFile() || stat.isDirectory()) return false;
  if (stat.isCharacterDevice() && stat.rdev === NULL_DEVICE) return true;
  throw new TextFileError(`not a regular file, but ${kindOf(stat)}`);
}

function kindOf(stat: Stats): string {
  if (stat.isFIFO()) return 'a pipe';
  return stat.isSocket() ? 'a socket' : 'a device';
}

/**
 * Reads what is open to its end, as UTF-8: a file, or stdin. Throws a TextFileError when it is larger, also where its size does not
 * say so: a file can grow meanwhile, and those of /proc have no size.
 */
export function readDescriptor(fd: number, maxBytes: number): string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const length = readSync(fd, chunk);
    if (length === 0) return Buffer.concat(chunks).toString('utf8');
    bytes += length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk.subarray(0, length));
  }
}

function tooLarge(maxBytes: number): TextFileError {
  return new TextFileError(`larger than ${maxBytes} bytes`);
}
