import type { KubeObject } from '../object.js';
import { refuseLabel } from './names.js';
import { AGE_COLUMN, column, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';

/** `core/v1.Namespace`. */
export interface Namespace extends KubeObject {
  spec: { finalizers?: string[] };
  status: { phase: string };
}

/** Namespaces that exist from the start. */
export const INITIAL_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** Namespaces that cannot be deleted. Source: plugin namespace/lifecycle admission. */
export const PERMANENT_NAMESPACES: readonly string[] = ['default', 'kube-system', 'kube-public'];

const NAME_LABEL = 'kubernetes.io/metadata.name';

/** The table entry of namespaces. */
export const namespaceKind: ResourceKind<Namespace> = {
  ...PLAIN_KIND,
  group: '',
  kind: 'Namespace',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  isNamespaced: false,
  refuseName: refuseLabel,
  shape: {
    spec: { fields: { finalizers: { list: 'string' } } },
    status: { fields: { phase: 'string', conditions: { list: 'object' } } },
  },
  mergeKeys: { 'spec.finalizers': '', 'status.conditions': 'type' },
  columns: [
    NAME_COLUMN,
    column('Status', 'Phase of the namespace.', ({ status }) => status.phase),
    AGE_COLUMN,
  ],

  setDefaults(namespace, previous) {
    namespace.metadata.labels = {
      ...namespace.metadata.labels,
      [NAME_LABEL]: namespace.metadata.name,
    };
    // A deletion is immediate here, so it never waits for this finalizer.
    namespace.spec = { finalizers: ['kubernetes'] };
    namespace.status =
      previous && (namespace.status as Namespace['status'] | undefined)?.phase
        ? namespace.status
        : { phase: 'Active' };
  },
  selectableFields: ({ status }) => ({ 'status.phase': status.phase }),
};
