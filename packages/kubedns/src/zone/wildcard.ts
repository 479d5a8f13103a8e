import type { ClusterZone } from './cluster-zone.js';
import type { ZoneName } from './zone-name.js';
import type { ZoneService } from './zone-service.js';

/** Limit of the services of one answer. */
const MAX_MATCHES = 128;
/** Limit of the work of one question: a step is a service, or one of its slices or endpoints, looked at. */
const MAX_STEPS = 600;

/** What `matchWildcard` found. */
export interface WildcardMatches {
  readonly services: readonly ZoneService[];
  /** Whether these are all: else a limit ended the search. */
  readonly isComplete: boolean;
}

const NOTHING: WildcardMatches = { services: [], isComplete: true };

/**
 * The services that match a name with the label `*` (kubernetes/dns pkg/dns/treecache: `*` matches any
 * label that does not begin with an underscore; as the first label it is dropped). Removes such a first
 * label from `name`. Directly below a namespace only its ExternalName services match. `hasPart` tests
 * whether a service has the host or port in the labels before its name. The search begins at a random
 * service, so that each can be found where a limit ends it.
 */
export function matchWildcard(
  zone: ClusterZone,
  name: ZoneName,
  hasPart: (service: ZoneService) => boolean,
  random: () => number,
): WildcardMatches {
  if (name.isWildcard(name.count - 1)) {
    name.dropFirst();
    // The rest must be a node of the tree: hosts, with or without a port, are leaves.
    if (name.count === 4 || name.count === 6) return NOTHING;
  }
  if (name.count < 2 || !(name.is(0, 'svc') || name.isWildcard(0))) return NOTHING;
  for (let i = 3; i < name.count; i++) {
    if (name.isWildcard(i)) return NOTHING;
  }
  // A host is searched for among the endpoints; anything else is a port of slices.
  const isOfHost = name.count === 6 || (name.count === 4 && !name.isService(3));
  const candidates = candidatesFor(zone, name);
  const first = Math.floor(random() * candidates.length);
  const services: ZoneService[] = [];
  for (let i = 0, steps = 0; i < candidates.length; i++) {
    if (steps >= MAX_STEPS || services.length === MAX_MATCHES)
      return { services, isComplete: false };
    const service = candidates[(first + i) % candidates.length];
    steps += 1 + (service?.slices.length ?? 0);
    if (service === undefined || !isMatch(service, name)) continue;
    if (isOfHost) steps += service.endpointCount;
    if (hasPart(service)) services.push(service);
  }
  return { services, isComplete: true };
}

function isMatch(entry: ZoneService, name: ZoneName): boolean {
  const { service } = entry;
  if (service === undefined) return false;
  if (name.count === 2) return service.kind === 'external-name';
  if (service.cname !== undefined) return name.count === 3;
  return !entry.isHeadless || entry.hasEndpoints();
}

/** The services among which those of a name are. */
function candidatesFor(zone: ClusterZone, name: ZoneName): readonly (ZoneService | undefined)[] {
  const areExternalNames = name.count === 2;
  const isAnyService = areExternalNames || name.isWildcard(2);
  if (name.isWildcard(1)) {
    if (areExternalNames) return zone.lists.externalNames;
    return isAnyService ? zone.lists.all : zone.lists.named(name.text(2));
  }
  const namespace = zone.namespaces.get(name.text(1));
  if (namespace === undefined) return [];
  if (areExternalNames) return namespace.externalNames;
  return isAnyService ? namespace.all : [namespace.services.get(name.text(2))];
}
