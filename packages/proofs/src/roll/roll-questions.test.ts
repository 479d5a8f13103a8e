import { expect, it } from '@jest/globals';
import { rightRcode, rollQuestions } from './roll-questions.js';

it('each question is there once, with names that do not exist among the others', () => {
  const questions = rollQuestions(300);
  expect(new Set(questions).size).toBe(questions.length);
  const missing = questions.filter((line) => rightRcode(line) === 'NXDOMAIN');
  expect(missing.length).toBeGreaterThan(0);
  expect(questions.length).toBeGreaterThan(4 * missing.length);
});
