import { counter, gauge, histogram, type MetricFamily } from '@kube-dns/daemon';
import type { ServerBlock } from '../corefile/server-block.js';
import type { NodeCacheServer } from '../server.js';
import { zoneLabel } from './dns-families.js';

/** The metrics of coredns plugin/health and plugin/hosts, and which plugins are in use. */
export function pluginFamilies({ blocks, points, probe }: NodeCacheServer): MetricFamily[] {
  const hosts = () => blocks.all.flatMap(({ hosts: file }) => file ?? []);
  return [
    histogram(
      {
        name: 'coredns_health_request_duration_seconds',
        help: 'Time until this process answers its own probe, over DNS.',
      },
      () => [{ labels: {}, histogram: probe.seconds }],
    ),
    counter(
      {
        name: 'coredns_health_request_failures_total',
        help: 'Probes that this process did not answer in time.',
      },
      () => probe.failures,
    ),
    gauge(
      {
        name: 'coredns_plugin_enabled',
        help: 'The plugins of each zone.',
        labelNames: ['server', 'zone', 'view', 'name'],
      },
      () =>
        points.all.flatMap(({ label: server, zones }) =>
          zones.flatMap(({ zone, block }) =>
            pluginsOf(block.block).map((name) => ({
              labels: { server, zone: zoneLabel(zone), view: '', name },
              value: 1,
            })),
          ),
        ),
    ),
    gauge({ name: 'coredns_hosts_entries', help: 'Names and addresses of hosts files.' }, () =>
      hosts().reduce((sum, { size }) => sum + size, 0),
    ),
    gauge(
      {
        name: 'coredns_hosts_reload_timestamp_seconds',
        help: 'When a hosts file was read last.',
      },
      () => Math.max(0, ...hosts().map(({ readAtSeconds }) => readAtSeconds)),
    ),
  ];
}

function pluginsOf(block: ServerBlock): string[] {
  const {
    addresses,
    cache,
    detectsLoops,
    forward,
    health,
    hosts,
    log,
    logsErrors,
    metrics,
    ready,
  } = block;
  const plugins: Readonly<Record<string, boolean>> = {
    bind: addresses.length > 0,
    cache: cache !== undefined,
    errors: logsErrors,
    forward: forward !== undefined,
    health: health !== undefined,
    hosts: hosts !== undefined,
    log: log !== undefined,
    loop: detectsLoops,
    prometheus: metrics !== undefined,
    ready: ready !== undefined,
  };
  return Object.keys(plugins).filter((name) => plugins[name]);
}
