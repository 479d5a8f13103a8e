import type { KubeObject } from '../object.js';
import type { ResourceKind } from '../resources/resource-kind.js';

/** How much of each object a table row includes. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** The options of one table. */
export interface TableOptions {
  readonly metadata: object;
  readonly include: IncludeObject;
  readonly withColumns: boolean;
  /** Ages are computed at this time, in ms since the epoch. */
  readonly now: number;
}

function includedObject(object: KubeObject, include: IncludeObject): object | undefined {
  if (include === 'None') return undefined;
  if (include === 'Object') return object;
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: object.metadata,
  };
}

/** `metav1.Table`: objects as rows of printable cells. */
export function createTable(
  kind: ResourceKind,
  objects: readonly KubeObject[],
  { metadata, include, withColumns, now }: TableOptions,
): object {
  const columnDefinitions = kind.columns.map(({ name, type, priority, description }) => ({
    name,
    type,
    priority,
    description,
    format: name === 'Name' ? 'name' : '',
  }));
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: withColumns ? columnDefinitions : [],
    rows: objects.map((object) => ({
      cells: kind.columns.map((column) => column.cell(object, now)),
      object: includedObject(object, include),
    })),
  };
}
