import { describe, expect, it } from '@jest/globals';
import { plotSvg } from './soak-plot.js';

function plot(...values: number[]): string {
  const points = values.map((value, i) => [i, value] as const);
  return plotSvg([{ title: 'a < b', lines: [{ name: 'line', points }] }], {
    title: 'plot',
    axis: 'minutes',
  });
}

describe('a plot', () => {
  it('has its lines, names and ticks, and escapes text', () => {
    const svg = plot(0, 40, 20);
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    expect(svg).toContain('a &lt; b');
    expect(svg).toContain('>50</text>');
    expect(svg).toMatch(/<path d="M60.0 265.0L425.0 105.0L790.0 185.0"/);
  });

  it('leaves out what could not be measured', () => {
    expect(plot(1, Number.NaN, 1)).not.toContain('NaN');
    expect(plot()).toContain('</svg>');
  });

  it('has few points, and all peaks', () => {
    const values = Array.from({ length: 50_000 }, (_, i) => (i === 31_415 ? 10 : 1));
    const svg = plot(...values);
    expect(svg.length).toBeLessThan(20_000);
    expect(svg).toContain(' 65.0');
  });
});
