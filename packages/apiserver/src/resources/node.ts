import type { KubeObject } from '../object.js';
import { refuseSubdomain } from './names.js';
import { AGE_COLUMN, column, NAME_COLUMN, PLAIN_KIND, type ResourceKind } from './resource-kind.js';

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
export const nodeKind: ResourceKind<Node> = {
  ...PLAIN_KIND,
  group: '',
  kind: 'Node',
  plural: 'nodes',
  singular: 'node',
  shortNames: ['no'],
  isNamespaced: false,
  createsWithStatus: true,
  refuseName: refuseSubdomain,
  shape: { spec: 'object', status: 'object' },
  mergeKeys: {
    'spec.taints': 'key',
    'spec.podCIDRs': '',
    'status.addresses': 'type',
    'status.conditions': 'type',
  },
  columns: [
    NAME_COLUMN,
    column('Status', 'Whether the node is ready.', statusOf),
    column('Roles', 'Roles that the labels name.', rolesOf),
    AGE_COLUMN,
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
};
