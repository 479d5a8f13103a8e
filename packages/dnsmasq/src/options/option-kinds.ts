/** How an option is written. */
export interface OptionSpelling {
  readonly name: string;
  /** The letter after a single dash; empty where there is none. */
  readonly short: string;
  /** An optional value can only be given with `=`. */
  readonly value: 'none' | 'required' | 'optional';
}

/** How an option is written, and what `--help` says of it. */
interface OptionText extends OptionSpelling {
  readonly help: string;
  /** A file may contain it only once (src/option.c, ARG_ONE); on the command line the last one is used. */
  readonly isOnce: boolean;
}

/** An option, and what it makes of the field that it is declared with. A method: options of any field are one type. */
export interface FieldOption<T> extends OptionText {
  /** The next value of the field; a list is extended in place. Throws an OptionError. A value that was left out is ''. */
  apply(value: string, previous: T): T;
}

/** One field of the options: its default, and the options that change it. */
export interface Field<T> {
  initial(): T;
  readonly options: readonly FieldOption<T>[];
}

/** A field with one value, which no option changes in place. */
export function field<T>(initial: T, ...options: readonly FieldOption<NoInfer<T>>[]): Field<T> {
  return { initial: () => initial, options };
}

/** A field whose values add up, from none. */
export function listField<T>(...options: readonly FieldOption<T[]>[]): Field<T[]> {
  return { initial: () => [], options };
}

/** An option without a value, which sets the field to `set`. */
export function flag<T>(spelling: string, help: string, set: T): FieldOption<T> {
  return effect(spelling, help, () => set);
}

/** An option without a value, which changes the field. */
export function effect<T>(
  spelling: string,
  help: string,
  change: (previous: T) => T,
): FieldOption<T> {
  return option(spelling, help, false, (_, previous) => change(previous));
}

/** An option with one value; the last one is used. */
export function setting<T>(
  spelling: string,
  help: string,
  parse: (text: string, previous: T) => T,
): FieldOption<T> {
  return option(spelling, help, true, (text, previous) => parse(showHidden(text), previous));
}

/** The same, which a file may repeat. */
export function repeated<T>(
  spelling: string,
  help: string,
  parse: (text: string, previous: T) => T,
): FieldOption<T> {
  return option(spelling, help, false, (text, previous) => parse(showHidden(text), previous));
}

/** An option that may be repeated, whose value has fields between commas. */
export function fields<T>(
  spelling: string,
  help: string,
  parse: (fields: readonly string[], previous: T) => T,
): FieldOption<T> {
  return option(spelling, help, false, (text, previous) => parse(fieldsOf(text), previous));
}

/** An option that adds its value to a list. */
export function adds<T>(
  spelling: string,
  help: string,
  parse: (text: string) => T,
): FieldOption<T[]> {
  return repeated(spelling, help, (text, list: T[]) => {
    list.push(parse(text));
    return list;
  });
}

/** An option that adds to a list what the fields between its commas make. */
export function addsFields<T>(
  spelling: string,
  help: string,
  parse: (fields: readonly string[], list: readonly T[]) => readonly T[],
): FieldOption<T[]> {
  return fields(spelling, help, (values, list: T[]) => {
    list.push(...parse(values, list));
    return list;
  });
}

const SPELLING = /^(?:-(.), )?--([\w-]+)(=|\[=\])?$/;

/** `--name`, `--name=` with a value or `--name[=]` with an optional one; `-n, ` in front is its letter. */
export function spellingOf(spelling: string): OptionSpelling {
  const [, short = '', name = '', shape] = SPELLING.exec(spelling)!;
  const value = shape === undefined ? 'none' : shape === '=' ? 'required' : 'optional';
  return { name, short, value };
}

function option<T>(
  spelling: string,
  help: string,
  isOnce: boolean,
  apply: (text: string, previous: T) => T,
): FieldOption<T> {
  return { ...spellingOf(spelling), help, isOnce, apply };
}

/** The fields of a value between its commas; commas in quoted text do not divide it. */
export function fieldsOf(value: string): string[] {
  return value.split(',').map((text) => showHidden(text.trim()));
}

/** Characters that divide values, but not in quotes (dnsmasq src/option.c, hide_meta). */
const DIVIDERS = /[,:./#@%=\s]/g;
/** Their replacements: a private area of Unicode, which no option's text uses. */
const HIDDEN_BASE = 0xe000;
const HIDDEN = /[\ue000-\ue0ff]/g;

/** Replaces the dividers in quoted text of a file; {@link showHidden} restores them. */
export function hideDividers(text: string): string {
  return text.replace(DIVIDERS, (divider) =>
    divider.charCodeAt(0) > 0xff
      ? divider
      : String.fromCharCode(HIDDEN_BASE + divider.charCodeAt(0)),
  );
}

/** The text before {@link hideDividers}. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (hidden) => String.fromCharCode(hidden.charCodeAt(0) - HIDDEN_BASE));
}
