import { stepsOf } from '../../test/support/steps.js';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readObjectHead } from './object-head.js';

const METADATA = { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '7' };

describe('readObjectHead', () => {
  it('reads kind, name, namespace and version of an object or an event that is cut anywhere after them', () => {
    const object = {
      kind: 'Service',
      metadata: METADATA,
      spec: { name: 'not this', x: ['"', '{'] },
    };
    const after = { kind: 'Service', object: { metadata: { ...METADATA, uid: undefined } } };
    for (const [value, type] of [
      [object, undefined],
      [{ type: 'ADDED', object }, 'ADDED'],
    ] as const) {
      const text = JSON.stringify(value);
      for (let length = text.indexOf('"spec"'); length <= text.length; length++) {
        expect(readObjectHead(text.slice(0, length))).toEqual({ ...after, type });
      }
    }
  });

  it('takes nothing for the metadata that is not', () => {
    const text = JSON.stringify({ spec: { metadata: METADATA }, metadata: { labels: METADATA } });
    expect(readObjectHead(text).object).toEqual({ metadata: {} });
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string(), (text) => void readObjectHead(text)));
  });

  it('ends at a string that does not end, however long that is', () => {
    const steps = (count: number) =>
      stepsOf(() => readObjectHead(`{"metadata":{"name":"${'\\"'.repeat(count)}`));
    expect(steps(8_000)).toBe(steps(10));
  });

  it('takes a step for each bracket', () => {
    const steps = (count: number) => stepsOf(() => readObjectHead('['.repeat(count)));
    expect(steps(16_000)).toBeGreaterThan(16_000);
    expect(steps(16_000)).toBeLessThan(2.5 * steps(8_000));
  });
});
