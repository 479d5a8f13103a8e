import { describe, expect, it } from '@jest/globals';
import { limitedClientRows, overloadProblems } from './overload-status.js';

const client = { client: '10.0.0.7', perSecond: 150_000, passing: 14_000 };
const overload = {
  seconds: 12,
  arriving: 151_000,
  answering: 14_800,
  limited: 1,
  clients: [client],
};

describe('the status of an overload', () => {
  it('is a sentence for each socket that has one', () => {
    const many = { ...overload, limited: 900 };
    const old = { ...many, answering: 0 };
    expect(overloadProblems([{ overloads: [] }, { overloads: [overload, many, old] }])).toEqual([
      'more queries arrive than can be answered, for 12 s: 151000 a second, 14800 are answered, 1 client is limited',
      'more queries arrive than can be answered, for 12 s: 151000 a second, 14800 are answered, 900 clients are limited',
      'more queries arrive than can be answered, for 12 s: 151000 a second, those that wait are too old to be answered, 900 clients are limited',
    ]);
  });

  it('names the clients that are limited', () => {
    expect(limitedClientRows([{ overloads: [] }, { overloads: [overload] }])).toEqual([client]);
  });
});
