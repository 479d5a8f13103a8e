import type { JsonObject, KubeObject } from '../object.js';
import { ageOf } from './age.js';
import { invalidValue, type FieldError } from './field-error.js';
import { refuseSubdomain } from './names.js';
import { AGE_COLUMN, column, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';

/** `policy/v1.PodDisruptionBudget`; nobody evicts pods here. */
export interface DisruptionBudget extends KubeObject {
  spec: { minAvailable?: number | string; maxUnavailable?: number | string; selector?: JsonObject };
}

/** The table entry of disruption budgets. */
export const disruptionBudgetKind: ResourceKind<DisruptionBudget> = {
  ...PLAIN_KIND,
  group: 'policy',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  singular: 'poddisruptionbudget',
  shortNames: ['pdb'],
  refuseName: refuseSubdomain,
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
    NAME_COLUMN,
    column('Min Available', 'Pods that must stay.'),
    column('Max Unavailable', 'Pods that may go.'),
    AGE_COLUMN,
  ],

  setDefaults(budget) {
    budget.spec = { ...(budget.spec as DisruptionBudget['spec'] | undefined) };
  },
  validate({ spec }) {
    const errors: FieldError[] = [];
    if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined) {
      const why = 'minAvailable and maxUnavailable cannot be both set';
      errors.push(invalidValue('spec', spec, why));
    }
    return errors;
  },
  row: (budget, now) => [
    budget.metadata.name,
    String(budget.spec.minAvailable ?? 'N/A'),
    String(budget.spec.maxUnavailable ?? 'N/A'),
    ageOf(budget, now),
  ],
};
