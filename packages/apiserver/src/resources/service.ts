import { isDeepStrictEqual } from 'node:util';
import {
  duplicate,
  forbiddenField,
  invalidValue,
  required,
  tooMany,
  unsupported,
  type FieldError,
} from '../errors.js';
import type { JsonObject, KubeObject } from '../object.js';
import { PROTOCOLS, refusePort } from './endpoints.js';
import { parseIp, type IpFamily } from './ip.js';
import {
  refuseFqdn,
  refuseLabel,
  refuseLabelValue,
  refusePortName,
  refuseQualifiedName,
} from './names.js';
import { column, resourceKind } from './resource-kind.js';
import type { Fields } from './shape.js';

/** One port of a service. */
export interface ServicePort {
  name?: string;
  protocol: string;
  appProtocol?: string;
  port: number;
  targetPort: number | string;
  nodePort?: number;
}

/** `core/v1.ServiceSpec`. */
export interface ServiceSpec {
  type: string;
  ports?: ServicePort[];
  selector?: Record<string, string>;
  clusterIP?: string;
  clusterIPs?: string[];
  ipFamilies?: IpFamily[];
  ipFamilyPolicy?: string;
  externalName?: string;
  externalIPs?: string[];
  sessionAffinity: string;
  sessionAffinityConfig?: { clientIP?: { timeoutSeconds?: number } };
  internalTrafficPolicy?: string;
  externalTrafficPolicy?: string;
  healthCheckNodePort?: number;
  publishNotReadyAddresses?: boolean;
  allocateLoadBalancerNodePorts?: boolean;
  loadBalancerIP?: string;
  loadBalancerClass?: string;
  loadBalancerSourceRanges?: string[];
  trafficDistribution?: string;
}

/** `core/v1.Service`. */
export interface Service extends KubeObject {
  spec: ServiceSpec;
  status: { loadBalancer: { ingress?: JsonObject[] }; conditions?: JsonObject[] };
}

const HEADLESS = 'None';

/** The values that `spec.type` may have. */
const SERVICE_TYPES: readonly string[] = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'];

/** Whether a service has cluster addresses or is headless: not for an ExternalName. */
export function hasClusterIps({ type }: ServiceSpec): boolean {
  return type !== 'ExternalName';
}

/** Whether a service is headless. */
export function isHeadless(spec: ServiceSpec): boolean {
  return hasClusterIps(spec) && spec.clusterIP === HEADLESS;
}

/** Whether the ports of a service are also open on the nodes. */
export function usesNodePorts({ type, allocateLoadBalancerNodePorts }: ServiceSpec): boolean {
  return (
    type === 'NodePort' || (type === 'LoadBalancer' && allocateLoadBalancerNodePorts !== false)
  );
}

function isDualStack(policy: string | undefined): boolean {
  return policy === 'PreferDualStack' || policy === 'RequireDualStack';
}

function drop(spec: ServiceSpec, ...fields: (keyof ServiceSpec)[]): void {
  for (const field of fields) Reflect.deleteProperty(spec, field);
}

/**
 * Makes `clusterIP` and `clusterIPs` agree, so that a client can write only the older field.
 * Source: pkg/registry/core/service/storage normalizeClusterIPs.
 */
function reconcileClusterIps(spec: ServiceSpec, previous: ServiceSpec | undefined): void {
  const { clusterIP, clusterIPs = [] } = spec;
  if (previous && clusterIP !== previous.clusterIP) {
    const listUnchanged = isDeepStrictEqual(clusterIPs, previous.clusterIPs ?? []);
    if (listUnchanged) drop(spec, 'clusterIPs');
  }
  if (clusterIP && !spec.clusterIPs?.length) {
    const retained = clusterIP === previous?.clusterIP ? previous.clusterIPs : undefined;
    spec.clusterIPs = [...(retained ?? [clusterIP])];
  }
}

/** Copies fields that an update omits from the stored service. */
function carryOver(spec: ServiceSpec, previous: ServiceSpec): void {
  if (!spec.clusterIP && !spec.clusterIPs?.length) {
    if (previous.clusterIP !== undefined) spec.clusterIP = previous.clusterIP;
    if (previous.clusterIPs) spec.clusterIPs = [...previous.clusterIPs];
  }
  if (spec.ipFamilyPolicy === undefined && previous.ipFamilyPolicy !== undefined) {
    spec.ipFamilyPolicy = previous.ipFamilyPolicy;
  }
  if (!spec.ipFamilies?.length && previous.ipFamilies) spec.ipFamilies = [...previous.ipFamilies];
}

/** From two families to one: removes the second, unless the client also changed it. */
function downgrade(spec: ServiceSpec, previous: ServiceSpec): void {
  if (spec.ipFamilyPolicy !== 'SingleStack' || !isDualStack(previous.ipFamilyPolicy)) return;
  if (isDeepStrictEqual(spec.ipFamilies, previous.ipFamilies)) {
    spec.ipFamilies = spec.ipFamilies?.slice(0, 1) ?? [];
  }
  if (isDeepStrictEqual(spec.clusterIPs, previous.clusterIPs)) {
    spec.clusterIPs = spec.clusterIPs?.slice(0, 1) ?? [];
  }
}

function defaultPolicy(spec: ServiceSpec): string {
  const families = spec.ipFamilies?.length ?? 0;
  if (families === 2 || spec.clusterIPs?.length === 2) return 'RequireDualStack';
  // The endpoints of a headless service without selector may be written in either family.
  if (isHeadless(spec) && !spec.selector && families === 0) return 'RequireDualStack';
  return 'SingleStack';
}

function completeFamilies(spec: ServiceSpec): IpFamily[] {
  const families = [...(spec.ipFamilies ?? [])];
  for (const [i, address] of (spec.clusterIPs ?? []).entries()) {
    const family = address === HEADLESS ? undefined : parseIp(address)?.family;
    if (family && i === families.length) families.push(family);
  }
  if (families.length === 0) families.push('IPv4');
  if (families.length === 1 && isDualStack(spec.ipFamilyPolicy)) {
    families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4');
  }
  return families;
}

/**
 * Sets `clusterIP(s)`, `ipFamilies` and `ipFamilyPolicy` as far as they follow from each other and
 * from the stored service; addresses are allocated later, when the service is valid.
 */
function setFamilyDefaults(spec: ServiceSpec, previous: ServiceSpec | undefined): void {
  if (spec.clusterIP === '') drop(spec, 'clusterIP');
  reconcileClusterIps(spec, previous);
  if (!hasClusterIps(spec)) {
    // A change to ExternalName releases the addresses of the stored service.
    if (previous && isDeepStrictEqual(spec.clusterIPs, previous.clusterIPs)) {
      drop(spec, 'clusterIP', 'clusterIPs');
    }
    if (previous && isDeepStrictEqual(spec.ipFamilies, previous.ipFamilies)) {
      drop(spec, 'ipFamilies', 'ipFamilyPolicy');
    }
    return;
  }
  if (previous && hasClusterIps(previous)) {
    carryOver(spec, previous);
    downgrade(spec, previous);
  }
  spec.ipFamilyPolicy ??= defaultPolicy(spec);
  spec.ipFamilies = completeFamilies(spec);
}

/** Source: core/v1 DefaultClientIPServiceAffinitySeconds. */
const AFFINITY_SECONDS = 10_800;

function setPortDefaults(spec: ServiceSpec, previous: ServiceSpec | undefined): void {
  const byNumber = new Map(
    (previous?.ports ?? []).map((port) => [`${port.protocol}/${port.port}`, port]),
  );
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP';
    port.targetPort ||= port.port;
    if (port.nodePort === 0) delete port.nodePort;
    const stored = byNumber.get(`${port.protocol}/${port.port}`);
    if (usesNodePorts(spec)) {
      if (stored?.nodePort !== undefined) port.nodePort ??= stored.nodePort;
    } else if (previous && usesNodePorts(previous) && port.nodePort === stored?.nodePort) {
      delete port.nodePort;
    }
  }
}

function setTrafficDefaults(spec: ServiceSpec): void {
  if (hasClusterIps(spec)) spec.internalTrafficPolicy ??= 'Cluster';
  else delete spec.internalTrafficPolicy;
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  else delete spec.allocateLoadBalancerNodePorts;
  if (spec.type === 'NodePort' || spec.type === 'LoadBalancer') {
    spec.externalTrafficPolicy ??= 'Cluster';
  } else delete spec.externalTrafficPolicy;
}

function setServiceDefaults(service: Service, previous: Service | undefined): void {
  const partial: Partial<Service> = service;
  const spec = (partial.spec ?? {}) as ServiceSpec;
  service.spec = spec;
  spec.type ||= 'ClusterIP';
  spec.sessionAffinity ||= 'None';
  if (spec.sessionAffinity === 'ClientIP') {
    spec.sessionAffinityConfig ??= { clientIP: { timeoutSeconds: AFFINITY_SECONDS } };
  } else delete spec.sessionAffinityConfig;
  setTrafficDefaults(spec);
  setPortDefaults(spec, previous?.spec);
  setFamilyDefaults(spec, previous?.spec);
  service.status = { loadBalancer: {}, ...(service.status as Service['status'] | undefined) };
}

const FAMILIES: readonly string[] = ['IPv4', 'IPv6'];
const POLICIES: readonly string[] = ['SingleStack', 'PreferDualStack', 'RequireDualStack'];
const AFFINITIES: readonly string[] = ['ClientIP', 'None'];
const TRAFFIC_POLICIES: readonly string[] = ['Cluster', 'Local'];

function validatePort(port: ServicePort, path: string, needsName: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const { name = '', protocol } = port;
  const number = port.port as number | undefined;
  if (name === '') {
    if (needsName) errors.push(required(`${path}.name`));
  } else {
    const reason = refuseLabel(name);
    if (reason) errors.push(invalidValue(`${path}.name`, name, reason));
  }
  const badPort = refusePort(number ?? 0);
  if (badPort) errors.push(invalidValue(`${path}.port`, number ?? 0, badPort));
  if (!PROTOCOLS.includes(protocol)) {
    errors.push(unsupported(`${path}.protocol`, protocol, PROTOCOLS));
  }
  const target = (port.targetPort as number | string | undefined) ?? 0;
  const badTarget = typeof target === 'number' ? refusePort(target) : refusePortName(target);
  if (badTarget) errors.push(invalidValue(`${path}.targetPort`, target, badTarget));
  return errors;
}

function validatePorts(spec: ServiceSpec): FieldError[] {
  const ports = spec.ports ?? [];
  if (ports.length === 0 && hasClusterIps(spec) && !isHeadless(spec)) {
    return [required('spec.ports')];
  }
  const errors: FieldError[] = [];
  const names = new Set<string>();
  const seen = new Set<string>();
  for (const [i, port] of ports.entries()) {
    const path = `spec.ports[${i}]`;
    errors.push(...validatePort(port, path, ports.length > 1));
    if (port.name && names.has(port.name)) errors.push(duplicate(`${path}.name`, port.name));
    names.add(port.name ?? '');
    const key = `${port.protocol}/${port.port}`;
    if (seen.has(key)) errors.push(duplicate(path, { protocol: port.protocol, port: port.port }));
    seen.add(key);
    if (port.nodePort !== undefined && (spec.type === 'ClusterIP' || !hasClusterIps(spec))) {
      errors.push(forbiddenField(`${path}.nodePort`, `may not be used when type is ${spec.type}`));
    }
  }
  return errors;
}

function validateExternalName(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const name = spec.externalName ?? '';
  const reason = name === '' ? undefined : refuseFqdn(name);
  if (name === '') errors.push(required('spec.externalName'));
  else if (reason) errors.push(invalidValue('spec.externalName', name, reason));
  for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'] as const) {
    const value = spec[field];
    if (value !== undefined && value.length > 0) {
      errors.push(forbiddenField(`spec.${field}`, 'may not be set for ExternalName services'));
    }
  }
  return errors;
}

function validateFamilies({ ipFamilies = [], ipFamilyPolicy = '' }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (!POLICIES.includes(ipFamilyPolicy)) {
    errors.push(unsupported('spec.ipFamilyPolicy', ipFamilyPolicy, POLICIES));
  }
  if (ipFamilies.length > 2) {
    return [...errors, tooMany('spec.ipFamilies', ipFamilies.length, 2)];
  }
  for (const [i, family] of ipFamilies.entries()) {
    if (!FAMILIES.includes(family)) {
      errors.push(unsupported(`spec.ipFamilies[${i}]`, family, FAMILIES));
    }
    if (ipFamilies.indexOf(family) < i) errors.push(duplicate(`spec.ipFamilies[${i}]`, family));
  }
  if (ipFamilies.length > 1 && !isDualStack(ipFamilyPolicy)) {
    const why = 'must be RequireDualStack or PreferDualStack when there are two families';
    errors.push(invalidValue('spec.ipFamilyPolicy', ipFamilyPolicy, why));
  }
  return errors;
}

function validateClusterIps(spec: ServiceSpec): FieldError[] {
  const { clusterIP, clusterIPs = [], ipFamilies = [], type } = spec;
  const errors: FieldError[] = [];
  if (clusterIPs.length > 0 && clusterIP === undefined) {
    return [invalidValue('spec.clusterIPs', clusterIPs, 'must be empty when clusterIP is not set')];
  }
  if (clusterIPs.length > 0 && clusterIPs[0] !== clusterIP) {
    errors.push(invalidValue('spec.clusterIPs[0]', clusterIPs[0], 'must match clusterIP'));
  }
  if (clusterIPs.length > 2) {
    return [...errors, tooMany('spec.clusterIPs', clusterIPs.length, 2)];
  }
  if (clusterIP === HEADLESS) {
    if (type !== 'ClusterIP') {
      errors.push(
        invalidValue('spec.clusterIPs[0]', HEADLESS, `may not be 'None' for ${type} services`),
      );
    }
    if (clusterIPs.length > 1) {
      errors.push(invalidValue('spec.clusterIPs', clusterIPs, "'None' must be the only value"));
    }
    return errors;
  }
  for (const [i, address] of clusterIPs.entries()) {
    const path = `spec.clusterIPs[${i}]`;
    const family = parseIp(address)?.family;
    if (!family) errors.push(invalidValue(path, address, 'must be a valid IP address'));
    else if (i >= ipFamilies.length || family !== ipFamilies[i]) {
      const why = `expected ${ipFamilies[i] ?? 'no'} address as in ipFamilies`;
      errors.push(invalidValue(path, address, why));
    }
  }
  return errors;
}

function validateSelector(selector: Readonly<Record<string, string>>): FieldError[] {
  return Object.entries(selector).flatMap(([key, value]) => {
    const reason = refuseQualifiedName(key) ?? refuseLabelValue(value);
    return reason ? [invalidValue('spec.selector', `${key}=${value}`, reason)] : [];
  });
}

function validateChoices(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const check = (field: string, value: string | undefined, choices: readonly string[]) => {
    if (value !== undefined && !choices.includes(value)) {
      errors.push(unsupported(`spec.${field}`, value, choices));
    }
  };
  check('type', spec.type, SERVICE_TYPES);
  check('sessionAffinity', spec.sessionAffinity, AFFINITIES);
  check('internalTrafficPolicy', spec.internalTrafficPolicy, TRAFFIC_POLICIES);
  check('externalTrafficPolicy', spec.externalTrafficPolicy, TRAFFIC_POLICIES);
  for (const [i, address] of (spec.externalIPs ?? []).entries()) {
    if (!parseIp(address)) {
      const path = `spec.externalIPs[${i}]`;
      errors.push(invalidValue(path, address, 'must be a valid IP address'));
    }
  }
  return errors;
}

/** Source: pkg/apis/core/validation ValidateService. */
function validateService({ spec }: Service): FieldError[] {
  const errors = [...validateChoices(spec), ...validatePorts(spec)];
  errors.push(...validateSelector(spec.selector ?? {}));
  if (!hasClusterIps(spec)) return [...errors, ...validateExternalName(spec)];
  return [...errors, ...validateFamilies(spec), ...validateClusterIps(spec)];
}

/** Source: pkg/apis/core/validation ValidateServiceUpdate: addresses and families cannot change. */
function validateServiceUpdate({ spec }: Service, previous: Service): FieldError[] {
  const before = previous.spec;
  if (!hasClusterIps(spec) || !hasClusterIps(before)) return [];
  const why = 'may not change once set';
  const errors: FieldError[] = [];
  for (const [i, address] of (before.clusterIPs ?? []).entries()) {
    const isReleased =
      i > 0 && (spec.clusterIPs?.length ?? 0) <= i && !isDualStack(spec.ipFamilyPolicy);
    if (spec.clusterIPs?.[i] !== address && !isReleased) {
      errors.push(invalidValue(`spec.clusterIPs[${i}]`, spec.clusterIPs?.[i] ?? '', why));
    }
  }
  if (before.ipFamilies?.[0] !== undefined && spec.ipFamilies?.[0] !== before.ipFamilies[0]) {
    errors.push(invalidValue('spec.ipFamilies[0]', spec.ipFamilies?.[0] ?? '', why));
  }
  return errors;
}

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
export const serviceKind = resourceKind<Service>({
  kind: 'Service',
  names: ['services', 'svc'],
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
    column('Selector', 'Labels of the pods behind the service.', selectorOf, { wide: true }),
  ],

  setDefaults: setServiceDefaults,
  validate: validateService,
  validateUpdate: validateServiceUpdate,
  selectableFields: ({ spec }) => ({
    'spec.clusterIP': spec.clusterIP ?? '',
    'spec.type': spec.type,
  }),
});
