import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject, type KubeObject } from '../object.js';
import { ageOf } from './age.js';
import { invalidValue, required, type FieldError } from './field-error.js';
import { refuseSubdomain } from './names.js';
import { podMergeKeys, validateContainers } from './pod.js';
import { AGE_COLUMN, column, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';

/** `apps/v1.Deployment`. There is no controller: no pod comes of it, and its status stays empty. */
export interface Deployment extends KubeObject {
  spec: {
    replicas?: number;
    selector?: JsonObject;
    template?: { metadata?: JsonObject; spec?: JsonObject };
    strategy?: JsonObject;
  };
  status?: JsonObject;
}

function labelsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Only `matchLabels` is compared; what expressions select is not looked at. */
function validateSelector({ selector, template }: Deployment['spec']): FieldError[] {
  if (selector === undefined) return [required('spec.selector')];
  const labels = labelsOf(template?.metadata?.labels);
  const isMatched = Object.entries(labelsOf(selector.matchLabels)).every(
    ([key, value]) => labels[key] === value,
  );
  if (isMatched) return [];
  const why = '`selector` does not match template `labels`';
  return [invalidValue('spec.template.metadata.labels', labels, why)];
}

/** The table entry of deployments. */
export const deploymentKind: ResourceKind<Deployment> = {
  ...PLAIN_KIND,
  group: 'apps',
  kind: 'Deployment',
  plural: 'deployments',
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  refuseName: refuseSubdomain,
  shape: {
    spec: {
      fields: {
        replicas: 'int',
        selector: 'object',
        template: { fields: { metadata: 'object', spec: 'object' } },
        strategy: 'object',
        minReadySeconds: 'int',
        revisionHistoryLimit: 'int',
        paused: 'bool',
        progressDeadlineSeconds: 'int',
      },
    },
    status: 'object',
  },
  mergeKeys: podMergeKeys('spec.template.spec'),
  columns: [
    NAME_COLUMN,
    column('Replicas', 'Pods that are wanted.', { type: 'integer' }),
    AGE_COLUMN,
  ],

  // Source: pkg/apis/apps/v1 SetDefaults_Deployment.
  setDefaults(deployment) {
    // A deployment without specification is refused later, by validation.
    const spec = deployment.spec as Deployment['spec'] | undefined;
    const strategy = { type: 'RollingUpdate', ...spec?.strategy };
    deployment.spec = { replicas: 1, ...spec, strategy };
  },
  validate({ spec }) {
    const podSpec = spec.template?.spec ?? {};
    return [...validateSelector(spec), ...validateContainers(podSpec, 'spec.template.spec')];
  },
  validateUpdate: ({ spec: { selector } }, previous) =>
    isDeepStrictEqual(selector, previous.spec.selector)
      ? []
      : [invalidValue('spec.selector', selector, 'field is immutable')],
  generationOf: ({ spec }) => spec,
  row: (deployment, now) => [
    deployment.metadata.name,
    deployment.spec.replicas ?? 1,
    ageOf(deployment, now),
  ],
};
