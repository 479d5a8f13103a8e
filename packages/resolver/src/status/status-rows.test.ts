import { describe, expect, it } from '@jest/globals';
import { subscriptionRow } from '../testing/subscription-row.js';
import { zoneRows } from './status-rows.js';

describe('the rows of zones', () => {
  it('have what is counted of a server once, not for each of its zones', () => {
    const rows = [
      subscriptionRow({ zones: ['a', 'b', 'c'], keptAnswers: 23, droppedAnswers: 4 }),
      subscriptionRow({ zones: ['d'], keptAnswers: 5, state: 'down' }),
    ];
    const shown = zoneRows(rows).map((row) => [row.zone, row.keptAnswers, row.droppedAnswers]);
    expect(shown).toEqual([
      ['d', 5, 0],
      ['a', 23, 4],
      ['b', null, null],
      ['c', null, null],
    ]);
  });
});
