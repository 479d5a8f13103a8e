import { isDnsLabel } from '@kube-dns/daemon';
import { MAX_NAME_BYTES, prependLabels } from '@kube-dns/wire';
import type { ClusterZone } from '../zone/cluster-zone.js';
import type { ZoneName } from '../zone/zone-name.js';
import type { Federations } from './federations.js';

/** Labels before the apex of a federated name: service, namespace, federation, `svc`. */
const FEDERATED_LABELS = 4;

/**
 * The CNAME target of a federated name (kubernetes/dns pkg/dns/dns.go, federationRecords): this cluster's
 * service when it has endpoints, else the federation's name for it with the zone and region of this cluster.
 * `undefined` when the name is not federated; `null` while zone and region are unknown.
 */
export function federatedTarget(
  federations: Pick<Federations, 'isActive' | 'find' | 'locality'>,
  name: ZoneName,
  zone: ClusterZone,
): Uint8Array | null | undefined {
  if (!federations.isActive || name.count !== FEDERATED_LABELS) return undefined;
  const at = name.startOf(1);
  const federation = federations.find(name.bytes, at + 1, at + 1 + name.bytes[at]!);
  if (federation === undefined) return undefined;
  const labels = [name.text(3), name.text(2)];
  if (!labels.every(isDnsLabel)) return undefined;
  const local = prependLabels(labels, zone.services);
  const service = zone.findService(local, 0, local.length);
  if (service?.service?.kind === 'external-name' || service?.hasEndpoints()) return local;
  const { locality } = federations;
  if (locality === undefined) return null;
  const place = ['svc', locality.zone, locality.region];
  const more = [...labels, federation.name, ...place].join('.').length + 1;
  // A name of this length cannot exist.
  if (more + federation.domainWire.length > MAX_NAME_BYTES) return undefined;
  return prependLabels([...labels, federation.name, ...place], federation.domainWire);
}
