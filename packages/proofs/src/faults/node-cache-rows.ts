import { EXTENDED_ERROR } from '@kube-dns/wire';
import type { Fault } from './fault.js';
import { needsPort53 } from '@kube-dns/testkit';
import {
  breakConfig,
  changeResolvConf,
  clusterFails,
  kill,
  replace,
} from './node-cache-scenarios.js';
import { RESTARTED } from './process-testbed.js';
import { PAGE } from './page-signs.js';

const { STALE_ANSWER, NO_REACHABLE_AUTHORITY, NETWORK_ERROR, NOT_READY } = EXTENDED_ERROR;
const BACK_MS = 5_000;
const CLUSTER_METRICS =
  '`coredns_cache_served_stale_total`, `coredns_forward_healthcheck_broken_total` and `coredns_proxy_healthcheck_failures_total` of that server grow; `/ready` stays 200';

/** Faults around a node-cache, as pods of its node see them. */
export const NODE_CACHE_ROWS: readonly Fault[] = (
  [
    {
      id: 'node-cache-cluster-silent',
      shows: PAGE.serversAway,
      happens: 'The DNS of the cluster is silent; then it is back, and its answers have changed',
      clients:
        'Names of the cluster that were asked for before within 100 ms, as they were; SERVFAIL for its other names: within 2 s at first, then immediately; names of the world as before',
      duration: 'Until it is back, and up to a second more',
      limitMs: BACK_MS,
      reasons: [STALE_ANSWER, NO_REACHABLE_AUTHORITY],
      metrics: CLUSTER_METRICS,
      isCommandOnly: true,
      run: clusterFails('silent'),
    },
    {
      id: 'node-cache-cluster-gone',
      shows: PAGE.serversAway,
      happens:
        'No server listens on the port of the DNS of the cluster; then it is back, and its answers have changed',
      clients:
        'Names of the cluster that were asked for before, as they were; SERVFAIL immediately for its other names; names of the world as before',
      duration: 'Until it is back, and up to a second more',
      limitMs: BACK_MS,
      reasons: [STALE_ANSWER, NETWORK_ERROR],
      metrics: CLUSTER_METRICS,
      run: clusterFails('gone'),
    },
    {
      id: 'node-cache-killed',
      happens: 'node-cache, without rules of the node, ends by SIGKILL, and is started again',
      clients: 'Silence; afterwards right answers, with an empty cache',
      duration: RESTARTED,
      limitMs: 15_000,
      metrics: '`/health`, `/ready` and `/metrics` do not answer; the counters begin at 0',
      isCommandOnly: true,
      run: kill,
    },
    {
      id: 'node-cache-replaced',
      happens:
        'Another process with `--reuse-port` begins to answer, and the first one ends by SIGTERM',
      clients: 'Right answers',
      duration: 'Never',
      limitMs: 0,
      metrics:
        '`/ready` and `/metrics` are those of the second one, a second after the first one has ended at most; the counters begin at 0',
      run: replace,
    },
    {
      id: 'node-cache-config-broken',
      shows: PAGE.refused,
      happens:
        'The template has a directive that is not obeyed, then a good one comes; a key of the ConfigMap is no JSON, then a good one comes',
      clients: 'Right answers, by the last good ones',
      duration: 'Until a good one is written: it counts immediately',
      limitMs: BACK_MS,
      metrics:
        '`coredns_reload_failed_total` and `coredns_nodecache_setup_errors_total{errortype="configmap"}` grow by 1',
      run: breakConfig,
    },
    {
      id: 'node-cache-resolv-conf',
      shows: PAGE.noServersFile,
      happens: "The node's `resolv.conf` has no name server; then it has another one",
      clients:
        'SERVFAIL immediately for names of the world that are not in the cache; all others as before',
      duration: 'Until it has one, and up to a second more',
      limitMs: BACK_MS,
      reasons: [NOT_READY],
      metrics: '`/ready` stays 200: names of the cluster are answered',
      run: changeResolvConf,
    },
  ] satisfies readonly Fault[]
).map((row) => ({ ...row, skipReason: needsPort53 }));
