import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, ManifestError, messageOf } from '../errors.js';

/** A manifest file that was found. */
export interface FoundFile {
  readonly path: string;
  /** Changes whenever the content may have changed. */
  readonly signature: string;
}

/** The files behind paths, and the folders to watch for changes (path → inode). */
export interface FoundManifests {
  readonly files: readonly FoundFile[];
  readonly folders: ReadonlyMap<string, string>;
}

const MANIFEST_NAME = /^[^.].*\.(?:ya?ml|json)$/;

/** A larger file is not read: it is no manifest. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Whether an error means that a file or folder does not exist. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

async function findFile(path: string): Promise<FoundFile | undefined> {
  // Of the target of a link, so that a swapped link is a changed file.
  const { ino, size, mtimeMs, ctimeMs } = await stat(path);
  if (size > MAX_FILE_BYTES)
    throw new ManifestError(`${path}: larger than ${MAX_FILE_BYTES} bytes`);
  return { path, signature: `${ino}:${size}:${mtimeMs}:${ctimeMs}` };
}

async function ignoreMissing<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Finds the manifest files behind paths, each a file or a folder of `.yaml`, `.yml` and `.json`
 * files (without hidden ones and sub-folders). A missing path is not an error.
 */
export async function findManifestFiles(paths: readonly string[]): Promise<FoundManifests> {
  const files = new Map<string, FoundFile>();
  const folders = new Map<string, string>();
  for (const path of paths) {
    const stats = await ignoreMissing(stat(path));
    const folder = stats?.isDirectory() ? path : dirname(path);
    const folderStats = await ignoreMissing(stat(folder));
    if (folderStats) folders.set(folder, String(folderStats.ino));
    const names = stats?.isDirectory() ? await readdir(path) : undefined;
    const found = names?.filter((name) => MANIFEST_NAME.test(name)).sort() ?? [];
    for (const item of names ? found.map((name) => join(path, name)) : [path]) {
      const file = await ignoreMissing(findFile(item));
      if (file) files.set(item, file);
    }
  }
  return { files: [...files.values()], folders };
}

/** Throws a {@link ManifestError} for the first path that does not exist. */
export async function requirePaths(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    try {
      await stat(path);
    } catch (error) {
      const why = isMissing(error) ? 'no such file or folder' : messageOf(error);
      throw new ManifestError(`${path}: ${why}`, { cause: error });
    }
  }
}

/** The text of a file. Throws a {@link ManifestError} that names it. */
export async function readManifestFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ManifestError(`${path}: cannot be read: ${messageOf(error)}`, { cause: error });
  }
}
