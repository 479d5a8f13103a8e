import { expect, it } from '@jest/globals';
import { DnsperfLines } from './dnsperf-lines.js';

it('answers and time-outs are read from the output of dnsperf, in any pieces', () => {
  const text =
    '[Status] Sending queries (to 127.0.0.1:53)\n> NOERROR a.example A 0.001500\n> T b.example A\n';
  const lines = new DnsperfLines();
  const found = Array.from(text).flatMap((piece) => lines.push(piece));
  expect(found).toEqual([
    { name: 'a.example', rcode: 'NOERROR', ms: 1.5 },
    { name: 'b.example', rcode: undefined, ms: Number.NaN },
  ]);
});
