import type { KubeObject } from '../object.js';
import { ageOf } from './age.js';
import type { FieldError } from './field-error.js';
import type { NameRule } from './names.js';
import type { Fields } from './shape.js';

/** One cell of a `Table` row. */
export type Cell = string | number;

/** One column of a `Table`; those with priority above 0 are for `-o wide`. */
export interface Column<T extends KubeObject = KubeObject> {
  readonly name: string;
  readonly type: 'string' | 'integer';
  readonly priority: 0 | 1;
  readonly description: string;
  cell(object: T, now: number): Cell;
}

/** The properties of one kind; the code that all kinds share reads this table. */
export interface ResourceKind<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly isNamespaced: boolean;
  /** Whether it has the subresource `scale`. */
  readonly isScalable: boolean;
  /** Fields other than type and object metadata. */
  readonly shape: Fields;
  /**
   * How strategic merge patches match the items of a list: by this field, or as a set of plain
   * values when it is empty. Other lists are replaced, and objects only where this says so.
   */
  readonly mergeKeys: Readonly<Record<string, string>>;
  /** Whether a PUT of an object that does not exist creates it. */
  readonly createsOnUpdate: boolean;
  /** Whether a PUT must name the version that it replaces. */
  readonly needsVersion: boolean;
  /** Whether a client may create it with a status; other statuses are written afterwards. */
  readonly createsWithStatus: boolean;
  /** Whether a DELETE answers with the object instead of a Status. */
  readonly returnsDeleted: boolean;
  readonly refuseName: NameRule;
  readonly columns: readonly Column<T>[];

  /** Sets defaults for missing fields. May change `object`, which is not shared yet. */
  setDefaults(object: T, previous: T | undefined): void;
  validate(object: T): FieldError[];
  validateUpdate(object: T, previous: T): FieldError[];
  /** The part of an object whose changes count as a new generation; undefined: no generations. */
  generationOf(object: T): unknown;
  /** Fields for field selectors, in addition to `metadata.name` and `metadata.namespace`. */
  selectableFields(object: T): Readonly<Record<string, string>>;
}

/** The defaults of most kinds, to be spread into their tables. */
export const PLAIN_KIND = {
  version: 'v1',
  shortNames: [],
  categories: [],
  isNamespaced: true,
  isScalable: false,
  mergeKeys: {},
  createsOnUpdate: false,
  createsWithStatus: false,
  needsVersion: false,
  returnsDeleted: false,
  setDefaults: () => undefined,
  validate: () => [],
  validateUpdate: () => [],
  generationOf: () => undefined,
  selectableFields: () => ({}),
} as const;

/** Whether a kind has the subresource `status`: every one with such a field. */
export function hasStatus({ shape }: Pick<ResourceKind, 'shape'>): boolean {
  return 'status' in shape;
}

/** The `apiVersion` of a kind: `v1` or `group/version`. */
export function apiVersionOf(kind: Pick<ResourceKind, 'group' | 'version'>): string {
  return kind.group ? `${kind.group}/${kind.version}` : kind.version;
}

/** A column; shown by default unless it is wide. */
export function column<T extends KubeObject>(
  name: string,
  description: string,
  cell: Column<T>['cell'],
  { wide = false, type = 'string' }: { wide?: boolean; type?: Column['type'] } = {},
): Column<T> {
  return { name, type, priority: wide ? 1 : 0, description, cell };
}

/** The columns that every table has. */
export const NAME_COLUMN = column(
  'Name',
  'Name of the object, unique within its namespace.',
  ({ metadata }) => metadata.name,
);
export const AGE_COLUMN = column('Age', 'Time since the object was created.', ageOf);
