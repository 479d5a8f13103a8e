import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { constants, promises, readdir, readlink } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { systemReason } from '@kube-dns/base';
import { ConfigChangingError, ConfigDirectoryError, ConfigMissingError } from './errors.js';

/** The files of a configuration directory at one moment. */
export interface ConfigFiles {
  /** SHA-256 over names and contents, lower-case hex; '' when there is no file. */
  readonly version: string;
  /** Content by file name, in name order. */
  readonly files: ReadonlyMap<string, string>;
}

const MAX_FILES = 256;
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_TOTAL_BYTES = 4 * MAX_FILE_BYTES;
/** The link that kubelet swaps to replace all files of a ConfigMap volume atomically. */
const DATA_LINK = '..data';
const MAX_TRIES = 3;
// Not those of `promises`, which loads Node's readline, 0.4 MiB: most pods have no file to read.
const readLink = promisify(readlink);
const readFolder = promisify(readdir);

/**
 * Reads the plain files of a directory, without those that start with a dot and without sub-directories.
 * In a ConfigMap volume these are the files behind the link `..data`, all of one version: a swap during
 * the read restarts it. Rejects with a ConfigDirectoryError that names the file: a ConfigMissingError without
 * the directory, a ConfigChangingError after several swaps. After kubernetes/dns pkg/dns/config/sync_dir.go.
 */
export async function readConfigDirectory(path: string): Promise<ConfigFiles> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const data = await dataLink(path);
    const outcome = await readFiles(path, data).catch((error: unknown) => unreadable(path, error));
    // kubelet removes the old version after a swap, so it may have been read only in part.
    if ((await dataLink(path)) !== data) continue;
    if (outcome instanceof ConfigDirectoryError) throw outcome;
    return outcome;
  }
  throw new ConfigChangingError(`${path}: changes while it is read`);
}

async function dataLink(path: string): Promise<string> {
  try {
    return await readLink(join(path, DATA_LINK));
  } catch {
    return ''; // an ordinary directory has none
  }
}

/**
 * kubelet adds and removes the links of the keys after it swaps `..data` (kubernetes
 * pkg/volume/util/atomic_writer.go, Write). So the links are not read; only errors name them.
 */
async function readFiles(path: string, data: string): Promise<ConfigFiles> {
  const folder = data === '' ? path : resolve(path, data);
  const names = (await readNames(folder, data !== '')).filter((name) => !name.startsWith('.'));
  if (names.length > MAX_FILES) {
    throw new ConfigDirectoryError(`${path}: more than ${MAX_FILES} files`);
  }
  const files = new Map<string, string>();
  let totalBytes = 0;
  for (const name of sortByBytes(names)) {
    const content = await readPlainFile(join(folder, name), join(path, name));
    if (content === null) continue;
    totalBytes += content.length;
    if (totalBytes > MAX_TOTAL_BYTES) {
      throw new ConfigDirectoryError(`${path}: more than ${MAX_TOTAL_BYTES} bytes`);
    }
    if (!isUtf8(content)) throw new ConfigDirectoryError(`${join(path, name)}: not valid UTF-8`);
    files.set(name, content.toString('utf8'));
  }
  return { version: configVersion(files), files };
}

/**
 * The version of a configuration: SHA-256 over names and contents in their order, lower-case hex;
 * '' when there is no file. After kubernetes/dns pkg/dns/config/sync_dir.go.
 */
export function configVersion(files: ReadonlyMap<string, string>): string {
  if (files.size === 0) return '';
  const hash = createHash('sha256');
  for (const [name, content] of files) {
    hash.update(name).update('\0').update(content).update('\0');
  }
  return hash.digest('hex');
}

/** The data of a volume must exist; any other directory may come later. */
async function readNames(path: string, isData: boolean): Promise<string[]> {
  try {
    return await readFolder(path);
  } catch (error) {
    const failure = unreadable(path, error);
    const { code } = Object(error) as NodeJS.ErrnoException;
    if (code !== 'ENOENT' || isData) throw failure;
    throw new ConfigMissingError(failure.message, { cause: error });
  }
}

/** Go sorts names by their bytes, which is not JavaScript's order beyond U+FFFF. */
function sortByBytes(names: readonly string[]): string[] {
  return names
    .map((name) => Buffer.from(name))
    .sort((left, right) => left.compare(right))
    .map(String);
}

/** The content of a regular file, or null for a directory. Errors name the file as `path`. */
async function readPlainFile(location: string, path: string): Promise<Buffer | null> {
  let file: FileHandle | undefined;
  try {
    // Without NONBLOCK, opening a pipe without a writer would never return.
    file = await promises.open(location, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = await file.stat();
    if (stat.isDirectory()) return null;
    if (!stat.isFile()) throw new ConfigDirectoryError(`${path}: not a plain file`);
    return await readBounded(file, path);
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    await file?.close();
  }
}

/** Counts the bytes instead of asking for the size first: the file can grow meanwhile. */
async function readBounded(file: FileHandle, path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of file.createReadStream({ autoClose: false, end: MAX_FILE_BYTES })) {
    chunks.push(chunk as Buffer); // a stream without encoding yields buffers
    bytes += (chunk as Buffer).length;
  }
  if (bytes > MAX_FILE_BYTES) {
    throw new ConfigDirectoryError(`${path}: larger than ${MAX_FILE_BYTES} bytes`);
  }
  return Buffer.concat(chunks);
}

function unreadable(path: string, error: unknown): ConfigDirectoryError {
  if (error instanceof ConfigDirectoryError) return error;
  return new ConfigDirectoryError(`${path}: ${systemReason(error)}`, { cause: error });
}
