import { describe, expect, it } from '@jest/globals';
import { BucketHistogram, type MetricFamily, renamedFamilies } from './metric-family.js';

const plain: MetricFamily = { name: 'a', help: 'A.', type: 'gauge', collect: () => 3 };

describe('renamed metrics', () => {
  it('have the current values under the other name, with constant labels', () => {
    let count = 1;
    const counter: MetricFamily = { ...plain, type: 'counter', collect: () => count };
    const [family] = renamedFamilies([counter], [{ from: 'a', to: 'b', constant: { zone: '.' } }]);
    count = 2;
    expect(family).toMatchObject({ name: 'b', help: 'A.', type: 'counter', labelNames: ['zone'] });
    expect(family?.collect()).toEqual([{ labels: { zone: '.' }, value: 2 }]);
  });

  it('have renamed labels, and the other labels unchanged', () => {
    const labelled: MetricFamily = {
      ...plain,
      type: 'counter',
      labelNames: ['protocol', 'rcode'],
      collect: () => [{ labels: { protocol: 'udp', rcode: 'NOERROR' }, value: 1 }],
    };
    const [family] = renamedFamilies(
      [labelled],
      [{ from: 'a', to: 'b', labels: { protocol: 'proto' } }],
    );
    expect(family?.labelNames).toEqual(['proto', 'rcode']);
    expect(family?.collect()).toEqual([{ labels: { proto: 'udp', rcode: 'NOERROR' }, value: 1 }]);
  });

  it('have the buckets of a histogram unchanged', () => {
    const histogram = new BucketHistogram([1]);
    const own: MetricFamily = {
      ...plain,
      type: 'histogram',
      labelNames: ['server'],
      collect: () => [{ labels: { server: 'x' }, histogram }],
    };
    const [family] = renamedFamilies([own], [{ from: 'a', to: 'b', labels: { server: 'to' } }]);
    expect(family?.collect()).toEqual([{ labels: { to: 'x' }, histogram }]);
  });

  it('are refused for an unknown name', () => {
    expect(() => renamedFamilies([plain], [{ from: 'x', to: 'b' }])).toThrow(
      'no metric x to be renamed',
    );
  });
});
