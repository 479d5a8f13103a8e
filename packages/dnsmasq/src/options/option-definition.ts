import type { OptionsDraft } from './option-values.js';
import { showHidden } from './hidden-text.js';

/** One option of dnsmasq: its spellings, whether it takes a value, and its effect. */
export interface OptionDefinition {
  readonly name: string;
  /** The letter after a single dash; empty where there is none. */
  readonly short: string;
  /** An optional value can only be given with `=`. */
  readonly value: 'none' | 'required' | 'optional';
  readonly help: string;
  /** A file may contain it only once (src/option.c, ARG_ONE); on the command line the last one is used. */
  readonly isOnce: boolean;
  /** Throws an OptionError. A value that was left out is the empty text. */
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

/** An option with one value; the last one is used. */
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

/** The fields of a value between its commas; commas in quoted text do not divide it. */
export function fieldsOf(value: string): string[] {
  return value.split(',').map((field) => showHidden(field.trim()));
}
