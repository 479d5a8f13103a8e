import { describe, expect, it } from '@jest/globals';

import { BucketHistogram, labelled, type LabelledValue, metricPrefix } from './metric-family.js';
import { metricsHandler, renderFamilies } from './exposition.js';
import { processFamilies } from './process-families.js';

const { counter, gauge, histogram } = metricPrefix('sample');

describe('a metric family', () => {
  it('shows the current value at each scrape', async () => {
    let hits = 0;
    const families = [counter('hits', 'Hits.', () => hits), gauge('level', 'Level.', () => -hits)];
    const text = (value: number) =>
      `# HELP sample_hits Hits.\n# TYPE sample_hits counter\nsample_hits ${value}\n` +
      `# HELP sample_level Level.\n# TYPE sample_level gauge\nsample_level ${-value}\n`;
    expect(await renderFamilies(families)).toBe(text(0));
    hits = 3;
    expect(await renderFamilies(families)).toBe(text(3));
  });

  it('shows the labels that exist at the time of the scrape, and no others', async () => {
    let codes = ['a', 'b"\n\\'];
    const values = labelled(['code'], () =>
      codes.map((code, index) => ({ labels: { code }, value: index + 1 })),
    );
    const family = counter('codes', 'S.', values);
    expect(await renderFamilies([family])).toContain(
      'sample_codes{code="a"} 1\nsample_codes{code="b\\"\\n\\\\"} 2\n',
    );
    codes = ['c'];
    expect(await renderFamilies([family])).toBe(
      '# HELP sample_codes S.\n# TYPE sample_codes counter\nsample_codes{code="c"} 1\n',
    );
  });

  it.each([
    ['gauge', gauge],
    ['counter', counter],
  ] as const)('prints no sample of a %s without labels that has no value', async (type, create) => {
    let values: LabelledValue[] = [];
    const family = create('level', 'S.', () => values);
    const head = `# HELP sample_level S.\n# TYPE sample_level ${type}\n`;
    expect(await renderFamilies([family])).toBe(head);
    values = [{ labels: {}, value: 2 }];
    expect(await renderFamilies([family])).toBe(`${head}sample_level 2\n`);
  });

  it('renders a histogram with cumulative buckets, sum and count', async () => {
    const times = new BucketHistogram([0.25, 1]);
    for (const value of [0.1, 0.5, 7]) times.observe(value);
    const histograms = labelled(['way'], () => [{ labels: { way: 'udp' }, histogram: times }]);
    const family = histogram('ms', 'Time.', histograms);
    expect(await renderFamilies([family])).toBe(
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

  it('is collected once for all requests that come together', async () => {
    let collected = 0;
    const handle = metricsHandler([gauge('level', 'S.', () => ++collected)]);
    const pages = Array.from({ length: 3 }, () => {
      return new Promise((send) => {
        const request = { socket: { destroyed: false }, acceptsEncodings: () => false };
        const response = { set: () => response, send };
        void handle(request as never, response as never, () => undefined);
      });
    });
    for (const page of await Promise.all(pages)) {
      expect(String(page)).toContain('\nsample_level 1\n');
    }
    expect(collected).toBe(1);
  });

  it('refuses a duplicate name', () => {
    const family = gauge('level', 'S.', () => 0);
    expect(() => metricsHandler([family, family])).toThrow('already been registered');
  });
});

describe('the families of the process', () => {
  it('are those that scrapers need, with plausible values', async () => {
    const text = await renderFamilies(processFamilies());
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

  it('are sorted by name', async () => {
    const text = await renderFamilies(processFamilies());
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]);
    expect(names.length).toBeGreaterThan(3);
    expect(names).toEqual([...names].sort());
  });
});
