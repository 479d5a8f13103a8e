import type { FieldError } from '../errors.js';
import type { KubeObject } from '../object.js';
import { refuseSubdomain, type NameRule } from './names.js';
import type { Fields } from './shape.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

function parts(ms: number, big: number, small: number, units: string): string {
  const rest = Math.floor((ms % big) / small);
  return `${Math.floor(ms / big)}${units[0]!}${rest > 0 ? `${rest}${units[1]!}` : ''}`;
}

/**
 * A duration with two or three significant digits, such as `45s`, `5m30s`, `3h` or `2d4h`.
 * Source of the steps: apimachinery pkg/util/duration HumanDuration.
 */
export function humanDuration(ms: number): string {
  if (ms < 0) return ms > -2 * SECOND ? '0s' : '<invalid>';
  if (ms < 2 * MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < 10 * MINUTE) return parts(ms, MINUTE, SECOND, 'ms');
  if (ms < 3 * HOUR) return `${Math.floor(ms / MINUTE)}m`;
  if (ms < 8 * HOUR) return parts(ms, HOUR, MINUTE, 'hm');
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h`;
  if (ms < 8 * DAY) return parts(ms, DAY, HOUR, 'dh');
  if (ms < 2 * YEAR) return `${Math.floor(ms / DAY)}d`;
  if (ms < 8 * YEAR) return parts(ms, YEAR, DAY, 'yd');
  return `${Math.floor(ms / YEAR)}y`;
}

/** Age of an object at `now` (ms since the epoch). */
function ageOf(object: KubeObject, now: number): string {
  return humanDuration(now - Date.parse(object.metadata.creationTimestamp));
}

type Cell = string | number;

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
  /** In which its objects are served, too, with the same fields. */
  readonly otherVersions: readonly string[];
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

/** The defaults of most kinds. */
const PLAIN_KIND = {
  group: '',
  version: 'v1',
  otherVersions: [],
  categories: [],
  isNamespaced: true,
  isScalable: false,
  mergeKeys: {},
  createsOnUpdate: false,
  createsWithStatus: false,
  needsVersion: false,
  returnsDeleted: false,
  refuseName: refuseSubdomain,
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

/** Every version of a kind, its own first, as `apiVersionOf` gives it. */
export function apiVersionsOf(kind: ResourceKind): string[] {
  const { version, otherVersions } = kind;
  return [version, ...otherVersions].map((each) =>
    apiVersionOf({ group: kind.group, version: each }),
  );
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
const NAME_COLUMN = column(
  'Name',
  'Name of the object, unique within its namespace.',
  ({ metadata }) => metadata.name,
);
const AGE_COLUMN = column('Age', 'Time since the object was created.', ageOf);

/** A row of the table of kinds: what differs from most kinds. */
export type KindRow<T extends KubeObject> = Pick<ResourceKind<T>, 'kind' | 'shape'> &
  Partial<Omit<ResourceKind<T>, 'plural' | 'singular' | 'shortNames'>> & {
    /** The plural and the short names in discovery; the singular is the kind in lower case. */
    readonly names: readonly [plural: string, ...shortNames: string[]];
  };

/** The table entry of a row: its columns stand between name and age, the wide ones behind these. */
export function resourceKind<T extends KubeObject>(row: KindRow<T>): ResourceKind<T> {
  const { names, columns: own = [], ...rest } = row;
  const [plural, ...shortNames] = names;
  const [shown, wide] = [0, 1].map((wanted) => own.filter(({ priority }) => priority === wanted));
  const columns = [NAME_COLUMN, ...shown!, AGE_COLUMN, ...wide!];
  const singular = row.kind.toLowerCase();
  return { ...PLAIN_KIND, plural, singular, shortNames, ...rest, columns };
}
