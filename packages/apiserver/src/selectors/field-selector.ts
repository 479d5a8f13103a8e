import { ApiError } from '../errors.js';

/** One term of a field selector. */
export interface FieldTerm {
  readonly field: string;
  readonly value: string;
  readonly isEqual: boolean;
}

/** Whether an object with these field values is selected. */
export type FieldSelector = (fields: Readonly<Record<string, string>>) => boolean;

/** Splits at commas that no backslash escapes. */
function splitTerms(text: string): string[] {
  return text.match(/(?:\\[^]|[^\\,])+/g) ?? [];
}

function parseTerm(term: string): FieldTerm {
  const match = /^([^=!\\]+)(==|=|!=)([^]*)$/.exec(term);
  if (!match) throw new ApiError('BadRequest', `invalid field selector: "${term}"`);
  const raw = match[3]!;
  // An unescaped operator in the value is an error, and so is a backslash before another character.
  if (!/^(?:\\[\\,=]|[^\\,=])*$/.test(raw)) {
    throw new ApiError('BadRequest', `invalid field selector: "${term}"`);
  }
  return {
    field: match[1]!.trim(),
    value: raw.replace(/\\([\\,=])/g, '$1'),
    isEqual: match[2] !== '!=',
  };
}

/** The terms of a `fieldSelector` parameter. Throws a 400 when it cannot be parsed. */
export function parseFieldTerms(text: string): FieldTerm[] {
  return splitTerms(text).map(parseTerm);
}

/** The selector for objects that fulfill all terms. */
export function fieldSelectorOf(terms: readonly FieldTerm[]): FieldSelector {
  return (fields) =>
    terms.every(({ field, value, isEqual }) => ((fields[field] ?? '') === value) === isEqual);
}
