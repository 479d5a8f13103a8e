import type { KubeObject } from '../object.js';
import { ageOf } from './age.js';
import { refuseSubdomain } from './names.js';
import { AGE_COLUMN, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';
import { OBJECT_REFERENCE } from './shape.js';

/** `core/v1.ServiceAccount`; nobody makes tokens for it here. */
export interface ServiceAccount extends KubeObject {
  automountServiceAccountToken?: boolean;
}

/** The table entry of service accounts. */
export const serviceAccountKind: ResourceKind<ServiceAccount> = {
  ...PLAIN_KIND,
  group: '',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  singular: 'serviceaccount',
  shortNames: ['sa'],
  refuseName: refuseSubdomain,
  shape: {
    automountServiceAccountToken: 'bool',
    secrets: { list: OBJECT_REFERENCE },
    imagePullSecrets: { list: { fields: { name: 'string' } } },
  },
  mergeKeys: { secrets: 'name', imagePullSecrets: 'name' },
  columns: [NAME_COLUMN, AGE_COLUMN],
  row: (account, now) => [account.metadata.name, ageOf(account, now)],
};
