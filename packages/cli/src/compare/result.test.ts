import { describe, expect, it } from '@jest/globals';
import type { QuestionKind } from '../question.js';
import { ASPECT_ORDER, type Aspect } from './compare-replies.js';
import { entriesOf, meaningOf } from './result.js';
import type { Difference } from './tally.js';

function difference(
  aspect: Aspect,
  left: string,
  right: string,
  { type = 'A', kind = 'service' }: { type?: string; kind?: QuestionKind } = {},
): Difference {
  const name = 'a.test';
  const finding = { aspect, left: [], right: [], shape: { left, right }, over: ['udp'] as const };
  return { name, type, kind, over: ['udp'], findings: [finding], left: [], right: [] };
}

describe('entries of a report', () => {
  it('join equal differences, of A and AAAA and of a service and its ports', () => {
    const entries = entriesOf([
      difference('answer', 'A', 'A'),
      difference('answer', 'AAAA', 'AAAA', { type: 'AAAA' }),
      difference('additional', 'none', 'A', { type: 'SRV' }),
      difference('additional', 'none', 'A AAAA', { type: 'SRV', kind: 'port' }),
    ]);
    expect(entries).toMatchObject([
      { class: 'answer', types: ['A', 'AAAA'], kinds: ['service'], differences: [0, 1] },
      { class: 'additional', types: ['SRV'], kinds: ['port', 'service'], differences: [2, 3] },
    ]);
  });

  it.each([
    ['the sides', difference('additional', 'A', 'none')],
    ['the rcode', difference('rcode', 'SERVFAIL', 'NOERROR')],
    ['the type', difference('additional', 'none', 'A', { type: 'SRV' })],
    ['the kind', difference('additional', 'none', 'A', { kind: 'pod' })],
  ])('separate what differs in %s', (_, other) => {
    expect(entriesOf([difference('additional', 'none', 'A'), other])).toHaveLength(2);
  });
});

describe('the meaning of a difference', () => {
  it.each([
    ['no-reply', 'no reply', 'reply', /^Clients of left wait until their timeout/],
    [
      'missing-answer',
      'A',
      'none, NXDOMAIN',
      /ask right are answered that the name does not exist/,
    ],
    ['missing-answer', 'none, SERVFAIL', 'A', /^For clients of left the lookup fails \(SERVFAIL\)/],
    ['missing-answer', 'CNAME', 'none, NOERROR', /no A record; left answers with CNAME, which/],
    ['rcode', 'NOERROR', 'NXDOMAIN', /^On left the name exists.*search list at the answer of left/],
    ['rcode', 'NXDOMAIN', 'REFUSED', /^For clients of right the lookup fails \(REFUSED\)/],
    ['answer', 'A', 'A', /^Clients connect to other addresses/],
    ['truncated', 'truncated', 'complete', /^Clients of left ask again over TCP/],
    ['authority', 'SOA', 'none', /cannot keep a negative answer of right/],
    ['additional', 'none', 'A', /^Clients of left send one more query/],
    ['ttl', 'shorter', 'longer', /^Clients of right that cache/],
    ['edns', 'OPT', 'no OPT', /^Clients take right for a server without EDNS/],
  ] as const)('%s, %s against %s, is a sentence about the side', (aspect, left, right, text) => {
    expect(meaningOf(difference(aspect, left, right))).toMatch(text);
  });

  it.each(ASPECT_ORDER.map((aspect) => [aspect]))('of %s is never empty', (aspect) => {
    expect(meaningOf(difference(aspect, 'A', 'SOA'))).toMatch(/^[A-Z].*\.$/);
  });
});
