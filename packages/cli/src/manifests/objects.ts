import { LineCounter, parseAllDocuments } from 'yaml';
import { lowerFirst, reasonOf, StartError } from '../errors.js';

/** The documents of a YAML text as plain values; throws a StartError that names file, line and reason. */
export function parseDocuments(text: string, file: string): unknown[] {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false });
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
