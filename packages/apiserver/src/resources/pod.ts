import { isJsonObject, type JsonObject, type KubeObject } from '../object.js';
import { duplicate, invalidValue, required, type FieldError } from './field-error.js';
import { refuseLabel, refuseSubdomain } from './names.js';
import { AGE_COLUMN, column, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';

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
export const podKind: ResourceKind<Pod> = {
  ...PLAIN_KIND,
  group: '',
  kind: 'Pod',
  plural: 'pods',
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  returnsDeleted: true,
  refuseName: refuseSubdomain,
  shape: { spec: 'object', status: 'object' },
  mergeKeys: {
    ...podMergeKeys('spec'),
    'status.conditions': 'type',
    'status.podIPs': 'ip',
  },
  columns: [
    NAME_COLUMN,
    column('Ready', 'Ready containers of all containers.', readinessOf),
    column('Status', 'Phase of the pod.', ({ status }) => text(status.phase)),
    column('Restarts', 'Restarts of all containers.', restartsOf, { type: 'integer' }),
    AGE_COLUMN,
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
};
