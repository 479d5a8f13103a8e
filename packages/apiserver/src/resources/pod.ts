import { isJsonObject, type JsonObject, type KubeObject } from '../object.js';
import { duplicate, invalidValue, required, type FieldError } from './field-error.js';
import { refuseLabel, refuseSubdomain } from './names.js';
import { AGE_COLUMN, column, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';

/**
 * `core/v1.Pod`. There is no kubelet: the status is what the client writes, and most of the
 * specification is kept as it came.
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

/** What is wrong with the containers of the pod specification at `place`. */
export function validateContainers(spec: JsonObject, place = 'spec'): FieldError[] {
  const containers = spec.containers;
  if (!Array.isArray(containers) || containers.length === 0) {
    return [required(`${place}.containers`)];
  }
  const errors: FieldError[] = [];
  const names = new Set<string>();
  for (const [i, item] of containers.entries()) {
    const container = isJsonObject(item) ? item : {};
    const name = text(container.name);
    const path = `${place}.containers[${i}]`;
    const reason = name === '' ? undefined : refuseLabel(name);
    if (name === '') errors.push(required(`${path}.name`));
    else if (reason) errors.push(invalidValue(`${path}.name`, name, reason));
    else if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
    if (text(container.image) === '') errors.push(required(`${path}.image`));
    names.add(name);
  }
  return errors;
}

/** How lists of the pod specification at `place` are merged. Source: core/v1 PodSpec, patchMergeKey. */
export function podMergeKeys(place: string): Readonly<Record<string, string>> {
  return {
    [`${place}.containers`]: 'name',
    [`${place}.containers.env`]: 'name',
    [`${place}.containers.ports`]: 'containerPort',
    [`${place}.containers.volumeMounts`]: 'mountPath',
    [`${place}.initContainers`]: 'name',
    [`${place}.volumes`]: 'name',
    [`${place}.imagePullSecrets`]: 'name',
    [`${place}.hostAliases`]: 'ip',
    [`${place}.topologySpreadConstraints`]: 'topologyKey',
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
      // A pod without specification is refused later, by validation.
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
