import type { ClusterZone, ZoneNamespace } from './cluster-zone.js';
import type { ZoneName } from './zone-name.js';
import type { ZoneService } from './zone-service.js';

/** Services that one question may match: more have no room in any answer. */
const MAX_MATCHES = 4_096;

/**
 * The services that a name with the label `*` is about (kubernetes/dns pkg/dns/treecache: `*` stands for
 * any label that does not begin with an underscore; as the first label it is the name behind it).
 * `name` comes back without such a first label. Directly below a namespace these are its ExternalName
 * services only. `hasPart` tells whether a service has what the labels before its own ask for.
 */
export function matchWildcard(
  zone: ClusterZone,
  name: ZoneName,
  hasPart: (service: ZoneService) => boolean,
): ZoneService[] {
  if (name.isWildcard(name.count - 1)) {
    name.dropFirst();
    // What stands behind it must be a node of the tree: hosts, with or without a port, are its leaves.
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
  if (service.alias !== undefined) return name.count === 3;
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
