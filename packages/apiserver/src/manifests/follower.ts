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

/** Which files are followed, and where trouble is told. */
export interface FollowerOptions {
  readonly paths: readonly string[];
  /** Called with one line for each file or object that cannot be used. */
  readonly onError: (message: string) => void;
  /** Quiet time after a change before files are read, default 50 ms. */
  readonly debounceMs?: number;
  /** How often files are looked at without a change being seen, default 2 s. */
  readonly pollIntervalMs?: number;
}

interface WatchedFolder {
  readonly watcher: FSWatcher;
  readonly inode: string;
}

/**
 * Keeps the objects of a server as manifest files say. A file that cannot be used, or an object
 * that is refused, leaves what was there before.
 *
 * Folders are watched, not files: editors and ConfigMap volumes replace files. What the system
 * does not tell of (links into other folders, network file systems) is seen by looking now and
 * then.
 */
export class ManifestFollower {
  readonly #options: FollowerOptions;
  readonly #set = new ManifestSet();
  readonly #signatures = new Map<string, string>();
  /** What was said last of each file that cannot be used. */
  readonly #complaints = new Map<string, string>();
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
    // Once at once: something may have changed since the files were read.
    await this.#rescan();
    if (this.#isClosed) return;
    const interval = this.#options.pollIntervalMs ?? 2000;
    this.#poll = setInterval(() => void this.#rescan(), interval);
  }

  /** Ends following; a scan that is under way is waited for. */
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

  /** One scan at a time; a change during a scan leads to another by its own debounce. */
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

  /** Reads what has changed; tells whether anything has. */
  async #update(files: readonly FoundFile[]): Promise<boolean> {
    let hasChanged = false;
    const present = new Set(files.map(({ path }) => path));
    for (const path of [...this.#signatures.keys()].filter((item) => !present.has(item))) {
      this.#signatures.delete(path);
      this.#complaints.delete(path);
      this.#set.removeFile(path);
      hasChanged = true;
    }
    for (const file of files) {
      if (this.#signatures.get(file.path) === file.signature) continue;
      hasChanged = true;
      try {
        await this.#read(file);
      } catch (error) {
        // A file that vanished meanwhile is dealt with by the next scan.
        const { cause } = error instanceof ManifestError ? error : {};
        if (!isMissing(cause)) this.#complain(file.path, messageOf(error));
      }
    }
    return hasChanged;
  }

  async #read({ path, signature }: FoundFile): Promise<void> {
    // Noted first, so that a broken file is told of once and not at every scan.
    this.#signatures.set(path, signature);
    this.#set.setFile(path, parseManifests(await readManifestFile(path), path));
    this.#complaints.delete(path);
  }

  /** A file that is read while it is written looks changed once more, with the same text. */
  #complain(path: string, message: string): void {
    if (this.#complaints.get(path) === message) return;
    this.#complaints.set(path, message);
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
        // No watch to be had: the regular look finds changes, only later.
      }
    }
  }

  #unwatch(path: string): void {
    this.#folders.get(path)?.watcher.close();
    this.#folders.delete(path);
  }
}
