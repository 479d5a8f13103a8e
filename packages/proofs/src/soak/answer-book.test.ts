import { expect, it } from '@jest/globals';
import { AnswerBook } from './answer-book.js';

it('what was counted is told once, with the wrong answers first', () => {
  const book = new AnswerBook();
  for (let ms = 1; ms <= 100; ms++) {
    book.asked();
    book.answered(ms, false);
  }
  book.answered(5_000, true);
  book.firstTryLost();
  book.lost('a.example');
  book.wrong('b.example');
  expect(book.take()).toMatchObject({
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
  expect(book.take()).toMatchObject({ asked: 0, right: 0, wrong: 0, lost: 0, p99Ms: Number.NaN });
});
