import { isDeepStrictEqual } from 'node:util';
import { invalidValue, required, type FieldError } from '../errors.js';
import { copyJson, isJsonObject, type JsonObject, type KubeObject } from '../object.js';
import { REPLACED } from '../patch.js';
import { podMergeKeys, validateContainers } from './core-kinds.js';
import { refusePathSegment } from './names.js';
import { column, resourceKind, type KindRow, type ResourceKind } from './resource-kind.js';
import { OBJECT_REFERENCE, type Fields, type Shape } from './shape.js';

/** A row of the table of kinds that are only stored. */
type StoredKindRow<T extends KubeObject> = KindRow<T> & {
  /** Defaults of missing fields; objects are filled in at every depth. */
  readonly defaults?: JsonObject;
  /** A top-level field, or a field of `spec`, that cannot change, and the message for a change. */
  readonly immutable?: readonly [path: string, why: string];
  /** Whether changes of `spec` count as generations. */
  readonly hasGenerations?: boolean;
};

function fillIn(object: JsonObject, defaults: JsonObject): void {
  for (const [key, value] of Object.entries(defaults)) {
    const existing = object[key];
    if (existing === undefined) object[key] = copyJson(value);
    else if (isJsonObject(existing) && isJsonObject(value)) fillIn(existing, value);
  }
}

function valueAt(object: unknown, path: string): unknown {
  const step = (value: unknown, key: string) => (isJsonObject(value) ? value[key] : undefined);
  return path.split('.').reduce(step, object);
}

/** The errors for fields of the object at `path` that are missing or empty. */
function requireFields(object: object, fields: readonly string[], path = ''): FieldError[] {
  return fields.flatMap((field) => {
    const value: unknown = Reflect.get(object, field);
    const isPresent = Array.isArray(value) ? value.length > 0 : Boolean(value);
    return isPresent ? [] : [required(path === '' ? field : `${path}.${field}`)];
  });
}

/** The table entry of a kind without further effect: it is checked, stored and printed. */
function storedKind<T extends KubeObject>({
  defaults = {},
  immutable,
  hasGenerations = false,
  ...row
}: StoredKindRow<T>): ResourceKind<T> {
  return resourceKind<T>({
    ...row,
    setDefaults: (object) => fillIn(object as unknown as JsonObject, defaults),
    validateUpdate(object, previous) {
      if (immutable === undefined) return [];
      const [path, why] = immutable;
      const value = valueAt(object, path);
      if (isDeepStrictEqual(value, valueAt(previous, path))) return [];
      return [invalidValue(path, value, why)];
    },
    generationOf: (object) => (hasGenerations ? valueAt(object, 'spec') : undefined),
  });
}

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

/** `networking.k8s.io/v1.Ingress`. There is no controller: its status is what clients write. */
export interface Ingress extends KubeObject {
  spec?: JsonObject;
  status?: JsonObject;
}

/** `gateway.networking.k8s.io/v1.Gateway`. There is no controller: its status is what clients write. */
export type Gateway = Ingress;

/** `gateway.networking.k8s.io/v1` HTTPRoute, GRPCRoute or TLSRoute. */
export type GatewayRoute = Ingress;

/** `multicluster.x-k8s.io/v1beta1.ServiceImport`, a CRD of KEP-1645: nothing is imported here. */
export interface ServiceImport extends KubeObject {
  spec: { type?: string; ips?: string[]; ports?: JsonObject[] };
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

/** What an Ingress and the objects of a gateway have in common. */
const WITH_STATUS = {
  hasGenerations: true,
  shape: { spec: 'object', status: 'object' },
} as const;
const GATEWAY_GROUP = 'gateway.networking.k8s.io';

function hostsOf(spec: JsonObject | undefined): string {
  const hosts = Array.isArray(spec?.hostnames) ? spec.hostnames : [];
  return hosts.map(String).join(',') || '*';
}

function gatewayRoute(kind: 'HTTPRoute' | 'GRPCRoute' | 'TLSRoute'): ResourceKind<GatewayRoute> {
  return storedKind<GatewayRoute>({
    group: GATEWAY_GROUP,
    kind,
    names: [`${kind.toLowerCase()}s`],
    columns: [column('Hostnames', 'Hosts of the route.', ({ spec }) => hostsOf(spec))],
    ...WITH_STATUS,
  });
}

/** The kinds that are only stored, so that all manifests of a cluster can be applied. */
export const STORED_KINDS = {
  ClusterRole: storedKind<ClusterRole>({
    group: RBAC,
    kind: 'ClusterRole',
    names: ['clusterroles'],
    isNamespaced: false,
    createsOnUpdate: true,
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
    validate: ({ rules = [] }) => rules.flatMap((rule, i) => validateRule(rule, `rules[${i}]`)),
  }),

  ClusterRoleBinding: storedKind<ClusterRoleBinding>({
    group: RBAC,
    kind: 'ClusterRoleBinding',
    names: ['clusterrolebindings'],
    isNamespaced: false,
    createsOnUpdate: true,
    refuseName: refusePathSegment,
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
    categories: ['all'],
    mergeKeys: podMergeKeys('spec.template.spec'),
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
    categories: ['all'],
    isScalable: true,
    mergeKeys: podMergeKeys('spec.template.spec'),
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

  Gateway: storedKind<Gateway>({
    group: GATEWAY_GROUP,
    kind: 'Gateway',
    names: ['gateways', 'gtw'],
    ...WITH_STATUS,
  }),

  GRPCRoute: gatewayRoute('GRPCRoute'),
  HTTPRoute: gatewayRoute('HTTPRoute'),

  Ingress: storedKind<Ingress>({
    group: 'networking.k8s.io',
    kind: 'Ingress',
    names: ['ingresses', 'ing'],
    columns: [
      column('Class', 'Class of the ingress.', ({ spec }) =>
        typeof spec?.ingressClassName === 'string' ? spec.ingressClassName : '<none>',
      ),
    ],
    ...WITH_STATUS,
  }),

  PodDisruptionBudget: storedKind<DisruptionBudget>({
    group: 'policy',
    kind: 'PodDisruptionBudget',
    names: ['poddisruptionbudgets', 'pdb'],
    needsVersion: true,
    mergeKeys: { 'spec.selector': REPLACED, 'status.conditions': 'type' },
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

  TLSRoute: gatewayRoute('TLSRoute'),

  ServiceAccount: storedKind<ServiceAccount>({
    group: '',
    kind: 'ServiceAccount',
    names: ['serviceaccounts', 'sa'],
    returnsDeleted: true,
    mergeKeys: { secrets: 'name', imagePullSecrets: 'name' },
    shape: {
      automountServiceAccountToken: 'bool',
      secrets: { list: OBJECT_REFERENCE },
      imagePullSecrets: { list: { fields: { name: 'string' } } },
    },
  }),

  ServiceImport: storedKind<ServiceImport>({
    group: 'multicluster.x-k8s.io',
    version: 'v1beta1',
    otherVersions: ['v1alpha1'],
    kind: 'ServiceImport',
    names: ['serviceimports', 'svcim', 'svcimport'],
    shape: { spec: 'object', status: 'object' },
    columns: [column('Type', 'Type of the import.', ({ spec }) => spec.type ?? '')],
  }),
};
