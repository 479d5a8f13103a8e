import { watch, type FSWatcher } from 'node:fs';
import { ManifestError, messageOf } from '../errors.js';
import type { ObjectAccess } from '../object-access.js';
import {
  findManifestFiles,
  isMissing,
  readManifestFile,
  requirePaths,
  type FoundFile,
} from './files.js';
import { ManifestSet } from './manifest-set.js';
import { parseManifests } from './parse.js';

/** Which files are followed, how, and who receives errors. */
export interface FollowerOptions {
  readonly paths: readonly string[];
  /** Called with one line for each file or object that cannot be used. */
  readonly onError: (message: string) => void;
  /** Quiet time after a change before files are read, default 50 ms. */
  readonly debounceMs?: number;
  /** How often files are checked without a reported change, default 2 s. */
  readonly pollIntervalMs?: number;
}

interface WatchedFolder {
  readonly watcher: FSWatcher;
  readonly inode: string;
}

/**
 * Keeps the objects of a server equal to manifest files. After a file that cannot be used, or an
 * object that is refused, the previous objects stay.
 *
 * Folders are watched, not files: editors and ConfigMap volumes replace files. Changes that the
 * system does not report (links into other folders, network file systems) are found by polling.
 */
export class ManifestFollower {
  readonly #options: FollowerOptions;
  readonly #set = new ManifestSet();
  readonly #signatures = new Map<string, string>();
  /** The last error of each file that cannot be used. */
  readonly #errors = new Map<string, string>();
  readonly #folders = new Map<string, WatchedFolder>();
  #objects: ObjectAccess | undefined;
  #debounce: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;
  #scan: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Reads all files. Throws a {@link ManifestError} for the first that cannot be used. */
  async load(): Promise<void> {
    await requirePaths(this.#options.paths);
    const { files } = await findManifestFiles(this.#options.paths);
    for (const file of files) await this.#read(file);
  }

  /** Creates the loaded objects. Throws a {@link ManifestError} for the first that is refused. */
  seed(objects: ObjectAccess): void {
    this.#set.apply(objects, (error) => {
      throw error;
    });
  }

  /** Follows the files from now on. */
  async follow(objects: ObjectAccess): Promise<void> {
    this.#objects = objects;
    // Immediately: something may have changed since the files were read.
    await this.#rescan();
    if (this.#isClosed) return;
    const interval = this.#options.pollIntervalMs ?? 2000;
    this.#poll = setInterval(() => void this.#rescan(), interval);
  }

  /** Ends following; waits for a scan in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#debounce);
    clearInterval(this.#poll);
    await this.#scan;
    for (const { watcher } of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  #noteChange(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#debounce);
    const delay = this.#options.debounceMs ?? 50;
    this.#debounce = setTimeout(() => void this.#rescan(), delay);
  }

  /** One scan at a time; a change during a scan causes another one after the debounce time. */
  async #rescan(): Promise<void> {
    while (this.#scan) await this.#scan;
    if (this.#isClosed) return;
    this.#scan = this.#scanOnce();
    await this.#scan;
    this.#scan = undefined;
  }

  async #scanOnce(): Promise<void> {
    try {
      const { files, folders } = await findManifestFiles(this.#options.paths);
      if (this.#isClosed) return;
      this.#watch(folders);
      if (await this.#update(files)) this.#apply();
    } catch (error) {
      this.#options.onError(messageOf(error));
    }
  }

  /** Reads the changed files; returns whether there were any. */
  async #update(files: readonly FoundFile[]): Promise<boolean> {
    let hasChanged = false;
    const present = new Set(files.map(({ path }) => path));
    for (const path of [...this.#signatures.keys()].filter((item) => !present.has(item))) {
      this.#signatures.delete(path);
      this.#errors.delete(path);
      this.#set.removeFile(path);
      hasChanged = true;
    }
    for (const file of files) {
      if (this.#signatures.get(file.path) === file.signature) continue;
      hasChanged = true;
      try {
        await this.#read(file);
      } catch (error) {
        // The next scan handles a file that was removed meanwhile.
        const { cause } = error instanceof ManifestError ? error : {};
        if (!isMissing(cause)) this.#reportError(file.path, messageOf(error));
      }
    }
    return hasChanged;
  }

  async #read({ path, signature }: FoundFile): Promise<void> {
    // Stored first, so that a broken file is reported once and not at every scan.
    this.#signatures.set(path, signature);
    this.#set.setFile(path, parseManifests(await readManifestFile(path), path));
    this.#errors.delete(path);
  }

  /** A file that is read during a write changes once more, with the same error. */
  #reportError(path: string, message: string): void {
    if (this.#errors.get(path) === message) return;
    this.#errors.set(path, message);
    this.#options.onError(message);
  }

  #apply(): void {
    if (!this.#objects || this.#isClosed) return;
    this.#set.apply(this.#objects, (error) => this.#options.onError(error.message));
  }

  /** Watches the folders as they are now: one that was replaced is another folder. */
  #watch(folders: ReadonlyMap<string, string>): void {
    for (const [path, { watcher, inode }] of this.#folders) {
      if (folders.get(path) === inode) continue;
      watcher.close();
      this.#folders.delete(path);
    }
    for (const [path, inode] of folders) {
      if (this.#folders.has(path)) continue;
      try {
        const watcher = watch(path, () => this.#noteChange());
        watcher.on('error', () => this.#unwatch(path));
        this.#folders.set(path, { watcher, inode });
      } catch {
        // Cannot be watched: polling finds the changes, only later.
      }
    }
  }

  #unwatch(path: string): void {
    this.#folders.get(path)?.watcher.close();
    this.#folders.delete(path);
  }
}
