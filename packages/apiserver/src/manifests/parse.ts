import { LineCounter, parseAllDocuments, type Document } from 'yaml';
import { ManifestError, messageOf } from '../errors.js';
import { isJsonObject, type Manifest } from '../object.js';

/** One object of a manifest file. */
export interface FileObject {
  readonly file: string;
  /** The position in the file, such as `document 2, line 14`. */
  readonly position: string;
  readonly manifest: Manifest;
}

/** YAML aliases can represent much more text than their length. */
const MAX_ALIASES = 100;

function refuse(file: string, position: string, why: string): ManifestError {
  return new ManifestError(`${file}: ${position}: ${why}`);
}

function checkManifest(value: unknown, file: string, position: string): FileObject {
  if (!isJsonObject(value)) throw refuse(file, position, 'not an object');
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== 'string') throw refuse(file, position, 'apiVersion is missing');
  if (typeof kind !== 'string') throw refuse(file, position, 'kind is missing');
  const name = isJsonObject(metadata) ? metadata.name : undefined;
  // A generated name would create a new object at every change of the file.
  if (typeof name !== 'string' || name === '') {
    throw refuse(file, position, 'metadata.name is missing');
  }
  return { file, position, manifest: value as unknown as Manifest };
}

/** The objects of one document: itself, or the items of a list. */
function expand(value: unknown, file: string, position: string): FileObject[] {
  if (!isJsonObject(value) || !String(value.kind).endsWith('List')) {
    return [checkManifest(value, file, position)];
  }
  const { items = [] } = value;
  if (!Array.isArray(items)) throw refuse(file, position, 'items is not a list');
  return items.map((item, i) => checkManifest(item, file, `${position}, item ${i + 1}`));
}

function toValue(document: Document.Parsed, file: string, position: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    throw refuse(file, position, messageOf(error));
  }
}

/**
 * Parses the objects of a YAML or JSON file with one or more documents. Throws a
 * {@link ManifestError} that names the document and the line of the first error.
 */
export function parseManifests(text: string, file: string): FileObject[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  const objects: FileObject[] = [];
  // The library marks a file without documents by this property.
  if ('empty' in documents) return objects;
  for (const [i, document] of documents.entries()) {
    const positionAt = (offset: number) => `document ${i + 1}, line ${lines.linePos(offset).line}`;
    const [error] = document.errors;
    if (error) throw refuse(file, positionAt(error.pos[0]), error.message);
    const position = positionAt(document.contents?.range[0] ?? document.range[0]);
    const value = toValue(document, file, position);
    if (value !== null) objects.push(...expand(value, file, position));
  }
  return objects;
}
