import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApiServer, type ApiServer } from '@kube-dns/apiserver';
import { parse } from 'yaml';
import { freePort, needsPrograms, outputOf, unless, untilEqual } from '@kube-dns/testkit';
import { findObject, MANIFESTS, render, renderText } from '@kube-dns/testkit/manifests';
import { DeployedPod } from './support/deployed-pod.js';
import { RunningNodeCache } from './support/running-node-cache.js';
import { exposedMetrics, metricsOf } from './support/query-metrics.js';

const MONITORING = join(MANIFESTS, 'components', 'monitoring');
const READY_MS = 45_000;

/** What Prometheus itself puts on every sample of a pod. */
const TARGET_LABELS = ['job', 'pod', 'instance', 'namespace', 'endpoint', 'service'];
/** What Prometheus itself makes of a scrape. */
const OF_PROMETHEUS = ['up'];

interface Rules {
  readonly spec: {
    readonly groups: readonly {
      readonly rules: readonly {
        readonly alert: string;
        readonly expr: string;
        readonly labels: Readonly<Record<string, string>>;
        readonly annotations: Readonly<Record<string, string>>;
      }[];
    }[];
  };
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly type: string;
    readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
  readonly templating: {
    readonly list: readonly { readonly query: string; readonly type: string }[];
  };
}

const alerts = (
  parse(readFileSync(join(MONITORING, 'alerts.yaml'), 'utf8')) as Rules
).spec.groups.flatMap(({ rules }) => rules);
const dashboard = JSON.parse(readFileSync(join(MONITORING, 'dashboard.json'), 'utf8')) as Dashboard;
const graphs = dashboard.panels.filter(({ type }) => type !== 'row');
const queries = graphs.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }) => ({ title, expr, legendFormat })),
);

describe('the reader of queries', () => {
  it('finds every metric with the labels that are asked of it', () => {
    const query =
      'sum by (pod, le) (rate(a_total{job="x",y=~"b{,c"}[5m])) / on (pod) max(b[$__rate_interval]) > 0.5 and c';
    expect(metricsOf(query)).toEqual([
      { name: 'a_total', labels: ['job', 'y', 'pod', 'le', 'pod'] },
      { name: 'b', labels: ['pod', 'le', 'pod'] },
      { name: 'c', labels: ['pod', 'le', 'pod'] },
    ]);
  });
});

const withPod = unless(needsPrograms('dig', 'kubectl'), describe);

withPod('the metrics of the containers of overlays/monitoring', () => {
  let server: ApiServer;
  let pod: DeployedPod;
  let known: Map<string, Set<string>>;
  let sidecarText: string;
  let cache: RunningNodeCache;

  beforeAll(async () => {
    const objects = render(join(MANIFESTS, 'overlays', 'monitoring'));
    pod = new DeployedPod(findObject(objects, 'Deployment', 'kube-dns'));
    server = await createApiServer();
    await pod.start(server.url);
    for (const path of ['/healthcheck/kubedns', '/healthcheck/dnsmasq']) {
      await untilEqual(200, () => pod.status(10054, path), { limitMs: READY_MS });
    }
    // Series with labels appear with their first count.
    const shows = async (port: number, pattern: RegExp) =>
      pattern.test(await pod.text(port, '/metrics'));
    const dig = (port: number, name: string) =>
      outputOf('dig', ['@127.0.0.1', '-p', String(pod.portFor(port)), name]);
    const nobody = `127.0.0.1:${await freePort()}`;
    pod.configure(
      'stubDomains',
      `{"gone.example":["${nobody}"],"tls.example":["tls://${nobody}"]}`,
    );
    await untilEqual(true, () => shows(10056, /^dnsmasq_config_generation 2$/m), {
      limitMs: READY_MS,
    });
    await dig(10053, 'nothing.default.svc.cluster.local');
    await dig(10053, 'www.example.com');
    await dig(53, 'www.gone.example');
    server.dropWatches();
    pod.configure('stubDomains', 'no JSON');
    await untilEqual(true, () => shows(10055, /^kubedns_watch_restarts_total\{/m), {
      limitMs: READY_MS,
    });
    // The sidecar has read the statistics since dnsmasq subscribed.
    await untilEqual(true, () => shows(10054, /^kubedns_dnsmasq_subscriptions_live 3$/m), {
      limitMs: READY_MS,
    });
    sidecarText = await pod.text(10054, '/metrics');
    const others = [10055, 10056].map((port) => pod.text(port, '/metrics'));
    cache = await RunningNodeCache.start(pod.portFor(53));
    await cache.ask('kubernetes.default.svc.cluster.local');
    await cache.ask('kubernetes.default.svc.cluster.local');
    const texts = [...(await Promise.all(others)), await cache.metrics()];
    known = exposedMetrics([sidecarText, ...texts].join('\n'));
  }, 2 * READY_MS);

  afterAll(async () => {
    await cache.close();
    await pod.close();
    await server.close();
  });

  /** The metrics and labels of a query that no container exposes. */
  function missingFrom(expr: string): string[] {
    return metricsOf(expr).flatMap(({ name, labels }) => {
      const own = known.get(name) ?? (OF_PROMETHEUS.includes(name) ? new Set<string>() : undefined);
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

  it.each(alerts)('are what the alert $alert asks for', ({ expr }) => {
    expect(metricsOf(expr).length).toBeGreaterThan(0);
    expect(missingFrom(expr)).toEqual([]);
  });

  it.each(queries)('are what the dashboard shows under $title: $expr', ({ expr, legendFormat }) => {
    expect(metricsOf(expr).length).toBeGreaterThan(0);
    expect(missingFrom(expr)).toEqual([]);
    const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? '');
    const labels = metricsOf(expr).flatMap((each) => [
      ...(known.get(each.name) ?? []),
      ...TARGET_LABELS,
    ]);
    expect(labels).toEqual(expect.arrayContaining(named));
  });

  it('are what the variables of the dashboard are filled from', () => {
    const filled = dashboard.templating.list.filter(({ type }) => type === 'query');
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
      expect(Math.abs(Date.now() / 1000 - Number(start))).toBeLessThan(600);
    }
  });

  it('have the types that prometheus-to-sd exports, for every name on its list', () => {
    const file = join(MANIFESTS, 'components', 'gke-like', 'prometheus-to-sd.yaml');
    const [, list = ''] = /\?whitelisted=(\S+)/.exec(readFileSync(file, 'utf8')) ?? [];
    const names = list.split(',');
    expect(names.length).toBeGreaterThanOrEqual(4);
    for (const name of names) {
      expect(sidecarText).toMatch(new RegExp(`^# TYPE kubedns_${name} (counter|histogram)$`, 'm'));
    }
  });
});

describe('the alerts', () => {
  const expressionOf = (name: string) => alerts.find(({ alert }) => alert === name)?.expr ?? '';

  it('look at the share of SERVFAIL that clients get, and at restarts', () => {
    const share = 'sum by (pod) (rate(dnsmasq_answers_total{job="kube-dns"';
    const [part = '', all = ''] = expressionOf('KubeDnsClientsGetServfail').split('/');
    expect(part.trim()).toBe(`${share},rcode="SERVFAIL"}[5m]))`);
    expect(all.trim()).toBe(`${share}}[5m])) > 0.05`);
    expect(expressionOf('KubeDnsRestarts')).toMatch(/^changes\(process_start_time_seconds\{/);
  });

  it('are named once each, and say what is wrong and what to look at', () => {
    const names = alerts.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    for (const { annotations, labels } of alerts) {
      expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook_url']);
      expect(['critical', 'warning']).toContain(labels.severity);
    }
  });
});

describe('the runbook of an alert', () => {
  const text = readFileSync(join(MANIFESTS, 'TROUBLESHOOTING.md'), 'utf8');
  const [, ...sections] = text.slice(text.indexOf('## Alerts')).split(/^### /m);
  const page = /^ {2}page: (\S+)$/m.exec(
    readFileSync(join(MONITORING, 'runbooks.yaml'), 'utf8'),
  )?.[1];

  it('is a paragraph of TROUBLESHOOTING.md, one for each alert', () => {
    expect(sections.map((section) => section.split('\n', 1)[0])).toEqual(
      alerts.map(({ alert }) => alert),
    );
    for (const section of sections) expect(section.trim().split('\n').length).toBeGreaterThan(2);
  });

  it.each(alerts)('is where the runbook_url of $alert leads', ({ alert, annotations }) => {
    // The anchor that a heading has on GitHub and GitLab.
    expect(annotations.runbook_url).toBe(`${page}#${alert.toLowerCase()}`);
    expect(page).toMatch(/^https:.*\/manifests\/TROUBLESHOOTING\.md$/);
  });

  unless(needsPrograms('kubectl'), it)('is on the page that runbooks.yaml names', () => {
    const folder = mkdtempSync(join(tmpdir(), 'kube-dns-runbooks-'));
    try {
      cpSync(MANIFESTS, folder, { recursive: true });
      const file = join(folder, 'components', 'monitoring', 'runbooks.yaml');
      writeFileSync(file, readFileSync(file, 'utf8').replace(page ?? '', 'https://wiki.test/dns'));
      const rendered = renderText(join(folder, 'overlays', 'monitoring'));
      const urls = [...rendered.matchAll(/runbook_url: (.*)#/g)].map(([, url]) => url);
      expect(urls).toEqual(alerts.map(() => 'https://wiki.test/dns'));
      expect(rendered).not.toContain('name: runbooks');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the dashboard', () => {
  it('has its panels beside one another, none over another', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      expect(x + w).toBeLessThanOrEqual(24);
      return Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`);
    });
    expect(new Set(cells).size).toBe(cells.length);
  });
});
