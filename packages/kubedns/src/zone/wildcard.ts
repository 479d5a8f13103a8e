import type { ClusterZone, ZoneNamespace } from './cluster-zone.js';
import type { ZoneName } from './zone-name.js';
import type { ZoneService } from './zone-service.js';

/** Limit of the services of one answer: more do not fit into any message. */
const MAX_MATCHES = 4_096;

/**
 * The services that match a name with the label `*` (kubernetes/dns pkg/dns/treecache: `*` matches any
 * label that does not begin with an underscore; as the first label it is dropped). Removes such a first
 * label from `name`. Directly below a namespace only its ExternalName services match. `hasPart` tests
 * whether a service has the host or port in the labels before its name.
 */
export function matchWildcard(
  zone: ClusterZone,
  name: ZoneName,
  hasPart: (service: ZoneService) => boolean,
): ZoneService[] {
  if (name.isWildcard(name.count - 1)) {
    name.dropFirst();
    // The rest must be a node of the tree: hosts, with or without a port, are leaves.
    if (name.count === 4 || name.count === 6) return [];
  }
  if (name.count < 2 || !(name.is(0, 'svc') || name.isWildcard(0))) return [];
  for (let i = 3; i < name.count; i++) {
    if (name.isWildcard(i)) return [];
  }
  const matches: ZoneService[] = [];
  for (const namespace of namespacesOf(zone, name)) {
    for (const service of servicesOf(namespace, name)) {
      if (!isMatch(service, name) || !hasPart(service)) continue;
      matches.push(service);
      if (matches.length === MAX_MATCHES) return matches;
    }
  }
  return matches;
}

function isMatch(entry: ZoneService, name: ZoneName): boolean {
  const { service } = entry;
  if (service === undefined) return false;
  if (name.count === 2) return service.kind === 'external-name';
  if (service.cname !== undefined) return name.count === 3;
  return !entry.isHeadless || entry.hasEndpoints();
}

function namespacesOf(zone: ClusterZone, name: ZoneName): Iterable<ZoneNamespace> {
  if (name.isWildcard(1)) return zone.namespaces.values();
  const namespace = zone.namespaces.get(name.text(1));
  return namespace === undefined ? [] : [namespace];
}

function servicesOf({ services }: ZoneNamespace, name: ZoneName): Iterable<ZoneService> {
  if (name.count === 2 || name.isWildcard(2)) return services.values();
  const service = services.get(name.text(2));
  return service === undefined ? [] : [service];
}
