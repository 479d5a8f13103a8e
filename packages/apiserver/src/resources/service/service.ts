import type { JsonObject, KubeObject } from '../../object.js';
import type { IpFamily } from '../ip.js';

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

/** The `clusterIP` of a headless service. */
export const HEADLESS = 'None';

/** The values that `spec.type` may have. */
export const SERVICE_TYPES: readonly string[] = [
  'ClusterIP',
  'NodePort',
  'LoadBalancer',
  'ExternalName',
];

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
