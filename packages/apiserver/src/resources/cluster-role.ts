import type { KubeObject } from '../object.js';
import { ageOf } from './age.js';
import { required, type FieldError } from './field-error.js';
import { refusePathSegment } from './names.js';
import { AGE_COLUMN, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';
import type { Shape } from './shape.js';

/** One permission: every verb on every resource of every group that is named. */
export interface PolicyRule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
  verbs?: string[];
}

/** `rbac.authorization.k8s.io/v1.ClusterRole`. It is kept; requests are not measured by it. */
export interface ClusterRole extends KubeObject {
  rules?: PolicyRule[];
}

const TEXTS: Shape = { list: 'string' };

function validateRule(rule: PolicyRule, path: string): FieldError[] {
  const { verbs = [], apiGroups = [], resources = [], nonResourceURLs = [] } = rule;
  const errors: FieldError[] = [];
  if (verbs.length === 0) errors.push(required(`${path}.verbs`));
  if (nonResourceURLs.length > 0) return errors;
  if (apiGroups.length === 0) errors.push(required(`${path}.apiGroups`));
  if (resources.length === 0) errors.push(required(`${path}.resources`));
  return errors;
}

/** The table entry of cluster roles. */
export const clusterRoleKind: ResourceKind<ClusterRole> = {
  ...PLAIN_KIND,
  group: 'rbac.authorization.k8s.io',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  singular: 'clusterrole',
  isNamespaced: false,
  refuseName: refusePathSegment,
  shape: {
    rules: {
      list: {
        fields: {
          apiGroups: TEXTS,
          resources: TEXTS,
          resourceNames: TEXTS,
          nonResourceURLs: TEXTS,
          verbs: TEXTS,
        },
      },
    },
    aggregationRule: 'object',
  },
  columns: [NAME_COLUMN, AGE_COLUMN],
  validate: ({ rules = [] }) => rules.flatMap((rule, i) => validateRule(rule, `rules[${i}]`)),
  row: (role, now) => [role.metadata.name, ageOf(role, now)],
};
