import { watch, type FSWatcher } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { errorText } from '@kube-dns/base';
import { ApiError, codeOf, ManifestError } from './errors.js';
import { identifyManifest, type ObjectAccess, type ObjectName } from './object-access.js';
import { isJsonObject, type Manifest } from './object.js';
import { apiVersionOf } from './resources/resource-kind.js';
import type { KindName } from './resources/resource-table.js';
import { findDuplicateYamlKeys, findFault, parseYamlText, yamlValueOf } from './yaml.js';

/** Quiet time after a change before files are read. */
const DEBOUNCE_MS = 50;
/** How often files are checked without a reported change. */
const POLL_INTERVAL_MS = 2000;
/** A larger file is not read: it is no manifest. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MANIFEST_NAME = /^[^.].*\.(?:ya?ml|json)$/;

interface FileObject {
  readonly file: string;
  /** The position in the file, such as `document 2, line 14`. */
  readonly position: string;
  readonly manifest: Manifest;
}

/** An object of a kind that the server has. */
interface NamedObject extends FileObject {
  readonly name: ObjectName;
}

interface ManifestFile {
  /** Changes whenever the content may have changed. */
  signature: string;
  /** The objects when the file could be used last. */
  objects: readonly NamedObject[];
  /** Why it cannot be used now. */
  error: string | undefined;
}

interface WatchedFolder {
  readonly watcher: FSWatcher;
  readonly inode: string;
}

/** The signature of each file behind paths, and the inodes of the folders to watch. */
interface FoundManifests {
  readonly files: ReadonlyMap<string, string>;
  readonly folders: ReadonlyMap<string, string>;
}

interface FollowerOptions {
  /** Files, and folders of `.yaml`, `.yml` and `.json` files without hidden ones and sub-folders. */
  readonly paths: readonly string[];
  /** Called with one line for each file or object that cannot be used. */
  readonly onError: (message: string) => void;
}

/**
 * Keeps the objects of a server equal to manifest files; of an object in several files the one in the last file
 * is used. After a file that cannot be used, or an object that is refused, the previous objects stay.
 *
 * Folders are watched, not files: editors and ConfigMap volumes replace files. Changes that the
 * system does not report (links into other folders, network file systems) are found by polling.
 */
export class ManifestFollower {
  readonly #paths: readonly string[];
  readonly #onError: (message: string) => void;
  readonly #files = new Map<string, ManifestFile>();
  /** What the server has of the files, by the identity of the object. */
  readonly #applied = new Map<string, NamedObject>();
  readonly #folders = new Map<string, WatchedFolder>();
  #debounce: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;
  #scan: Promise<void> | undefined;
  #isClosed = false;

  constructor({ paths, onError }: FollowerOptions) {
    this.#paths = paths;
    this.#onError = onError;
  }

  /** Reads all files. Throws a {@link ManifestError} for the first that cannot be used or does not exist. */
  async load(): Promise<void> {
    for (const path of this.#paths) {
      try {
        await stat(path);
      } catch (error) {
        const why = isMissing(error) ? 'no such file or folder' : errorText(error);
        throw new ManifestError(`${path}: ${why}`, { cause: error });
      }
    }
    const { files } = await findManifests(this.#paths);
    for (const [path, signature] of files) await this.#read(path, signature);
  }

  /** Creates the loaded objects. Throws a {@link ManifestError} for the first that is refused. */
  seed(objects: ObjectAccess): void {
    this.#apply(objects, (error) => {
      throw error;
    });
  }

  async follow(objects: ObjectAccess): Promise<void> {
    // Immediately: something may have changed since the files were read.
    await this.#rescan(objects);
    if (this.#isClosed) return;
    this.#poll = setInterval(() => void this.#rescan(objects), POLL_INTERVAL_MS);
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

  /** One scan at a time; a change during a scan causes another one after the debounce time. */
  async #rescan(objects: ObjectAccess): Promise<void> {
    while (this.#scan) await this.#scan;
    if (this.#isClosed) return;
    this.#scan = this.#scanOnce(objects);
    await this.#scan;
    this.#scan = undefined;
  }

  async #scanOnce(objects: ObjectAccess): Promise<void> {
    try {
      const { files, folders } = await findManifests(this.#paths);
      if (this.#isClosed) return;
      this.#watch(folders, objects);
      if (!(await this.#update(files))) return;
      this.#apply(objects, (error) => this.#onError(error.message));
    } catch (error) {
      this.#onError(errorText(error));
    }
  }

  /** Watches the folders as they are now: one that was replaced is another folder. */
  #watch(folders: ReadonlyMap<string, string>, objects: ObjectAccess): void {
    const unwatch = (path: string) => {
      this.#folders.get(path)?.watcher.close();
      this.#folders.delete(path);
    };
    for (const [path, { inode }] of this.#folders) if (folders.get(path) !== inode) unwatch(path);
    for (const [path, inode] of folders) {
      if (this.#folders.has(path)) continue;
      try {
        const watcher = watch(path, () => {
          if (this.#isClosed) return;
          clearTimeout(this.#debounce);
          this.#debounce = setTimeout(() => void this.#rescan(objects), DEBOUNCE_MS);
        });
        watcher.on('error', () => unwatch(path));
        this.#folders.set(path, { watcher, inode });
      } catch {
        // Cannot be watched: polling finds the changes, only later.
      }
    }
  }

  /** Reads the changed files; returns whether there were any. */
  async #update(files: ReadonlyMap<string, string>): Promise<boolean> {
    let hasChanged = false;
    for (const path of [...this.#files.keys()].filter((item) => !files.has(item))) {
      this.#files.delete(path);
      hasChanged = true;
    }
    for (const [path, signature] of files) {
      const before = this.#files.get(path);
      if (before?.signature === signature) continue;
      hasChanged = true;
      try {
        await this.#read(path, signature);
      } catch (error) {
        // The next scan handles a file that was removed meanwhile.
        const { cause } = error instanceof ManifestError ? error : {};
        if (isMissing(cause)) continue;
        const message = errorText(error);
        // A file that is read during a write changes once more, with the same error.
        if (before?.error !== message) this.#onError(message);
        this.#files.get(path)!.error = message;
      }
    }
    return hasChanged;
  }

  async #read(path: string, signature: string): Promise<void> {
    const file = this.#files.get(path) ?? { signature, objects: [], error: undefined };
    // Stored first, so that a broken file is reported once and not at every scan.
    file.signature = signature;
    this.#files.set(path, file);
    file.objects = parseManifests(await readManifest(path), path).map(identify);
    file.error = undefined;
  }

  /**
   * Writes the objects of the files to the server, and deletes those that the files no longer
   * have. Calls `onRefusal` for each object that is refused; it stays unchanged.
   */
  #apply(server: ObjectAccess, onRefusal: (error: ManifestError) => void): void {
    if (this.#isClosed) return;
    const attempt = (object: NamedObject, act: () => void) => {
      try {
        act();
      } catch (error) {
        onRefusal(refusal(object, error));
      }
    };
    const files = [...this.#files.keys()].sort().map((path) => this.#files.get(path)!);
    const desired = new Map(
      files.flatMap(({ objects }) => objects.map((object) => [identityOf(object.name), object])),
    );
    // Deletes first, so that the addresses are free for new objects.
    const gone = [...this.#applied].filter(([id]) => !desired.has(id));
    for (const [id, object] of gone.sort(([, a], [, b]) => rankOf(b) - rankOf(a))) {
      this.#applied.delete(id);
      attempt(object, () => remove(server, object.name));
    }
    for (const [id, object] of [...desired].sort(([, a], [, b]) => rankOf(a) - rankOf(b))) {
      if (isDeepStrictEqual(this.#applied.get(id)?.manifest, object.manifest)) continue;
      attempt(object, () => {
        server.put(object.manifest);
        this.#applied.set(id, object);
      });
    }
  }
}

// Files

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

async function ignoreMissing<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Finds the files behind paths. A missing path is not an error. */
async function findManifests(paths: readonly string[]): Promise<FoundManifests> {
  const files = new Map<string, string>();
  const folders = new Map<string, string>();
  for (const path of paths) {
    const isFolder = (await ignoreMissing(stat(path)))?.isDirectory() === true;
    const folder = isFolder ? path : dirname(path);
    const folderStats = await ignoreMissing(stat(folder));
    if (folderStats) folders.set(folder, String(folderStats.ino));
    const names = isFolder ? await readdir(path) : [];
    const found = names.filter((name) => MANIFEST_NAME.test(name)).sort();
    for (const file of isFolder ? found.map((name) => join(path, name)) : [path]) {
      // Of the target of a link, so that a swapped link is a changed file.
      const stats = await ignoreMissing(stat(file));
      if (!stats) continue;
      const { ino, size, mtimeMs, ctimeMs } = stats;
      if (size > MAX_FILE_BYTES) {
        throw new ManifestError(`${file}: larger than ${MAX_FILE_BYTES} bytes`);
      }
      files.set(file, `${ino}:${size}:${mtimeMs}:${ctimeMs}`);
    }
  }
  return { files, folders };
}

async function readManifest(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ManifestError(`${path}: cannot be read: ${errorText(error)}`, { cause: error });
  }
}

/**
 * Parses the objects of a YAML or JSON file with one or more documents. Throws a
 * {@link ManifestError} that names the document and the line of the first error.
 */
export function parseManifests(text: string, file: string): FileObject[] {
  const refuse = (position: string, why: string) =>
    new ManifestError(`${file}: ${position}: ${why}`);
  const attempt = <T>(position: string, act: () => T): T => {
    try {
      return act();
    } catch (error) {
      throw refuse(position, errorText(error));
    }
  };
  const { documents, lineAt } = attempt('YAML', () => parseYamlText(text));
  return documents.flatMap((document, i) => {
    const positionAt = (offset: number) => `document ${i + 1}, line ${lineAt(offset)}`;
    const fault = findFault(document);
    if (fault) throw refuse(positionAt(fault.offset), fault.message);
    const [duplicate] = findDuplicateYamlKeys(document);
    if (duplicate !== undefined) throw refuse(positionAt(duplicate), 'Map keys must be unique');
    const position = positionAt(document.contents?.range[0] ?? document.range[0]);
    const value = attempt(position, () => yamlValueOf(document));
    if (value === null) return [];
    if (!isJsonObject(value) || !String(value.kind).endsWith('List')) {
      return [{ file, position, manifest: checkManifest(value, (why) => refuse(position, why)) }];
    }
    const { items = [] } = value;
    if (!Array.isArray(items)) throw refuse(position, 'items is not a list');
    return items.map((item: unknown, index) => {
      const at = `${position}, item ${index + 1}`;
      return { file, position: at, manifest: checkManifest(item, (why) => refuse(at, why)) };
    });
  });
}

function checkManifest(value: unknown, refuse: (why: string) => ManifestError): Manifest {
  if (!isJsonObject(value)) throw refuse('not an object');
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== 'string') throw refuse('apiVersion is missing');
  if (typeof kind !== 'string') throw refuse('kind is missing');
  const name = isJsonObject(metadata) ? metadata.name : undefined;
  // A generated name would create a new object at every change of the file.
  if (typeof name !== 'string' || name === '') throw refuse('metadata.name is missing');
  return value as unknown as Manifest;
}

// Objects

function identify(object: FileObject): NamedObject {
  try {
    return { ...object, name: identifyManifest(object.manifest) };
  } catch (error) {
    const { file, position } = object;
    throw new ManifestError(`${file}: ${position}: ${errorText(error)}`, { cause: error });
  }
}

function identityOf({ kind, namespace, name }: ObjectName): string {
  return [apiVersionOf(kind), kind.kind, namespace, name].join('|');
}

/** Lower is created first: namespaces, then services with a fixed address, which others could get. */
function rankOf({ manifest }: FileObject): number {
  if (manifest.kind === 'Namespace') return 0;
  const { spec } = manifest;
  return isJsonObject(spec) && (spec.clusterIP ?? spec.clusterIPs) !== undefined ? 1 : 2;
}

function refusal({ file, manifest, name }: NamedObject, error: unknown): ManifestError {
  const subject = `${manifest.kind} "${name.name}"`;
  const where = name.namespace ? `${subject} in namespace "${name.namespace}"` : subject;
  const causes =
    error instanceof ApiError && error.reason === 'Invalid' ? error.details?.causes : [];
  const fields = causes?.map(({ field, message }) => `${field ?? ''}: ${message}`) ?? [];
  const why =
    fields.length > 0 ? `is invalid: ${fields.join(', ')}` : `is refused: ${errorText(error)}`;
  return new ManifestError(`${file}: ${where} ${why}`, { cause: error });
}

function remove(server: ObjectAccess, { kind, namespace, name }: ObjectName): void {
  try {
    server.delete(kind.kind as KindName, namespace, name);
  } catch (error) {
    // A client may have deleted it over the API, alone or with its namespace.
    if (!(error instanceof ApiError && error.reason === 'NotFound')) throw error;
  }
}
