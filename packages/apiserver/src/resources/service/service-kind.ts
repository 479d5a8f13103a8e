import { refuseLabel } from '../names.js';
import {
  AGE_COLUMN,
  column,
  NAME_COLUMN,
  PLAIN_KIND,
  type ResourceKind,
} from '../resource-kind.js';
import type { Fields } from '../shape.js';
import { setServiceDefaults } from './defaults.js';
import { HEADLESS, type Service } from './service.js';
import { validateService, validateServiceUpdate } from './validation.js';

const SPEC: Fields = {
  type: 'string',
  ports: {
    list: {
      fields: {
        name: 'string',
        protocol: 'string',
        appProtocol: 'string',
        port: 'int',
        targetPort: 'intOrString',
        nodePort: 'int',
      },
    },
  },
  selector: { map: 'string' },
  clusterIP: 'string',
  clusterIPs: { list: 'string' },
  ipFamilies: { list: 'string' },
  ipFamilyPolicy: 'string',
  externalName: 'string',
  externalIPs: { list: 'string' },
  sessionAffinity: 'string',
  sessionAffinityConfig: {
    fields: { clientIP: { fields: { timeoutSeconds: 'int' } } },
  },
  internalTrafficPolicy: 'string',
  externalTrafficPolicy: 'string',
  healthCheckNodePort: 'int',
  publishNotReadyAddresses: 'bool',
  allocateLoadBalancerNodePorts: 'bool',
  loadBalancerIP: 'string',
  loadBalancerClass: 'string',
  loadBalancerSourceRanges: { list: 'string' },
  trafficDistribution: 'string',
};

function clusterAddressOf({ spec }: Service): string {
  return spec.clusterIP ?? (spec.type === 'ExternalName' ? '<none>' : HEADLESS);
}

function externalAddressOf({ spec, status }: Service): string {
  if (spec.type === 'ExternalName') return spec.externalName ?? '';
  const ingress = (status.loadBalancer.ingress ?? []).flatMap(({ ip, hostname }) => {
    const address = ip ?? hostname;
    return typeof address === 'string' ? [address] : [];
  });
  const all = [...ingress, ...(spec.externalIPs ?? [])];
  if (all.length > 0) return all.join(',');
  return spec.type === 'LoadBalancer' ? '<pending>' : '<none>';
}

function portsOf({ spec }: Service): string {
  const texts = (spec.ports ?? []).map(({ port, nodePort, protocol }) =>
    nodePort === undefined ? `${port}/${protocol}` : `${port}:${nodePort}/${protocol}`,
  );
  return texts.join(',') || '<none>';
}

function selectorOf({ spec }: Service): string {
  const pairs = Object.entries(spec.selector ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.join(',') || '<none>';
}

/**
 * The table entry of services. Names may start with a digit, as servers with
 * RelaxedServiceNameValidation (KEP-5311) allow.
 */
export const serviceKind: ResourceKind<Service> = {
  ...PLAIN_KIND,
  group: '',
  kind: 'Service',
  plural: 'services',
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  createsOnUpdate: true,
  returnsDeleted: true,
  refuseName: refuseLabel,
  shape: {
    spec: { fields: SPEC },
    status: {
      fields: {
        loadBalancer: { fields: { ingress: { list: 'object' } } },
        conditions: { list: 'object' },
      },
    },
  },
  mergeKeys: { 'spec.ports': 'port', 'status.conditions': 'type' },
  columns: [
    NAME_COLUMN,
    column('Type', 'How the service is reached.', ({ spec }) => spec.type),
    column(
      'Cluster-IP',
      'First cluster address, None when the service is headless.',
      clusterAddressOf,
    ),
    column(
      'External-IP',
      'Addresses outside the cluster, or the external name.',
      externalAddressOf,
    ),
    column('Port(s)', 'Ports, with node port and protocol.', portsOf),
    AGE_COLUMN,
    column('Selector', 'Labels of the pods behind the service.', selectorOf, { wide: true }),
  ],

  setDefaults: setServiceDefaults,
  validate: validateService,
  validateUpdate: validateServiceUpdate,
  selectableFields: ({ spec }) => ({
    'spec.clusterIP': spec.clusterIP ?? '',
    'spec.type': spec.type,
  }),
};
