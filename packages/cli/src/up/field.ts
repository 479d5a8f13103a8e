import { StartError } from '../errors.js';
import { asMapping, type Mapping } from '../manifests/mapping.js';

/** The range of a number of the manifest, and its default. */
export interface IntegerRule {
  readonly min: number;
  readonly max?: number;
  readonly fallback?: number;
}

/**
 * One value of a manifest together with its file and path, so that an error can name it.
 * Every reader throws a StartError for a value of another type.
 */
export class Field {
  readonly file: string;
  readonly path: string;
  readonly value: unknown;

  constructor(file: string, path: string, value: unknown) {
    this.file = file;
    this.path = path;
    this.value = value;
  }

  /** A key without a value counts as absent, as in the API server. */
  get isPresent(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  /** The field below `key`; absent when this one is. */
  get(key: string): Field {
    const path = this.path === '' ? key : `${this.path}.${key}`;
    if (!this.isPresent) return new Field(this.file, path, undefined);
    return new Field(this.file, path, this.#mapping()[key]);
  }

  keys(): string[] {
    return this.isPresent ? Object.keys(this.#mapping()) : [];
  }

  /** The items of a list; an absent list is empty. */
  items(): Field[] {
    if (!this.isPresent) return [];
    if (!Array.isArray(this.value)) return this.fail('must be a list');
    return this.value.map(
      (item: unknown, index) => new Field(this.file, `${this.path}[${index}]`, item),
    );
  }

  string(fallback?: string): string {
    if (!this.isPresent && fallback !== undefined) return fallback;
    if (typeof this.value === 'string') return this.value;
    return this.fail(this.isPresent ? 'must be a string (put it in quotes)' : 'is missing');
  }

  strings(): string[] {
    return this.items().map((item) => item.string());
  }

  boolean(fallback: boolean): boolean {
    if (!this.isPresent) return fallback;
    return typeof this.value === 'boolean' ? this.value : this.fail('must be true or false');
  }

  integer(rule: IntegerRule): number {
    const { min, max = Number.MAX_SAFE_INTEGER, fallback } = rule;
    if (!this.isPresent && fallback !== undefined) return fallback;
    if (!this.isPresent) return this.fail('is missing');
    const value = this.value;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
      return value;
    }
    const range = rule.max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
    return this.fail(`must be a whole number ${range}`);
  }

  /** Throws the StartError that names the file, this field and the reason. */
  fail(reason: string): never {
    throw new StartError(`${this.file}: ${this.path === '' ? '' : `${this.path}: `}${reason}`);
  }

  #mapping(): Mapping {
    return asMapping(this.value) ?? this.fail('must be a mapping');
  }
}
