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
