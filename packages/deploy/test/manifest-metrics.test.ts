import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { MANIFESTS } from '@kube-dns/testkit/manifests';
import { ALERTS, DASHBOARD, MONITORING } from './support/monitoring.js';
import { metricsOf } from './support/query-metrics.js';

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

describe('the alerts', () => {
  const expressionOf = (name: string) => ALERTS.find(({ alert }) => alert === name)?.expr ?? '';

  it('look at the share of SERVFAIL that clients get, and at restarts', () => {
    const share = 'sum by (pod) (rate(dnsmasq_answers_total{job="kube-dns"';
    const [part = '', all = ''] = expressionOf('KubeDnsClientsGetServfail').split('/');
    expect(part.trim()).toBe(`${share},rcode="SERVFAIL"}[5m]))`);
    expect(all.trim()).toBe(`${share}}[5m])) > 0.05`);
    expect(expressionOf('KubeDnsRestarts')).toMatch(/^changes\(process_start_time_seconds\{/);
  });

  it('are named once each, and say what is wrong and what to look at', () => {
    const names = ALERTS.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    for (const { annotations, labels } of ALERTS) {
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
      ALERTS.map(({ alert }) => alert),
    );
    for (const section of sections) expect(section.trim().split('\n').length).toBeGreaterThan(2);
  });

  it.each(ALERTS)('is where the runbook_url of $alert leads', ({ alert, annotations }) => {
    // The anchor that a heading has on GitHub and GitLab.
    expect(annotations.runbook_url).toBe(`${page}#${alert.toLowerCase()}`);
    expect(page).toMatch(/^https:.*\/manifests\/TROUBLESHOOTING\.md$/);
  });
});

describe('the dashboard', () => {
  it('has its panels beside one another, none over another', () => {
    const cells = DASHBOARD.panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      expect(x + w).toBeLessThanOrEqual(24);
      return Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`);
    });
    expect(new Set(cells).size).toBe(cells.length);
  });
});
