import { describe, expect, it } from '@jest/globals';

import { replyWith } from '../../test/messages.js';
import { addressRecord, txtRecord } from '../../test/responder.js';
import { parseStatistic } from './statistic.js';

describe('parseStatistic', () => {
  it.each([
    ['0', 0],
    ['12345', 12_345],
    ['+5', 5],
    ['-5', -5],
  ])('reads %s', (text, value) => {
    expect(parseStatistic('hits', replyWith(txtRecord(text)))).toBe(value);
  });

  it.each([
    ['no record', [], 'invalid number of Answer records for hits: 0'],
    [
      'two records',
      [txtRecord('1'), txtRecord('2')],
      'invalid number of Answer records for hits: 2',
    ],
    ['another type', [addressRecord], 'missing TXT record for hits'],
    ['two strings', [txtRecord('1', '2')], 'invalid number of TXT records for hits: 2'],
    ['text', [txtRecord('1.5')], 'strconv.ParseInt: parsing "1.5" for hits: invalid syntax'],
    ['empty text', [txtRecord('')], 'strconv.ParseInt: parsing "" for hits: invalid syntax'],
  ])('refuses %s', (_what, records, message) => {
    expect(() => parseStatistic('hits', replyWith(...records))).toThrow(
      expect.objectContaining({ message }),
    );
  });
});
