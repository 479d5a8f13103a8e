import { isDeepStrictEqual } from 'node:util';
import { ApiError, ManifestError, messageOf } from '../errors.js';
import {
  describeManifest,
  identifyManifest,
  identityOf,
  type ObjectAccess,
  type ObjectName,
} from '../object-access.js';
import { isJsonObject } from '../object.js';
import type { KindName } from '../resources/resource-table.js';
import type { FileObject } from './parse.js';

interface Entry extends FileObject {
  readonly name: ObjectName;
}

/** Lower is created first: namespaces, then services with a fixed address, which others could get. */
function rankOf({ manifest }: FileObject): number {
  if (manifest.kind === 'Namespace') return 0;
  const { spec } = manifest;
  return isJsonObject(spec) && (spec.clusterIP ?? spec.clusterIPs) !== undefined ? 1 : 2;
}

function identify(object: FileObject): Entry {
  try {
    return { ...object, name: identifyManifest(object.manifest) };
  } catch (error) {
    const { file, position } = object;
    throw new ManifestError(`${file}: ${position}: ${messageOf(error)}`, { cause: error });
  }
}

function refusal({ file, manifest, name }: Entry, error: unknown): ManifestError {
  const subject = describeManifest(manifest, name.namespace);
  const causes =
    error instanceof ApiError && error.reason === 'Invalid' ? error.details?.causes : [];
  const fields = causes?.map(({ field, message }) => `${field ?? ''}: ${message}`) ?? [];
  const why =
    fields.length > 0 ? `is invalid: ${fields.join(', ')}` : `is refused: ${messageOf(error)}`;
  return new ManifestError(`${file}: ${subject} ${why}`, { cause: error });
}

/**
 * The objects of manifest files, and those that the server has of them. Of an object in several
 * files the one in the last file is used.
 */
export class ManifestSet {
  readonly #files = new Map<string, readonly Entry[]>();
  readonly #applied = new Map<string, Entry>();

  /** Sets the objects of a file. Throws a {@link ManifestError} for an unknown kind. */
  setFile(file: string, objects: readonly FileObject[]): void {
    this.#files.set(file, objects.map(identify));
  }

  removeFile(file: string): void {
    this.#files.delete(file);
  }

  /**
   * Writes the objects of the files to the server, and deletes those that the files no longer
   * have. Calls `onRefusal` for each object that is refused; it stays unchanged.
   */
  apply(objects: ObjectAccess, onRefusal: (error: ManifestError) => void): void {
    const desired = this.#desired();
    const isGone = ([id]: [string, Entry]) => !desired.has(id);
    const gone = [...this.#applied].filter(isGone).sort(([, a], [, b]) => rankOf(b) - rankOf(a));
    // Deletes first, so that the addresses are free for new objects.
    for (const [id, entry] of gone) {
      this.#applied.delete(id);
      attempt(entry, onRefusal, () => remove(objects, entry));
    }
    const wanted = [...desired].sort(([, a], [, b]) => rankOf(a) - rankOf(b));
    for (const [id, entry] of wanted) {
      if (isDeepStrictEqual(this.#applied.get(id)?.manifest, entry.manifest)) continue;
      attempt(entry, onRefusal, () => {
        objects.put(entry.manifest);
        this.#applied.set(id, entry);
      });
    }
  }

  #desired(): Map<string, Entry> {
    const names = [...this.#files.keys()].sort();
    const entries = names.flatMap((name) => this.#files.get(name)!);
    return new Map(entries.map((entry) => [identityOf(entry.name), entry]));
  }
}

function attempt(entry: Entry, onRefusal: (error: ManifestError) => void, act: () => void): void {
  try {
    act();
  } catch (error) {
    onRefusal(refusal(entry, error));
  }
}

function remove(objects: ObjectAccess, { name: { kind, namespace, name } }: Entry): void {
  try {
    objects.delete(kind.kind as KindName, namespace, name);
  } catch (error) {
    // A client may have deleted it over the API, alone or with its namespace.
    if (!(error instanceof ApiError && error.reason === 'NotFound')) throw error;
  }
}
