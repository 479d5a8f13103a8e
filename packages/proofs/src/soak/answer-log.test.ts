import { expect, it } from '@jest/globals';
import { AnswerLog } from './answer-log.js';

it('each count is returned once, with the wrong answers first', () => {
  const log = new AnswerLog();
  for (let ms = 1; ms <= 100; ms++) {
    log.asked();
    log.answered(ms, false);
  }
  log.answered(5_000, true);
  log.firstTryLost();
  log.lost('a.example');
  log.wrong('NXDOMAIN', 'b.example');
  expect(log.take()).toMatchObject({
    asked: 100,
    right: 101,
    wrong: 1,
    firstTryLost: 1,
    lost: 1,
    p50Ms: 50,
    p99Ms: 99,
    maxMs: 100,
    examples: ['b.example', 'no answer: a.example'],
  });
  expect(log.take()).toMatchObject({ asked: 0, right: 0, wrong: 0, lost: 0, p99Ms: Number.NaN });
});
