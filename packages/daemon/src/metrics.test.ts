import { describe, expect, it } from '@jest/globals';

import { BucketHistogram } from './bucket-histogram.js';
import { createRegistry, renderMetrics } from './metrics.js';
import { observedCounter, observedGauge, observedHistogram } from './observed-metrics.js';

describe('an observed metric', () => {
  it('shows the value that its owner has at the time of each scrape', async () => {
    const registry = createRegistry({ runtime: false });
    let hits = 0;
    observedCounter(registry, { name: 'sample_hits', help: 'Hits.' }, () => hits);
    observedGauge(registry, { name: 'sample_level', help: 'Level.' }, () => -hits);
    const text = (value: number) =>
      `# HELP sample_hits Hits.\n# TYPE sample_hits counter\nsample_hits ${value}\n` +
      `# HELP sample_level Level.\n# TYPE sample_level gauge\nsample_level ${-value}\n`;
    expect(await renderMetrics(registry)).toBe(text(0));
    hits = 3;
    expect(await renderMetrics(registry)).toBe(text(3));
  });

  it('shows the labels that exist at the time of the scrape, and no others', async () => {
    const registry = createRegistry({ runtime: false });
    let codes = ['a', 'b"\n\\'];
    observedCounter(registry, { name: 'sample', help: 'S.', labelNames: ['code'] }, () =>
      codes.map((code, index) => ({ labels: { code }, value: index + 1 })),
    );
    expect(await renderMetrics(registry)).toContain(
      'sample{code="a"} 1\nsample{code="b\\"\\n\\\\"} 2\n',
    );
    codes = ['c'];
    expect(await renderMetrics(registry)).toBe(
      '# HELP sample S.\n# TYPE sample counter\nsample{code="c"} 1\n',
    );
  });

  it('renders a histogram with cumulative buckets, sum and count', async () => {
    const registry = createRegistry({ runtime: false });
    const histogram = new BucketHistogram([0.25, 1]);
    for (const value of [0.1, 0.5, 7]) histogram.observe(value);
    observedHistogram(registry, { name: 'sample_ms', help: 'Time.' }, () => [
      { labels: { way: 'udp' }, histogram },
    ]);
    expect(await renderMetrics(registry)).toBe(
      [
        '# HELP sample_ms Time.',
        '# TYPE sample_ms histogram',
        'sample_ms_bucket{way="udp",le="0.25"} 1',
        'sample_ms_bucket{way="udp",le="1"} 2',
        'sample_ms_bucket{way="udp",le="+Inf"} 3',
        'sample_ms_sum{way="udp"} 7.6',
        'sample_ms_count{way="udp"} 3',
        '',
      ].join('\n'),
    );
  });

  it('refuses a name that is taken', () => {
    const registry = createRegistry({ runtime: false });
    const add = () => observedGauge(registry, { name: 'sample', help: 'S.' }, () => 0);
    add();
    expect(add).toThrow('already been registered');
  });
});

describe('createRegistry', () => {
  it('has the process metrics that scrapers need, with true values', async () => {
    const text = await renderMetrics(createRegistry());
    const value = (name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
    expect(value('process_start_time_seconds')).toBeCloseTo(
      Date.now() / 1_000 - process.uptime(),
      0,
    );
    expect(value('process_cpu_seconds_total')).toBeGreaterThan(0);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6);
    if (process.platform === 'linux') {
      const resident = value('process_resident_memory_bytes');
      expect(value('process_virtual_memory_bytes')).toBeGreaterThan(resident);
      expect(value('process_virtual_memory_max_bytes')).toBeGreaterThan(resident);
      expect(value('process_max_fds')).toBeGreaterThanOrEqual(value('process_open_fds'));
      expect(value('process_network_receive_bytes_total')).toBeGreaterThanOrEqual(0);
      expect(value('process_network_transmit_bytes_total')).toBeGreaterThanOrEqual(0);
    }
    expect(text).toContain('# TYPE process_start_time_seconds gauge\n');
  });

  it('sorts the families by name', async () => {
    const text = await renderMetrics(createRegistry());
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]);
    expect(names.length).toBeGreaterThan(3);
    expect(names).toEqual([...names].sort());
  });
});
