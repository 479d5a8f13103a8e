import type { OptionsDraft } from './option-values.js';
import { showHidden } from './hidden-text.js';

/** One option of dnsmasq: its spellings, whether it takes a value, and what it does. */
export interface OptionDefinition {
  readonly name: string;
  /** The letter behind a single dash; empty where there is none. */
  readonly short: string;
  /** A value that may be left out can be given with `=` only. */
  readonly value: 'none' | 'required' | 'optional';
  readonly help: string;
  /** A file may have it once only (src/option.c, ARG_ONE); on the command line the last one holds. */
  readonly isOnce: boolean;
  /** Throws an OptionError. Of a value that was left out it gets the empty text. */
  readonly apply: (draft: OptionsDraft, value: string) => void;
}

type Apply = (draft: OptionsDraft, value: string) => void;

/** An option without a value. */
export function flag(
  name: string,
  short: string,
  help: string,
  apply: (draft: OptionsDraft) => void,
): OptionDefinition {
  return { name, short, value: 'none', help, isOnce: false, apply };
}

/** An option with one value, the last of which holds. */
export function setting(
  name: string,
  short: string,
  help: string,
  apply: Apply,
  value: 'required' | 'optional' = 'required',
): OptionDefinition {
  const applyShown: Apply = (draft, text) => apply(draft, showHidden(text));
  return { name, short, value, help, isOnce: true, apply: applyShown };
}

/** An option whose values add up. */
export function list(
  name: string,
  short: string,
  help: string,
  apply: Apply,
  value: 'required' | 'optional' = 'required',
): OptionDefinition {
  return { ...setting(name, short, help, apply, value), isOnce: false };
}

/** An option whose values add up, each of which has fields between commas. */
export function fields(
  name: string,
  short: string,
  help: string,
  apply: (draft: OptionsDraft, fields: readonly string[]) => void,
  value: 'required' | 'optional' = 'required',
): OptionDefinition {
  const applyFields: Apply = (draft, text) => apply(draft, fieldsOf(text));
  return { name, short, value, help, isOnce: false, apply: applyFields };
}

/** The fields of a value between its commas; those of quoted text divide nothing. */
export function fieldsOf(value: string): string[] {
  return value.split(',').map((field) => showHidden(field.trim()));
}
