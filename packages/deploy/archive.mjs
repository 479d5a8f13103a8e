// Archives whose bytes depend on nothing but their contents: the entries sorted, one time for all, no user names.
import { Buffer } from 'node:buffer';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join, posix } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const BLOCK = 512;
const TYPES = { file: '0', link: '2', folder: '5' };
const MAX_NAME = 100;
const MAX_PREFIX = 155;

/** The file of an archive with this content, a text or bytes. */
export const fileEntry = (path, content, mode = 0o644) => ({
  type: 'file',
  path,
  mode,
  bytes: Buffer.from(content),
});

/**
 * What is below a folder, as entries below `prefix`. Of the rights only these count: who may run a file, and that all may write
 * to a folder such as /tmp. So the umask of a checkout makes no difference.
 */
export function entriesOf(folder, prefix = '') {
  return readdirSync(folder).flatMap((name) => {
    const from = join(folder, name);
    const path = posix.join(prefix, name);
    const status = lstatSync(from);
    if (status.isSymbolicLink()) {
      return [{ type: 'link', path, mode: 0o777, target: readlinkSync(from) }];
    }
    if (status.isDirectory()) {
      const mode = (status.mode & 0o1000) === 0 ? 0o755 : 0o1777;
      return [{ type: 'folder', path: `${path}/`, mode }, ...entriesOf(from, path)];
    }
    return [fileEntry(path, readFileSync(from), (status.mode & 0o100) === 0 ? 0o644 : 0o755)];
  });
}

/** A tar archive of entries, in the format ustar, with this time in seconds for all. Throws for a path that it cannot hold. */
export function tarOf(entries, seconds) {
  const parts = entries
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .flatMap((entry) => {
      const bytes = entry.bytes ?? Buffer.alloc(0);
      const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK);
      return [headerOf(entry, bytes.length, seconds), bytes, padding];
    });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

/** A tar archive of entries, packed. */
export function tgzOf(entries, seconds) {
  return pack(tarOf(entries, seconds));
}

/** As `gzip -n`: without a name and a time. */
export function pack(bytes) {
  return promisify(gzip)(bytes);
}

function headerOf({ type, path, mode, target = '' }, size, seconds) {
  const header = Buffer.alloc(BLOCK);
  const octal = (number, at, length) =>
    header.write(`${number.toString(8).padStart(length - 1, '0')}\0`, at);
  const { prefix, name } = splitPath(path);
  if (Buffer.byteLength(target) > MAX_NAME) throw new Error(`too long for an archive: ${target}`);
  header.write(name, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8); // user
  octal(0, 116, 8); // group
  octal(size, 124, 12);
  octal(seconds, 136, 12);
  header.fill(' ', 148, 156);
  header.write(TYPES[type], 156);
  header.write(target, 157);
  header.write('ustar\x0000', 257);
  header.write(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** The two fields of a path: a long one is cut at a slash. */
function splitPath(path) {
  if (Buffer.byteLength(path) <= MAX_NAME) return { prefix: '', name: path };
  for (let at = path.indexOf('/'); at > 0 && at <= MAX_PREFIX; at = path.indexOf('/', at + 1)) {
    const name = path.slice(at + 1);
    if (name !== '' && Buffer.byteLength(name) <= MAX_NAME) {
      return { prefix: path.slice(0, at), name };
    }
  }
  throw new Error(`too long for an archive: ${path}`);
}
