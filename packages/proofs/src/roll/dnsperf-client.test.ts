import { expect, it } from '@jest/globals';
import { DnsperfLines, rightRcode, rollQuestions } from './dnsperf-client.js';

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

it('each question is there once, with names that do not exist among the others', () => {
  const questions = rollQuestions(300);
  expect(new Set(questions).size).toBe(questions.length);
  const missing = questions.filter((line) => rightRcode(line) === 'NXDOMAIN');
  expect(missing.length).toBeGreaterThan(0);
  expect(questions.length).toBeGreaterThan(4 * missing.length);
});
