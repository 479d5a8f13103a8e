import { LineCounter, parseAllDocuments, type Document } from 'yaml';
import { ManifestError, messageOf } from '../errors.js';
import { isJsonObject, type Manifest } from '../object.js';

/** One object of a manifest file. */
export interface FileObject {
  readonly file: string;
  /** Where in the file it stands, such as `document 2, line 14`. */
  readonly place: string;
  readonly manifest: Manifest;
}

/** YAML aliases can stand for much more than their length. */
const MAX_ALIASES = 100;

function refuse(file: string, place: string, why: string): ManifestError {
  return new ManifestError(`${file}: ${place}: ${why}`);
}

function checkManifest(value: unknown, file: string, place: string): FileObject {
  if (!isJsonObject(value)) throw refuse(file, place, 'not an object');
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== 'string') throw refuse(file, place, 'apiVersion is missing');
  if (typeof kind !== 'string') throw refuse(file, place, 'kind is missing');
  const name = isJsonObject(metadata) ? metadata.name : undefined;
  // A generated name would make a new object of every change of the file.
  if (typeof name !== 'string' || name === '') {
    throw refuse(file, place, 'metadata.name is missing');
  }
  return { file, place, manifest: value as unknown as Manifest };
}

/** The objects of one document: itself, or the items of a list. */
function expand(value: unknown, file: string, place: string): FileObject[] {
  if (!isJsonObject(value) || !String(value.kind).endsWith('List')) {
    return [checkManifest(value, file, place)];
  }
  const { items = [] } = value;
  if (!Array.isArray(items)) throw refuse(file, place, 'items is not a list');
  return items.map((item, i) => checkManifest(item, file, `${place}, item ${i + 1}`));
}

function toValue(document: Document.Parsed, file: string, place: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    throw refuse(file, place, messageOf(error));
  }
}

/**
 * Reads the objects of a YAML file with one or more documents, JSON being a kind of YAML.
 * Throws a {@link ManifestError} that names the document and the line of the first fault.
 */
export function parseManifests(text: string, file: string): FileObject[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  const objects: FileObject[] = [];
  // An empty file has no documents, which the library tells by a property.
  if ('empty' in documents) return objects;
  for (const [i, document] of documents.entries()) {
    const placeAt = (offset: number) => `document ${i + 1}, line ${lines.linePos(offset).line}`;
    const [error] = document.errors;
    if (error) throw refuse(file, placeAt(error.pos[0]), error.message);
    const place = placeAt(document.contents?.range[0] ?? document.range[0]);
    const value = toValue(document, file, place);
    if (value !== null) objects.push(...expand(value, file, place));
  }
  return objects;
}
