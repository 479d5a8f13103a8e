import { expect, it } from '@jest/globals';
import { linesText, sumOf } from './top.js';

const row = (key: string, text: string, questions: number) => ({
  [key]: text,
  questions,
  error: 0,
});

it('the lists of several programs are one, the largest first', () => {
  const lists = sumOf([
    {
      clients: [row('client', '10.1.0.1', 3)],
      names: [row('name', 'a.test', 5), row('name', 'b.test', 4)],
      nxdomainNames: [],
    },
    { clients: [], names: [row('name', 'b.test', 2)], nxdomainNames: [row('name', 'c.test', 1)] },
  ]);
  expect(linesText(lists)).toBe(
    'client 3 10.1.0.1\nname 6 b.test\nname 5 a.test\nnxdomain 1 c.test\n',
  );
});

it.each([[null], [{}], [{ clients: 5, names: [null, 7, {}], nxdomainNames: [{ name: 1 }] }]])(
  'the page %j has none',
  (page) => {
    expect(linesText(sumOf([page]))).toBe('');
  },
);

it('a text that a terminal would obey is not printed', () => {
  const lists = sumOf([{ names: [row('name', 'a\u001b[2Jb\u009b', 1)] }]);
  expect(linesText(lists)).toBe('name 1 a?[2Jb?\n');
});
