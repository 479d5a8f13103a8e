import { counter, gauge, info, type MetricFamily, type ProgramFacts } from '@kube-dns/daemon';
import type { NetworkState } from '../network/network-setup.js';
import type { SetupErrors } from '../network/node-rules.js';
import type { NodeCacheServer } from '../server.js';
import { cacheFamilies } from './cache-families.js';
import { dnsFamilies } from './dns-families.js';
import { forwardFamilies } from './forward-families.js';
import { type Telemetry, telemetryFamilies } from '@kube-dns/telemetry';
import { pluginFamilies } from './plugin-families.js';
import { TELEMETRY_METRICS } from './telemetry-metrics.js';

export interface MetricSources {
  readonly server: NodeCacheServer;
  readonly telemetry: Telemetry;
  readonly facts: ProgramFacts;
  /** Failures of the set-up of the network, and ConfigMaps that could not be read. */
  readonly setupErrors: () => SetupErrors & { readonly configmap: number };
  readonly network: () => NetworkState;
  /** Corefiles that were refused while another one was obeyed. */
  readonly refusedCorefiles: () => number;
}

/** The metrics of the original's node-cache and its plugins under their names and labels, then our own. */
export function metricFamilies(sources: MetricSources): MetricFamily[] {
  const { server, telemetry, facts, setupErrors, network, refusedCorefiles } = sources;
  return [
    counter(
      {
        name: 'coredns_nodecache_setup_errors_total',
        help: 'Failures of the set-up of interface, rules and configuration, by what failed.',
        labelNames: ['errortype'],
      },
      () =>
        Object.entries(setupErrors()).map(([errortype, value]) => ({
          labels: { errortype },
          value: value as number,
        })),
    ),
    ...dnsFamilies(() => server.points.all),
    ...cacheFamilies(() => server.points.all),
    ...forwardFamilies(server),
    ...pluginFamilies(server),
    ...telemetryFamilies(TELEMETRY_METRICS, () => telemetry),
    counter(
      { name: 'coredns_reload_failed_total', help: 'Corefiles that were refused.' },
      refusedCorefiles,
    ),
    counter(
      {
        name: 'coredns_panics_total',
        help: 'Uncaught errors; each is logged, and none ends the process.',
      },
      facts.unexpectedErrors,
    ),
    info(
      {
        name: 'coredns_build_info',
        help: 'The version of the program.',
        labelNames: ['version', 'revision', 'goversion'],
      },
      () => ({ version: facts.version, revision: '', goversion: '' }),
    ),
    gauge(
      {
        name: 'nodecache_rules_active',
        help: 'Whether the rules of the node lead to this process.',
        labelNames: ['tool'],
      },
      () => {
        const { tool = 'none', hasRules } = network();
        return [{ labels: { tool }, value: Number(hasRules) }];
      },
    ),
  ];
}
