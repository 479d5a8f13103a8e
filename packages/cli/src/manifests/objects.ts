import { LineCounter, parseAllDocuments } from 'yaml';
import { lowerFirst, reasonOf, StartError, CliError } from '../errors.js';

/** The documents of a YAML text as plain values; throws a StartError that names file, line and reason. */
export function parseDocuments(text: string, file: string): unknown[] {
  const json = parseJson(text);
  if (json !== undefined) return [json];
  const lineCounter = new LineCounter();
  // Node would print its warnings, such as that of a key that is a list.
  const options = { lineCounter, prettyErrors: false, logLevel: 'error' } as const;
  const documents = parseAllDocuments(text, options);
  return [...documents].map((document) => {
    const error = document.errors[0];
    if (error !== undefined) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      throw new StartError(`${file}: line ${line}, column ${col}: ${lowerFirst(error.message)}`);
    }
    try {
      return document.toJS() as unknown;
    } catch (cause) {
      // An alias without its anchor, or more aliases than a manifest can need.
      throw new StartError(`${file}: ${lowerFirst(reasonOf(cause))}`, { cause });
    }
  });
}

/**
 * An object of JSON, which is YAML as well, but is read a hundred times as fast; undefined for any other text, also for one
 * that is nearly JSON: YAML knows the line of its mistake.
 */
function parseJson(text: string): unknown {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // flow style of YAML, or a mistake
  }
}

/** A mapping of a manifest with unknown fields. */
export type Mapping = Readonly<Record<string, unknown>>;

/** A mapping under construction. */
export type Draft = Record<string, unknown>;

/** The value as a mapping; undefined for any other. */
export function asMapping(value: unknown): Mapping | undefined {
  const isMapping = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isMapping ? (value as Mapping) : undefined;
}

/** The value below these keys; undefined where one is missing. */
export function valueAt(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>((inner, key) => asMapping(inner)?.[key], value);
}

/** The items of a list that are mappings. */
export function mappingsOf(value: unknown): Mapping[] {
  return Array.isArray(value) ? value.map(asMapping).filter((item) => item !== undefined) : [];
}

/** A text; empty for any other value. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The items of a list as texts. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** The mapping below the keys; created if missing. */
export function draftAt(draft: Draft, ...keys: readonly string[]): Draft {
  return keys.reduce<Draft>((inner, key) => {
    inner[key] = asMapping(inner[key]) ?? {};
    return inner[key] as Draft;
  }, draft);
}

/** The list below a key; created if missing. */
export function listAt(draft: Draft, key: string): unknown[] {
  const list = Array.isArray(draft[key]) ? (draft[key] as unknown[]) : [];
  draft[key] = list;
  return list;
}

/**
 * Replaces `$(NAME)` by the variable's value and `$$` by `$`. A reference to an unknown variable
 * stays as it is written (kubernetes/kubernetes third_party/forked/golang/expansion, Expand).
 */
export function expandVariables(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (match, name: string | undefined) =>
    name === undefined ? '$' : (variables.get(name) ?? match),
  );
}

/** The last part of an image's name, without registry, tag, digest and architecture: `kubedns`. */
export function imageName(image: string): string {
  const lastSegment = image.split('@', 1)[0]?.split('/').at(-1) ?? '';
  return lastSegment.replace(/:.*$/, '').replace(/-(?:amd64|arm|arm64|ppc64le|s390x)$/, '');
}

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

/** Characters that no YAML has (YAML 1.2 section 5.1), and what stands for bytes that are not UTF-8. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const NOT_TEXT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffd]/;

/** The objects of a YAML or JSON text, those of lists one by one. Throws an InputError. */
export function readKubeObjects(text: string, file: string): KubeObject[] {
  if (NOT_TEXT.test(text)) throw new InputError(`${file}: it is no text, so neither YAML nor JSON`);
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
  if (value === undefined) {
    throw new InputError(`${file}: neither YAML nor JSON of objects of Kubernetes`);
  }
  if (typeof kind !== 'string') {
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
