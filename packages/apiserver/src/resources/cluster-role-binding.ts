import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../object.js';
import { ageOf } from './age.js';
import { invalidValue, required, type FieldError } from './field-error.js';
import { refusePathSegment } from './names.js';
import { AGE_COLUMN, column, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';

/** `rbac.authorization.k8s.io/v1.ClusterRoleBinding`. */
export interface ClusterRoleBinding extends KubeObject {
  roleRef: { apiGroup?: string; kind?: string; name?: string };
  subjects?: { apiGroup?: string; kind?: string; name?: string; namespace?: string }[];
}

/** The table entry of cluster role bindings. */
export const clusterRoleBindingKind: ResourceKind<ClusterRoleBinding> = {
  ...PLAIN_KIND,
  group: 'rbac.authorization.k8s.io',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  isNamespaced: false,
  refuseName: refusePathSegment,
  shape: {
    roleRef: { fields: { apiGroup: 'string', kind: 'string', name: 'string' } },
    subjects: {
      list: {
        fields: { apiGroup: 'string', kind: 'string', name: 'string', namespace: 'string' },
      },
    },
  },
  columns: [NAME_COLUMN, column('Role', 'Role that is bound.'), AGE_COLUMN],

  setDefaults(binding) {
    binding.roleRef = {
      apiGroup: 'rbac.authorization.k8s.io',
      // A binding without a role is refused later, by validation.
      ...(binding.roleRef as ClusterRoleBinding['roleRef'] | undefined),
    };
  },
  validate({ roleRef, subjects = [] }) {
    const errors: FieldError[] = [];
    if (!roleRef.name) errors.push(required('roleRef.name'));
    for (const [i, { kind, name, namespace }] of subjects.entries()) {
      if (!name) errors.push(required(`subjects[${i}].name`));
      if (kind === 'ServiceAccount' && !namespace) {
        errors.push(required(`subjects[${i}].namespace`));
      }
    }
    return errors;
  },
  validateUpdate: ({ roleRef }, previous) =>
    isDeepStrictEqual(roleRef, previous.roleRef)
      ? []
      : [invalidValue('roleRef', roleRef, 'cannot change roleRef')],
  row: (binding, now) => [
    binding.metadata.name,
    `${binding.roleRef.kind}/${binding.roleRef.name}`,
    ageOf(binding, now),
  ],
};
