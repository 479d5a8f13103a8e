import { countOf, type PackedAddresses } from '../watch/projections.js';
import type { ClusterZone } from './cluster-zone.js';
import type { ZoneService } from './zone-service.js';

export type RecordCounts = Record<'A' | 'AAAA' | 'CNAME' | 'SRV' | 'PTR', number>;

/**
 * The number of records of services by type. An endpoint that is in two slices counts twice, so one pass
 * over the slices is enough. Records of single hosts are not counted.
 */
export function countRecords(zone: ClusterZone): RecordCounts {
  const counts = { A: 0, AAAA: 0, CNAME: 0, SRV: 0, PTR: zone.addressCount };
  for (const { services } of zone.namespaces.values()) {
    for (const service of services.values()) count(service, counts);
  }
  return counts;
}

function count(entry: ZoneService, counts: RecordCounts): void {
  const { service } = entry;
  if (service === undefined) return;
  if (service.cname !== undefined) {
    counts.CNAME++;
    return;
  }
  if (!entry.isHeadless) {
    countAddresses(service.ipv4, counts);
    countAddresses(service.ipv6, counts);
    counts.SRV += service.ports.ports.filter(({ name }) => name !== '').length;
    return;
  }
  for (const { groups } of entry.slices) {
    for (const group of groups) {
      countAddresses(group, counts);
      counts.SRV += group.ports.ports.filter(({ name }) => name !== '').length * countOf(group);
    }
  }
}

function countAddresses(addresses: PackedAddresses, counts: RecordCounts): void {
  counts[addresses.size === 4 ? 'A' : 'AAAA'] += countOf(addresses);
}
