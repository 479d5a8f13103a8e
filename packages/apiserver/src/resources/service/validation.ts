import { PROTOCOLS, refusePort } from '../endpoint-fields.js';
import {
  duplicate,
  forbiddenField,
  invalidValue,
  required,
  tooMany,
  unsupported,
  type FieldError,
} from '../field-error.js';
import { parseIp } from '../ip.js';
import {
  refuseFqdn,
  refuseLabel,
  refuseLabelValue,
  refusePortName,
  refuseQualifiedName,
} from '../names.js';
import { isDualStack } from './families.js';
import {
  hasClusterIps,
  HEADLESS,
  isHeadless,
  SERVICE_TYPES,
  type Service,
  type ServicePort,
  type ServiceSpec,
} from './service.js';

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
export function validateService({ spec }: Service): FieldError[] {
  const errors = [...validateChoices(spec), ...validatePorts(spec)];
  errors.push(...validateSelector(spec.selector ?? {}));
  if (!hasClusterIps(spec)) return [...errors, ...validateExternalName(spec)];
  return [...errors, ...validateFamilies(spec), ...validateClusterIps(spec)];
}

/** Source: pkg/apis/core/validation ValidateServiceUpdate: addresses and families cannot change. */
export function validateServiceUpdate({ spec }: Service, previous: Service): FieldError[] {
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
