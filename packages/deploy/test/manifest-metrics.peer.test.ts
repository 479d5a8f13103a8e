import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { ask, freePort, needsPrograms, NodeCache, unless, untilEqual } from '@kube-dns/testkit';
import { findObject, MANIFESTS } from '@kube-dns/testkit/manifests';
import { DeployedPod } from './support/deployed-pod.js';
import { kustomized } from './support/kustomized.js';
import { ALERTS, DASHBOARD, QUERIES } from './support/monitoring.js';
import { exposedMetrics, metricsOf } from './support/query-metrics.js';

/** How long a client waits for an answer. */
const ANSWER_MS = 60_000;
const KUBERNETES = 'kubernetes.default.svc.cluster.local';
/** What Prometheus itself puts on every sample of a pod. */
const TARGET_LABELS = ['job', 'pod', 'instance', 'namespace', 'endpoint', 'service'];
/** Whose change the caches are notified of. */
const NEW_SERVICE = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'new', namespace: 'default' },
  spec: { clusterIP: '10.96.7.7', ports: [{ port: 80 }] },
};
/** The kernel counts the start of a process from a time of boot in whole seconds. */
const CLOCK_STEP_SECONDS = 2;
/** What Prometheus itself makes of a scrape. */
const OF_PROMETHEUS = ['up'];

unless(needsPrograms('kubectl'), describe)(
  'the metrics of the containers of overlays/monitoring',
  () => {
    let server: ApiServer;
    let beforeSeconds: number;
    let pod: DeployedPod;
    let known: Map<string, Set<string>>;
    let sidecarText: string;
    let cache: NodeCache;

    beforeAll(async () => {
      const objects = kustomized('overlays/monitoring');
      pod = new DeployedPod(findObject(objects, 'Deployment', 'kube-dns'));
      server = await createApiServer();
      beforeSeconds = Date.now() / 1_000;
      await pod.start(server.url);
      for (const path of ['/healthcheck/kubedns', '/healthcheck/dnsmasq']) {
        await untilEqual(200, () => pod.status(10054, path));
      }
      // Series with labels appear with their first count.
      const shows = async (port: number, pattern: RegExp) =>
        pattern.test(await pod.text(port, '/metrics'));
      const nobody = `127.0.0.1:${await freePort()}`;
      pod.configure(
        'stubDomains',
        `{"gone.example":["${nobody}"],"tls.example":["tls://${nobody}"]}`,
      );
      await untilEqual(true, () => shows(10056, /^dnsmasq_config_generation 2$/m));
      await pod.resolve(10053, 'nothing.default.svc.cluster.local');
      await pod.resolve(10053, 'www.example.com');
      await pod.resolve(53, 'www.gone.example');
      server.dropWatches();
      pod.configure('stubDomains', 'no JSON');
      await untilEqual(true, () => shows(10055, /^kubedns_watch_restarts_total\{/m));
      // The sidecar has read the statistics since dnsmasq subscribed.
      await untilEqual(true, () => shows(10054, /^kubedns_dnsmasq_subscriptions_live 3$/m));
      sidecarText = await pod.text(10054, '/metrics');
      cache = await NodeCache.create();
      const { dns, metrics } = cache.ports;
      const port = pod.portFor(53);
      const plugins = `bind 127.0.0.1\nforward . 127.0.0.1:${port}\ncache 30`;
      const blocks = ['.', 'cluster.local'].map(
        (zone) => `${zone}:${dns} {\n${plugins}\nprometheus 127.0.0.1:${metrics}\n}\n`,
      );
      await cache.putTemplate(blocks.join(''));
      await cache.start({
        flags: ['-kubednscm=/nowhere', '-upstreamsvc=cluster-dns'],
        env: { CLUSTER_DNS_SERVICE_HOST: '127.0.0.1', CLUSTER_DNS_SERVICE_PORT: `${port}` },
      });
      const textOfCache = async () => (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
      const cacheShows = async (pattern: RegExp) => pattern.test(await textOfCache());
      await untilEqual(true, () =>
        cacheShows(/^nodecache_subscription_live\{.*zone="cluster.local"\} 1$/m),
      );
      await server.apply([NEW_SERVICE]);
      const isNotified = /_subscription_change_age_seconds\{/;
      await untilEqual(true, () => cacheShows(isNotified));
      await untilEqual(true, () => shows(10056, isNotified));
      for (const name of [KUBERNETES, KUBERNETES]) await ask(dns, name, { limitMs: ANSWER_MS });
      const others = [10055, 10056].map((each) => pod.text(each, '/metrics'));
      const ofCache = await textOfCache();
      const texts = [...(await Promise.all(others)), ofCache];
      known = exposedMetrics([sidecarText, ...texts].join('\n'));
    });

    afterAll(async () => {
      await cache.close();
      await pod.close();
      await server.close();
    });

    /** The metrics and labels of a query that no container exposes. */
    function missingFrom(expr: string): string[] {
      return metricsOf(expr).flatMap(({ name, labels }) => {
        const own =
          known.get(name) ?? (OF_PROMETHEUS.includes(name) ? new Set<string>() : undefined);
        if (own === undefined) return [name];
        return labels
          .filter((label) => !own.has(label) && !TARGET_LABELS.includes(label))
          .map((label) => `${name}{${label}}`);
      });
    }

    it('lack one that does not exist', () => {
      expect(missingFrom('rate(kubedns_dnsmasq_hit[5m])')).toEqual(['kubedns_dnsmasq_hit']);
      expect(missingFrom('kubedns_records{kind="A"}')).toEqual(['kubedns_records{kind}']);
    });

    it.each(ALERTS)('are what the alert $alert asks for', ({ expr }) => {
      expect(metricsOf(expr).length).toBeGreaterThan(0);
      expect(missingFrom(expr)).toEqual([]);
    });

    it.each(QUERIES)(
      'are what the dashboard shows under $title: $expr',
      ({ expr, legendFormat }) => {
        expect(metricsOf(expr).length).toBeGreaterThan(0);
        expect(missingFrom(expr)).toEqual([]);
        const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? '');
        const labels = metricsOf(expr).flatMap((each) => [
          ...(known.get(each.name) ?? []),
          ...TARGET_LABELS,
        ]);
        expect(labels).toEqual(expect.arrayContaining(named));
      },
    );

    it('are what the variables of the dashboard are filled from', () => {
      const filled = DASHBOARD.templating.list.filter(({ type }) => type === 'query');
      expect(filled.length).toBeGreaterThan(0);
      for (const { query } of filled) {
        const [, metric = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
        expect([query, ...missingFrom(metric)]).toEqual([query]);
        expect(TARGET_LABELS).toContain(label);
      }
    });

    it('say of each container when it started', async () => {
      for (const port of [10054, 10055, 10056]) {
        const start = /^process_start_time_seconds (\S+)$/m.exec(
          await pod.text(port, '/metrics'),
        )?.[1];
        expect(Number(start)).toBeGreaterThan(beforeSeconds - CLOCK_STEP_SECONDS);
        expect(Number(start)).toBeLessThan(Date.now() / 1_000 + CLOCK_STEP_SECONDS);
      }
    });

    it('have the types that prometheus-to-sd exports, for every name on its list', () => {
      const file = join(MANIFESTS, 'components', 'gke-like', 'prometheus-to-sd.yaml');
      const [, list = ''] = /\?whitelisted=(\S+)/.exec(readFileSync(file, 'utf8')) ?? [];
      const names = list.split(',');
      expect(names.length).toBeGreaterThanOrEqual(4);
      for (const name of names) {
        expect(sidecarText).toMatch(
          new RegExp(`^# TYPE kubedns_${name} (counter|histogram)$`, 'm'),
        );
      }
    });
  },
);
