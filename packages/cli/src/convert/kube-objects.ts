import { CorefileError } from '@kube-dns/node-cache/corefile';
import { CliError, reasonOf, StartError } from '../errors.js';
import { asMapping, parseDocuments, type Mapping } from '../manifests/objects.js';

/** The input of a conversion cannot be read or parsed: status 2. */
export class InputError extends CliError {
  constructor(message: string, options?: ErrorOptions) {
    super('input', message, 2, options);
  }
}

/** An object of the Kubernetes API with its file. */
export interface KubeObject {
  readonly kind: string;
  readonly name: string;
  readonly value: Mapping;
  readonly file: string;
}

/** The objects of a YAML or JSON text, those of lists one by one. Throws an InputError. */
export function readKubeObjects(text: string, file: string): KubeObject[] {
  let documents;
  try {
    documents = parseDocuments(text, file);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    throw new InputError(error.message, { cause: error });
  }
  return documents.flatMap((document) => objectsIn(document, file));
}

function objectsIn(document: unknown, file: string): KubeObject[] {
  if (document === null || document === undefined) return [];
  const value = asMapping(document);
  const { kind, metadata, items } = value ?? {};
  if (value === undefined || typeof kind !== 'string') {
    throw new InputError(`${file}: not an object of Kubernetes: it has no kind`);
  }
  if (kind.endsWith('List') && Array.isArray(items)) {
    return items.flatMap((item: unknown) => objectsIn(item, file));
  }
  const name = asMapping(metadata)?.name;
  return [{ kind, name: typeof name === 'string' ? name : '', value, file }];
}

/** The end of a complaint that something is not among these objects: what is. */
export function foundText(objects: readonly KubeObject[]): string {
  const found = objects.map(({ kind, name }) => `${kind} ${name}`).join(', ');
  return found === '' ? '; the input has no objects' : `: ${found}`;
}

/** The texts of a ConfigMap by their keys; throws an InputError for another kind of value. */
export function dataOf({ value, file, name }: KubeObject): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(asMapping(value.data) ?? {}).map(([key, text]) => {
      if (typeof text !== 'string') {
        throw new InputError(`${file}: ConfigMap ${name}: ${key}: must be a string`);
      }
      return [key, text];
    }),
  );
}

/** The reason why a text could not be read, as an InputError. */
export function unreadable(what: string, error: unknown): InputError {
  return new InputError(`cannot read ${what}: ${reasonOf(error)}`, { cause: error });
}

/** Reads a Corefile that is the input of a conversion: its CorefileError becomes an InputError. */
export function asInput<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof CorefileError) throw new InputError(error.message, { cause: error });
    throw error;
  }
}
