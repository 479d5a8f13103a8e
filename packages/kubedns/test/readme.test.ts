import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createApiServer } from '@kube-dns/apiserver';
import type { MetricDescription } from '@kube-dns/daemon';
import { endPrograms } from '@kube-dns/testkit';
import { KUBEDNS_FLAGS } from '../src/config/flags.js';
import {
  LISTENER_METRICS,
  OWN_METRICS,
  SKYDNS_METRICS,
  UPSTREAM_METRICS,
} from '../src/metrics/metric-table.js';
import { TELEMETRY_METRICS } from '../src/metrics/telemetry-metrics.js';
import { KubednsProcess } from './support/kubedns-process.js';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

afterEach(endPrograms);

describe('the README', () => {
  it('has every flag with its default', () => {
    const table = README.slice(README.indexOf('## Flags'), README.indexOf('## HTTP'));
    const rows = [...table.matchAll(/^\| `--([a-z-]+)` +\| (?:`(.*?)`)? *\|/gm)];
    const defined = Object.entries(KUBEDNS_FLAGS).map(([name, flag]) => {
      const text = flag.formatDefault?.(flag.initial as never) ?? '';
      return [name, text.replaceAll('"', '')];
    });
    expect(rows.map(([, name, text]) => [name, text ?? ''])).toEqual(defined);
  });

  it('has every metric with its labels', () => {
    const rows = [
      ...README.matchAll(/^\| `(\w+_\w+)` +\| (?:counter|gauge|histogram) +\| (.*?)\|/gm),
    ];
    const shown = rows.map(([, name, labels]) => [name, labels!.match(/\w+/g)?.sort() ?? []]);
    const skydns = Object.values(SKYDNS_METRICS).map((each) => ({
      ...each,
      name: `skydns_skydns_${each.name}`,
    }));
    const own: MetricDescription[] = [
      ...Object.values(OWN_METRICS),
      ...Object.values(UPSTREAM_METRICS),
      ...Object.values(LISTENER_METRICS),
      ...Object.values(TELEMETRY_METRICS),
    ];
    const defined = [...skydns, ...own].map((metric) => [
      metric.name,
      [...(metric.labelNames ?? [])].sort(),
    ]);
    expect(shown).toEqual(defined);
  });

  it('has an example that works', async () => {
    const args = /^npx kubedns (.*) &$/m.exec(README)![1]!.split(' ');
    const [, name, answer] = /^dig .* (\S+)\n# (.*)$/m.exec(README)!;
    const api = await createApiServer();
    try {
      // The same line, but for ports that may be taken.
      const free = ['--dns-bind-address=127.0.0.1', '--dns-port=0', '--healthz-port=0'];
      const url = `--kube-master-url=${api.url}`;
      const kubedns = await new KubednsProcess([...args, ...free, url]).ready();
      expect((await kubedns.ask(name!, 'A')).answers).toEqual([`${name} A ${answer}`]);
    } finally {
      await endPrograms();
      await api.close();
    }
  });
});
