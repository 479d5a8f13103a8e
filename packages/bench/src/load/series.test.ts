import { describe, expect, it } from '@jest/globals';
import { type Machine, Report } from '@kube-dns/testkit';
import { Series } from './series.js';

describe('a series of runs', () => {
  it('has medians, and compares the median or the worst run with a bar', () => {
    const report = new Report('x', {} as Machine, {});
    const series = new Series();
    for (const value of [0, 0, 1]) {
      series.add('unanswered', value, { unit: '', judged: 'max', bar: { atMost: 0 } });
      series.add('memory', 19 + value, { unit: 'MiB', digits: 1, bar: { atMost: 19 } });
      series.add('pace', 5, { unit: 'queries/s' });
    }
    series.addTo(report, 'part');
    expect(report.missed.map(({ name, value }) => [name, value])).toEqual([['unanswered', 1]]);
    const text = report.toMarkdown().replaceAll(/ +/g, ' ');
    expect(text).toContain('| unanswered | 0 (0…1) | |');
    expect(text).toContain('| memory | 19.0 (19.0…20.0) | MiB |');
    expect(text).toContain('| pace | 5 | queries/s |');
    expect(text).not.toContain('| pace | 5 queries/s |');
  });
});
