import { describe, expect, it } from '@jest/globals';
import { MeasureError } from '../errors.js';
import { parseDnsperf } from './dnsperf.js';

const OUTPUT = `Statistics:

  Queries sent:         362241
  Queries completed:    362220 (99.99%)
  Queries lost:         21 (0.01%)

  Response codes:       NOERROR 362200 (99.99%), SERVFAIL 20 (0.01%)
  Average packet size:  request 56, response 72
  Run time (s):         4.002
  Queries per second:   90509.745
`;

describe('the output of dnsperf', () => {
  it('is read', () => {
    expect(parseDnsperf(OUTPUT)).toEqual({
      queriesPerSecond: 90_509.745,
      completed: 362_220,
      lost: 21,
      rcodes: { NOERROR: 362_200, SERVFAIL: 20 },
    });
  });

  it('is refused without statistics', () => {
    expect(() => parseDnsperf('Error: no such file')).toThrow(MeasureError);
  });
});
