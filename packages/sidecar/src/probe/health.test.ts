import { describe, expect, it } from '@jest/globals';

import { healthJson } from './health.js';

describe('healthJson', () => {
  it('writes the keys in the order of the original', () => {
    expect(healthJson({ isOk: true, latencySeconds: 0.000512, error: '' })).toBe(
      '{"IsOk":true,"LatencySeconds":0.000512,"Err":""}',
    );
  });

  it('escapes as Go does', () => {
    const json = healthJson({ isOk: false, latencySeconds: 0, error: '<a> & "b"\n\u2028' });
    expect(json).toBe(
      '{"IsOk":false,"LatencySeconds":0,"Err":"\\u003ca\\u003e \\u0026 \\"b\\"\\n\\u2028"}',
    );
    expect((JSON.parse(json) as { Err: string }).Err).toBe('<a> & "b"\n\u2028');
  });
});
