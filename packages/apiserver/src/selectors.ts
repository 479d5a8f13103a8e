import { ApiError } from './errors.js';
import type { KubeObject } from './object.js';
import { refuseLabelValue, refuseQualifiedName } from './resources/names.js';
import type { ResourceKind } from './resources/resource-kind.js';

type Labels = Readonly<Record<string, string>>;

type LabelSelector = (labels: Labels) => boolean;

/** One requirement: `key`, `!key`, `key OP value` or `key in (a,b)`. */
const TOKENS = /\s*(?:(!=|==|=|!|,|\(|\)|<|>)|([^\s!=,()<>]+))/y;

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  const trimmed = text.trimEnd();
  TOKENS.lastIndex = 0;
  while (TOKENS.lastIndex < trimmed.length) {
    const match = TOKENS.exec(trimmed);
    if (!match) throw refuse(text, 'unexpected character');
    tokens.push(match[1] ?? match[2]!);
  }
  return tokens;
}

function refuse(text: string, why: string): ApiError {
  return new ApiError('BadRequest', `unable to parse label selector "${text}": ${why}`);
}

const PUNCTUATION = new Set(['!=', '==', '=', '!', ',', '(', ')', '<', '>']);

function valueOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** Neither the value of a label nor of a selector can begin with a sign. */
function isInteger(text: string): boolean {
  return /^\d+$/.test(text) && BigInt(text) < 2n ** 63n;
}

/** Reads the tokens of one selector from left to right. */
class Reader {
  readonly #text: string;
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokenize(text);
  }

  isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  accept(token: string): boolean {
    if (this.peek() !== token) return false;
    this.#at += 1;
    return true;
  }

  expect(token: string): void {
    if (!this.accept(token)) throw refuse(this.#text, `expected '${token}'`);
  }

  key(): string {
    const key = this.#word();
    const reason = refuseQualifiedName(key);
    if (reason) throw refuse(this.#text, `key "${key}" ${reason}`);
    return key;
  }

  /** A value, which may be empty. */
  value(): string {
    const next = this.peek();
    if (next === undefined || next === ',' || next === ')') return '';
    const value = this.#word();
    const reason = refuseLabelValue(value);
    if (reason) throw refuse(this.#text, `value "${value}" ${reason}`);
    return value;
  }

  integer(): number {
    const value = this.value();
    if (!isInteger(value)) throw refuse(this.#text, `"${value}" is not an integer`);
    return Number(value);
  }

  fail(why: string): never {
    throw refuse(this.#text, why);
  }

  #word(): string {
    const token = this.peek();
    if (token === undefined || PUNCTUATION.has(token)) throw refuse(this.#text, 'expected a word');
    this.#at += 1;
    return token;
  }
}

function readSet(reader: Reader): ReadonlySet<string> {
  reader.expect('(');
  const values = new Set([reader.value()]);
  while (reader.accept(',')) values.add(reader.value());
  reader.expect(')');
  return values;
}

function readRequirement(reader: Reader): LabelSelector {
  if (reader.accept('!')) {
    const absent = reader.key();
    return (labels) => valueOf(labels, absent) === undefined;
  }
  const key = reader.key();
  if (reader.isAtEnd() || reader.peek() === ',') {
    return (labels) => valueOf(labels, key) !== undefined;
  }
  if (reader.accept('=') || reader.accept('==')) {
    const value = reader.value();
    return (labels) => valueOf(labels, key) === value;
  }
  if (reader.accept('!=')) {
    const value = reader.value();
    return (labels) => valueOf(labels, key) !== value;
  }
  if (reader.accept('in')) {
    const values = readSet(reader);
    return (labels) => values.has(valueOf(labels, key) ?? '\0');
  }
  if (reader.accept('notin')) {
    const values = readSet(reader);
    return (labels) => !values.has(valueOf(labels, key) ?? '\0');
  }
  const isLess = reader.accept('<');
  if (!isLess && !reader.accept('>')) reader.fail('expected an operator');
  const bound = reader.integer();
  return (labels) => {
    const value = valueOf(labels, key) ?? '';
    if (!isInteger(value)) return false;
    return isLess ? Number(value) < bound : Number(value) > bound;
  };
}

/**
 * Parses a `labelSelector` parameter; an empty text selects everything. Throws a 400 when it cannot
 * be parsed.
 */
export function parseLabelSelector(text: string): LabelSelector {
  const reader = new Reader(text);
  const requirements: LabelSelector[] = [];
  while (!reader.isAtEnd()) {
    requirements.push(readRequirement(reader));
    if (!reader.isAtEnd()) {
      reader.expect(',');
      if (reader.isAtEnd()) reader.fail('unexpected end');
    }
  }
  return (labels) => requirements.every((matches) => matches(labels));
}

interface FieldTerm {
  readonly field: string;
  readonly value: string;
  readonly isEqual: boolean;
}

type FieldSelector = (fields: Readonly<Record<string, string>>) => boolean;

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

interface SelectorText {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Whether an object is selected. */
export type ObjectSelector = (object: KubeObject) => boolean;

function fieldsOf(kind: ResourceKind, object: KubeObject): Readonly<Record<string, string>> {
  const { name, namespace = '' } = object.metadata;
  return {
    ...kind.selectableFields(object),
    'metadata.name': name,
    ...(kind.isNamespaced && { 'metadata.namespace': namespace }),
  };
}

/** The selectable field names: an object without content has all of them. */
function supportedFields(kind: ResourceKind): readonly string[] {
  const blank = {
    apiVersion: '',
    kind: kind.kind,
    metadata: { name: '', uid: '', resourceVersion: '', creationTimestamp: '' },
    spec: {},
    status: {},
  };
  return Object.keys(fieldsOf(kind, blank));
}

/**
 * The selector for the parameters of a list or watch. Throws a 400 when one cannot be parsed
 * or names a field that the kind cannot be selected by.
 */
export function createObjectSelector(kind: ResourceKind, text: SelectorText): ObjectSelector {
  const matchesLabels = parseLabelSelector(text.labelSelector ?? '');
  const terms = parseFieldTerms(text.fieldSelector ?? '');
  const supported = supportedFields(kind);
  for (const { field } of terms) {
    if (!supported.includes(field)) {
      throw new ApiError('BadRequest', `field label not supported: ${field}`);
    }
  }
  const matchesFields = fieldSelectorOf(terms);
  return (object) =>
    matchesLabels(object.metadata.labels ?? {}) &&
    (terms.length === 0 || matchesFields(fieldsOf(kind, object)));
}
