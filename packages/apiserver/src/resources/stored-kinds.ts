import { isJsonObject, type JsonObject, type KubeObject } from '../object.js';
import { REPLACED } from '../patch/strategic-merge-patch.js';
import { invalidValue, required, type FieldError } from './field-error.js';
import { refusePathSegment } from './names.js';
import { podMergeKeys, validateContainers } from './pod.js';
import { column } from './resource-kind.js';
import { OBJECT_REFERENCE, type Fields, type Shape } from './shape.js';
import { requireFields, storedKind } from './stored-kind.js';

/** `apps/v1.Deployment`. There is no controller: it creates no pods, and its status stays empty. */
export interface Deployment extends KubeObject {
  spec: {
    replicas?: number;
    selector?: JsonObject;
    template?: PodTemplate;
    strategy?: JsonObject;
  };
  status?: JsonObject;
}

/** `apps/v1.DaemonSet`. There is no controller: it creates no pods, and its status stays empty. */
export interface DaemonSet extends KubeObject {
  spec: { selector?: JsonObject; template?: PodTemplate; updateStrategy?: JsonObject };
  status?: JsonObject;
}

interface PodTemplate {
  metadata?: JsonObject;
  spec?: JsonObject;
}

/** One permission: each named verb on each named resource of each named group. */
export interface PolicyRule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
  verbs?: string[];
}

/** `rbac.authorization.k8s.io/v1.ClusterRole`. It does not authorize requests here. */
export interface ClusterRole extends KubeObject {
  rules?: PolicyRule[];
}

/** `rbac.authorization.k8s.io/v1.ClusterRoleBinding`. */
export interface ClusterRoleBinding extends KubeObject {
  roleRef: { apiGroup?: string; kind?: string; name?: string };
  subjects?: { apiGroup?: string; kind?: string; name?: string; namespace?: string }[];
}

/** `policy/v1.PodDisruptionBudget`; pods are not evicted here. */
export interface DisruptionBudget extends KubeObject {
  spec: { minAvailable?: number | string; maxUnavailable?: number | string; selector?: JsonObject };
}

/** `core/v1.ServiceAccount`; it gets no tokens here. */
export interface ServiceAccount extends KubeObject {
  automountServiceAccountToken?: boolean;
}

const RBAC = 'rbac.authorization.k8s.io';
const TEXTS: Shape = { list: 'string' };
const TEMPLATE: Shape = { fields: { metadata: 'object', spec: 'object' } };
const REFERENCE: Fields = { apiGroup: 'string', kind: 'string', name: 'string' };

function labelsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Compares only `matchLabels`, not expressions. */
function validateSelector({ selector, template }: DaemonSet['spec']): FieldError[] {
  if (selector === undefined) return [required('spec.selector')];
  const labels = labelsOf(template?.metadata?.labels);
  const isMatched = Object.entries(labelsOf(selector.matchLabels)).every(
    ([key, value]) => labels[key] === value,
  );
  if (isMatched) return [];
  const why = '`selector` does not match template `labels`';
  return [invalidValue('spec.template.metadata.labels', labels, why)];
}

/** What of a workload is checked, and what must stay as it is. */
const WORKLOAD = {
  immutable: ['spec.selector', 'field is immutable'],
  hasGenerations: true,
  validate: ({ spec }: { readonly spec: DaemonSet['spec'] }) => [
    ...validateSelector(spec),
    ...validateContainers(spec.template?.spec ?? {}, 'spec.template.spec'),
  ],
} as const;

function validateRule(rule: PolicyRule, path: string): FieldError[] {
  const isOfUrls = (rule.nonResourceURLs ?? []).length > 0;
  const fields = isOfUrls ? ['verbs'] : ['verbs', 'apiGroups', 'resources'];
  return requireFields(rule, fields, path);
}

/** The kinds that are only stored, so that all manifests of a cluster can be applied. */
export const STORED_KINDS = {
  ClusterRole: storedKind<ClusterRole>({
    group: RBAC,
    kind: 'ClusterRole',
    names: ['clusterroles'],
    options: { isNamespaced: false, createsOnUpdate: true, refuseName: refusePathSegment },
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
    validate: ({ rules = [] }) => rules.flatMap((rule, i) => validateRule(rule, `rules[${i}]`)),
  }),

  ClusterRoleBinding: storedKind<ClusterRoleBinding>({
    group: RBAC,
    kind: 'ClusterRoleBinding',
    names: ['clusterrolebindings'],
    options: { isNamespaced: false, createsOnUpdate: true, refuseName: refusePathSegment },
    shape: {
      roleRef: { fields: REFERENCE },
      subjects: { list: { fields: { ...REFERENCE, namespace: 'string' } } },
    },
    columns: [
      column('Role', 'Role that is bound.', ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`),
    ],
    defaults: { roleRef: { apiGroup: RBAC } },
    immutable: ['roleRef', 'cannot change roleRef'],
    validate: ({ roleRef, subjects = [] }) => [
      ...requireFields(roleRef, ['name'], 'roleRef'),
      ...subjects.flatMap((subject, i) => {
        const fields = subject.kind === 'ServiceAccount' ? ['name', 'namespace'] : ['name'];
        return requireFields(subject, fields, `subjects[${i}]`);
      }),
    ],
  }),

  DaemonSet: storedKind<DaemonSet>({
    group: 'apps',
    kind: 'DaemonSet',
    names: ['daemonsets', 'ds'],
    options: { categories: ['all'], mergeKeys: podMergeKeys('spec.template.spec') },
    shape: {
      spec: {
        fields: {
          selector: 'object',
          template: TEMPLATE,
          updateStrategy: 'object',
          minReadySeconds: 'int',
          revisionHistoryLimit: 'int',
        },
      },
      status: 'object',
    },
    defaults: { spec: { updateStrategy: { type: 'RollingUpdate' } } },
    ...WORKLOAD,
  }),

  // Source of the defaults: pkg/apis/apps/v1 SetDefaults_Deployment.
  Deployment: storedKind<Deployment>({
    group: 'apps',
    kind: 'Deployment',
    names: ['deployments', 'deploy'],
    options: {
      categories: ['all'],
      isScalable: true,
      mergeKeys: podMergeKeys('spec.template.spec'),
    },
    shape: {
      spec: {
        fields: {
          replicas: 'int',
          selector: 'object',
          template: TEMPLATE,
          strategy: 'object',
          minReadySeconds: 'int',
          revisionHistoryLimit: 'int',
          paused: 'bool',
          progressDeadlineSeconds: 'int',
        },
      },
      status: 'object',
    },
    columns: [
      column('Replicas', 'Pods that are wanted.', ({ spec }) => spec.replicas ?? 1, {
        type: 'integer',
      }),
    ],
    defaults: { spec: { replicas: 1, strategy: { type: 'RollingUpdate' } } },
    ...WORKLOAD,
  }),

  PodDisruptionBudget: storedKind<DisruptionBudget>({
    group: 'policy',
    kind: 'PodDisruptionBudget',
    names: ['poddisruptionbudgets', 'pdb'],
    options: {
      needsVersion: true,
      mergeKeys: { 'spec.selector': REPLACED, 'status.conditions': 'type' },
    },
    hasGenerations: true,
    shape: {
      spec: {
        fields: {
          minAvailable: 'intOrString',
          maxUnavailable: 'intOrString',
          selector: 'object',
          unhealthyPodEvictionPolicy: 'string',
        },
      },
      status: 'object',
    },
    columns: [
      column('Min Available', 'Pods that must stay.', ({ spec }) =>
        String(spec.minAvailable ?? 'N/A'),
      ),
      column('Max Unavailable', 'Pods that may go.', ({ spec }) =>
        String(spec.maxUnavailable ?? 'N/A'),
      ),
    ],
    defaults: { spec: {} },
    validate({ spec }) {
      if (spec.minAvailable === undefined || spec.maxUnavailable === undefined) return [];
      const why = 'minAvailable and maxUnavailable cannot be both set';
      return [invalidValue('spec', spec, why)];
    },
  }),

  ServiceAccount: storedKind<ServiceAccount>({
    group: '',
    kind: 'ServiceAccount',
    names: ['serviceaccounts', 'sa'],
    options: { returnsDeleted: true, mergeKeys: { secrets: 'name', imagePullSecrets: 'name' } },
    shape: {
      automountServiceAccountToken: 'bool',
      secrets: { list: OBJECT_REFERENCE },
      imagePullSecrets: { list: { fields: { name: 'string' } } },
    },
  }),
};
