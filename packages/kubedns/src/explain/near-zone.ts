import type { ClusterZone } from '../zone/cluster-zone.js';
import { nameText } from './words.js';

/** What may follow `svc` in the domain of another cluster, or where a name was cut. */
const CLUSTER_DOMAINS: ReadonlySet<string> = new Set(['', 'cluster', 'cluster.local', 'local']);

/**
 * The name of the zone that a name outside of it was most likely meant to be: that of a service without its end, or with
 * the domain of another cluster. Undefined when there is none.
 */
export function nearZone(name: string, zone: ClusterZone): string | undefined {
  const apex = nameText(zone.apex);
  const labels = name.split('.');
  const [service = '', namespace = ''] = labels;
  if (labels.length === 2) {
    const found = zone.namespaces.get(namespace)?.services.get(service)?.service;
    return found === undefined ? undefined : `${name}.svc.${apex}.`;
  }
  const at = labels.lastIndexOf('svc');
  if (at < 2 || !CLUSTER_DOMAINS.has(labels.slice(at + 1).join('.'))) return undefined;
  return `${labels.slice(0, at + 1).join('.')}.${apex}.`;
}
