import { expect, it } from '@jest/globals';
import { replyWith } from '../../test/messages.js';
import { addressRecord, txtRecord } from '../../test/responder.js';
import { parseSubscriptions } from './subscription-counts.js';

it.each([
  ['both counts', [txtRecord('live 3', 'down 1')], { live: 3, down: 1 }],
  ['no record', [], undefined],
  ['another type', [addressRecord], undefined],
  ['one count', [txtRecord('live 3')], undefined],
  ['another text', [txtRecord('3', '1')], undefined],
  ['a count that is too long', [txtRecord('live 3', `down ${'9'.repeat(10)}`)], undefined],
])('reads %s', (_what, records, expected) => {
  expect(parseSubscriptions(replyWith(...records))).toEqual(expected);
});

it('reads no counts in an error', () => {
  const reply = replyWith(txtRecord('live 3', 'down 1'));
  expect(parseSubscriptions({ ...reply, rcode: 'NOTIMP' })).toBeUndefined();
});
