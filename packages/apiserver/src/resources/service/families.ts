import { isDeepStrictEqual } from 'node:util';
import { parseIp, type IpFamily } from '../ip.js';
import { hasClusterIps, HEADLESS, isHeadless, type ServiceSpec } from './service.js';

/** Whether a policy requests both families. */
export function isDualStack(policy: string | undefined): boolean {
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
export function setFamilyDefaults(spec: ServiceSpec, previous: ServiceSpec | undefined): void {
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
