import { isDeepStrictEqual } from 'node:util';
import {
  duplicate,
  forbiddenField,
  invalidValue,
  required,
  tooLong,
  type FieldError,
} from '../errors.js';
import { isJsonObject, type JsonObject, type KubeObject } from '../object.js';
import { refuseConfigKey, refuseLabel } from './names.js';
import { column, resourceKind } from './resource-kind.js';

/** `core/v1.ConfigMap`. */
export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  /** Values in base64. */
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

/** Source: core/v1 MaxSecretSize, which ConfigMaps share. */
const MAX_DATA_BYTES = 1024 * 1024;

function keysOf({ data, binaryData }: ConfigMap): [field: string, key: string][] {
  return [
    ...Object.keys(data ?? {}).map((key): [string, string] => ['data', key]),
    ...Object.keys(binaryData ?? {}).map((key): [string, string] => ['binaryData', key]),
  ];
}

/** The table entry of ConfigMaps. */
export const configMapKind = resourceKind<ConfigMap>({
  kind: 'ConfigMap',
  names: ['configmaps', 'cm'],
  shape: { data: { map: 'string' }, binaryData: { map: 'string' }, immutable: 'bool' },
  columns: [column('Data', 'Number of keys.', (map) => keysOf(map).length, { type: 'integer' })],

  validate(map) {
    const errors: FieldError[] = [];
    for (const [field, key] of keysOf(map)) {
      const reason = refuseConfigKey(key);
      if (reason) errors.push(invalidValue(`${field}[${key}]`, key, reason));
      if (field === 'binaryData' && map.data && Object.hasOwn(map.data, key)) {
        errors.push(duplicate(`data[${key}]`, key));
      }
    }
    const values = [...Object.values(map.data ?? {}), ...Object.values(map.binaryData ?? {})];
    const bytes = values.reduce((sum, value) => sum + Buffer.byteLength(value), 0);
    if (bytes > MAX_DATA_BYTES) errors.push(tooLong('data', MAX_DATA_BYTES));
    return errors;
  },
  validateUpdate(map, previous) {
    if (!previous.immutable) return [];
    const errors: FieldError[] = [];
    const why = 'field is immutable when `immutable` is set';
    if (!map.immutable) errors.push(forbiddenField('immutable', why));
    for (const field of ['data', 'binaryData'] as const) {
      if (!isDeepStrictEqual(map[field], previous[field])) errors.push(forbiddenField(field, why));
    }
    return errors;
  },
});

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
export const namespaceKind = resourceKind<Namespace>({
  kind: 'Namespace',
  names: ['namespaces', 'ns'],
  isNamespaced: false,
  refuseName: refuseLabel,
  shape: {
    spec: { fields: { finalizers: { list: 'string' } } },
    status: { fields: { phase: 'string', conditions: { list: 'object' } } },
  },
  mergeKeys: { 'spec.finalizers': '', 'status.conditions': 'type' },
  columns: [column('Status', 'Phase of the namespace.', ({ status }) => status.phase)],

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
});

/** `core/v1.Node`; only fields that are printed or selected by are typed, others are stored unchecked. */
export interface Node extends KubeObject {
  spec?: { unschedulable?: unknown; podCIDRs?: unknown };
  status?: { conditions?: unknown; addresses?: unknown };
}

const ROLE_PREFIX = 'node-role.kubernetes.io/';

function findItem(list: unknown, type: string, field: string): string | undefined {
  if (!Array.isArray(list)) return undefined;
  const items = list as (Record<string, unknown> | null)[];
  const value = items.find((item) => item?.type === type)?.[field];
  return typeof value === 'string' ? value : undefined;
}

function statusOf({ spec, status }: Node): string {
  const ready = findItem(status?.conditions, 'Ready', 'status');
  const text = ready === undefined ? 'Unknown' : ready === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable === true ? `${text},SchedulingDisabled` : text;
}

function rolesOf({ metadata }: Node): string {
  const keys = Object.keys(metadata.labels ?? {}).filter((key) => key.startsWith(ROLE_PREFIX));
  return keys.map((key) => key.slice(ROLE_PREFIX.length)).join(',') || '<none>';
}

/** The table entry of nodes. */
export const nodeKind = resourceKind<Node>({
  kind: 'Node',
  names: ['nodes', 'no'],
  isNamespaced: false,
  createsWithStatus: true,
  shape: { spec: 'object', status: 'object' },
  mergeKeys: {
    'spec.taints': 'key',
    'spec.podCIDRs': '',
    'status.addresses': 'type',
    'status.conditions': 'type',
  },
  columns: [
    column('Status', 'Whether the node is ready.', statusOf),
    column('Roles', 'Roles that the labels name.', rolesOf),
    column(
      'Internal-IP',
      'Address within the cluster.',
      ({ status }) => findItem(status?.addresses, 'InternalIP', 'address') ?? '<none>',
      { wide: true },
    ),
  ],
  selectableFields: ({ spec }) => ({
    'spec.unschedulable': String(spec?.unschedulable === true),
  }),
});

/**
 * `core/v1.Pod`. There is no kubelet: the client writes the status, and most of the specification
 * is stored unchecked.
 */
export interface Pod extends KubeObject {
  spec: JsonObject;
  status: JsonObject;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function readinessOf({ spec, status }: Pod): string {
  const ready = objects(status.containerStatuses).filter((item) => item.ready === true).length;
  return `${ready}/${objects(spec.containers).length}`;
}

function restartsOf({ status }: Pod): number {
  const counts = objects(status.containerStatuses).map(({ restartCount }) => Number(restartCount));
  return counts.reduce((sum, count) => sum + (count || 0), 0);
}

/** The errors in the containers of the pod specification at `path`. */
export function validateContainers(spec: JsonObject, path = 'spec'): FieldError[] {
  const containers = spec.containers;
  if (!Array.isArray(containers) || containers.length === 0) {
    return [required(`${path}.containers`)];
  }
  const errors: FieldError[] = [];
  const names = new Set<string>();
  for (const [i, item] of containers.entries()) {
    const container = isJsonObject(item) ? item : {};
    const name = text(container.name);
    const itemPath = `${path}.containers[${i}]`;
    const reason = name === '' ? undefined : refuseLabel(name);
    if (name === '') errors.push(required(`${itemPath}.name`));
    else if (reason) errors.push(invalidValue(`${itemPath}.name`, name, reason));
    else if (names.has(name)) errors.push(duplicate(`${itemPath}.name`, name));
    if (text(container.image) === '') errors.push(required(`${itemPath}.image`));
    names.add(name);
  }
  return errors;
}

/** How lists of the pod specification at `path` are merged. Source: core/v1 PodSpec, patchMergeKey. */
export function podMergeKeys(path: string): Readonly<Record<string, string>> {
  return {
    [`${path}.containers`]: 'name',
    [`${path}.containers.env`]: 'name',
    [`${path}.containers.ports`]: 'containerPort',
    [`${path}.containers.volumeMounts`]: 'mountPath',
    [`${path}.initContainers`]: 'name',
    [`${path}.volumes`]: 'name',
    [`${path}.imagePullSecrets`]: 'name',
    [`${path}.hostAliases`]: 'ip',
    [`${path}.topologySpreadConstraints`]: 'topologyKey',
  };
}

/** The table entry of pods. */
export const podKind = resourceKind<Pod>({
  kind: 'Pod',
  names: ['pods', 'po'],
  categories: ['all'],
  returnsDeleted: true,
  shape: { spec: 'object', status: 'object' },
  mergeKeys: {
    ...podMergeKeys('spec'),
    'status.conditions': 'type',
    'status.podIPs': 'ip',
  },
  columns: [
    column('Ready', 'Ready containers of all containers.', readinessOf),
    column('Status', 'Phase of the pod.', ({ status }) => text(status.phase)),
    column('Restarts', 'Restarts of all containers.', restartsOf, { type: 'integer' }),
    column('IP', 'Address of the pod.', ({ status }) => text(status.podIP) || '<none>', {
      wide: true,
    }),
    column('Node', 'Node that the pod runs on.', ({ spec }) => text(spec.nodeName) || '<none>', {
      wide: true,
    }),
  ],

  setDefaults(pod) {
    pod.spec = {
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      schedulerName: 'default-scheduler',
      terminationGracePeriodSeconds: 30,
      // Validation refuses a pod without specification later.
      ...(pod.spec as JsonObject | undefined),
    };
    pod.status = { phase: 'Pending', ...(pod.status as JsonObject | undefined) };
  },
  validate({ spec }) {
    const errors = validateContainers(spec);
    for (const field of ['hostname', 'subdomain'] as const) {
      const value = text(spec[field]);
      const reason = value === '' ? undefined : refuseLabel(value);
      if (reason) errors.push(invalidValue(`spec.${field}`, value, reason));
    }
    return errors;
  },
  selectableFields: ({ spec, status }) => ({
    'spec.nodeName': text(spec.nodeName),
    'spec.restartPolicy': text(spec.restartPolicy),
    'spec.schedulerName': text(spec.schedulerName),
    'spec.serviceAccountName': text(spec.serviceAccountName),
    'spec.hostNetwork': String(spec.hostNetwork === true),
    'status.phase': text(status.phase),
    'status.podIP': text(status.podIP),
    'status.nominatedNodeName': text(status.nominatedNodeName),
  }),
});
