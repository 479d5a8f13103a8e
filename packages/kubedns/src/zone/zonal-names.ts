import type { ZoneName } from './zone-names.js';
import type { ZoneService } from './zone-service.js';

/**
 * Names of the endpoints of a headless service in one zone of the cloud (coredns#8388, plugin `kubernetes`, option
 * `zonal`): `ZONE.pin._zone.S.N.svc.<domain>`, and `ZONE.prefer._zone.…`, which are those of all zones where that zone has
 * none. ZONE may have dots. It is the `zone` of an endpoint, not that of its hints, which come and go.
 */
export const ZONAL_LABEL = '_zone';
/** What is to be done where a zone has no endpoint: `pin` has no records then. */
export const ZONAL_DIRECTIVES = ['pin', 'prefer'] as const;

const DOT = 0x2e;

/** Whether the labels below a service are those of a zonal name, or of one above zonal names, which exists without records. */
export function isZonal(name: ZoneName, serviceLabels: number): boolean {
  if (name.count <= serviceLabels || !name.is(serviceLabels, ZONAL_LABEL)) return false;
  const directive = serviceLabels + 1;
  return name.count === directive || ZONAL_DIRECTIVES.some((text) => name.is(directive, text));
}

/** The zone of a service's endpoints that the labels up to `end` name; undefined where none of these is there. */
export function findZone(service: ZoneService, name: Uint8Array, end: number): string | undefined {
  for (const { groups } of service.slices) {
    for (const { zone } of groups) {
      if (zone !== undefined && isZone(zone, name, end)) return zone;
    }
  }
  return undefined;
}

/** Whether the labels of a lower-cased name up to `end` are this zone: each of its dots is between two of them. */
function isZone(zone: string, name: Uint8Array, end: number): boolean {
  if (zone.length !== end - 1) return false;
  for (let at = 0; at < end;) {
    const next = at + 1 + name[at]!;
    for (let i = at + 1; i < next; i++) {
      if (name[i] === DOT || zone.charCodeAt(i - 1) !== name[i]) return false;
    }
    if (next < end && zone.charCodeAt(next - 1) !== DOT) return false;
    at = next;
  }
  return true;
}
