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

  it('never throws, and is fast for a string that does not end', () => {
    fc.assert(fc.property(fc.string(), (text) => void readObjectHead(text)));
    const before = process.cpuUsage();
    readObjectHead(`{"metadata":{"name":"${'\\"'.repeat(8_000)}`);
    readObjectHead('['.repeat(16_000));
    const { user } = process.cpuUsage(before);
    expect(user).toBeLessThan(100_000);
  });
});
