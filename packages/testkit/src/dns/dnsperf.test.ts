import { describe, expect, it } from '@jest/globals';
import { MeasureError } from '../errors.js';
import { parseDnsperf, parseLatencies } from './dnsperf.js';

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
      sent: 362_241,
      completed: 362_220,
      lost: 21,
      answerBytes: 72,
      rcodes: { NOERROR: 362_200, SERVFAIL: 20 },
    });
  });

  it('has an unknown size of answers when there were none', () => {
    const output = OUTPUT.replace(/ +Average.*\n/, '');
    expect(parseDnsperf(output)).toMatchObject({ completed: 362_220, answerBytes: NaN });
  });

  it('is refused without statistics', () => {
    expect(() => parseDnsperf('Error: no such file')).toThrow(MeasureError);
  });
});

describe('the times that dnsperf prints', () => {
  it('are those of all answers, in ms', () => {
    const lines = [
      '[Status] Sending queries (to 127.0.0.1:53)',
      '> NOERROR a.example A 0.000300',
      '> NXDOMAIN binary input 0.001500',
      '> T a.example A',
      '> I a.example A',
      '> rcode15 a.example A 0.5',
      '  Average Latency (s):  0.001258 (min 0.000015, max 0.003270)',
    ];
    expect(parseLatencies(`${lines.join('\n')}\n`)).toEqual([0.3, 1.5]);
    expect(parseLatencies(OUTPUT)).toEqual([]);
  });
});
