import { setFamilyDefaults } from './families.js';
import { hasClusterIps, usesNodePorts, type Service, type ServiceSpec } from './service.js';

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

/** Sets the defaults of a service, except for addresses and node ports. */
export function setServiceDefaults(service: Service, previous: Service | undefined): void {
  const given: Partial<Service> = service;
  const spec = (given.spec ?? {}) as ServiceSpec;
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
