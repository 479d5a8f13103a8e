import { ManifestError, messageOf } from '../errors.js';
import { isJsonObject, type Manifest } from '../object.js';
import {
  findDuplicateYamlKeys,
  findFault,
  parseYamlText,
  yamlValueOf,
  type YamlFault,
  type YamlText,
} from '../yaml.js';

/** One object of a manifest file. */
export interface FileObject {
  readonly file: string;
  /** The position in the file, such as `document 2, line 14`. */
  readonly position: string;
  readonly manifest: Manifest;
}

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

/** Calls `act`; what it throws is a {@link ManifestError} at this position then. */
function attempt<T>(file: string, position: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw refuse(file, position, messageOf(error));
  }
}

function findProblem(document: YamlText['documents'][number]): YamlFault | undefined {
  const fault = findFault(document);
  if (fault) return fault;
  const [offset] = findDuplicateYamlKeys(document);
  return offset === undefined ? undefined : { offset, message: 'Map keys must be unique' };
}

/**
 * Parses the objects of a YAML or JSON file with one or more documents. Throws a
 * {@link ManifestError} that names the document and the line of the first error.
 */
export function parseManifests(text: string, file: string): FileObject[] {
  const { documents, lineAt } = attempt(file, 'YAML', () => parseYamlText(text));
  const objects: FileObject[] = [];
  for (const [i, document] of documents.entries()) {
    const positionAt = (offset: number) => `document ${i + 1}, line ${lineAt(offset)}`;
    const problem = findProblem(document);
    if (problem) throw refuse(file, positionAt(problem.offset), problem.message);
    const position = positionAt(document.contents?.range[0] ?? document.range[0]);
    const value = attempt(file, position, () => yamlValueOf(document));
    if (value !== null) objects.push(...expand(value, file, position));
  }
  return objects;
}
