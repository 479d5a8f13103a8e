import type { MetricFamily } from '@kube-dns/daemon';
import type { ClusterWatch } from '../cluster/cluster-watch.js';
import type { KubednsFlags } from '../config/flags.js';
import type { Upstreams } from '../config/upstreams.js';
import type { ClusterZone } from '../zone/cluster-zone.js';
import { corednsFamilies } from './coredns-families.js';
import { metricFamilies, type MetricSources } from './metric-families.js';

/** What the metrics say of the program, and the prefix of the names of skydns. */
export type MetricsAbout = Pick<
  MetricSources,
  'prefix' | 'version' | 'isReady' | 'unexpectedErrors'
>;

/** The parts of kubedns that its metrics read. */
export type MeteredParts = Omit<
  MetricSources,
  keyof MetricsAbout | 'zoneCounts' | 'watches' | 'stubServers'
> & {
  readonly flags: Pick<KubednsFlags, 'coredns-metrics' | 'domain' | 'dns-port'>;
  readonly zone: ClusterZone;
  readonly watch: Pick<ClusterWatch, 'statistics'>;
  readonly servers: Pick<Upstreams, 'stubServers'>;
};

/** Every metric, with `--coredns-metrics` also under the names of CoreDNS. */
export function allFamilies(parts: MeteredParts, about: MetricsAbout): MetricFamily[] {
  const { flags, zone, watch, servers, statistics } = parts;
  const own = metricFamilies({
    ...parts,
    ...about,
    zoneCounts: () => zone.countRecords(),
    watches: () => watch.statistics,
    stubServers: () => servers.stubServers(),
  });
  if (!flags['coredns-metrics']) return own;
  const { domain, 'dns-port': port } = flags;
  return [...own, ...corednsFamilies(own, { statistics, domain, port })];
}
