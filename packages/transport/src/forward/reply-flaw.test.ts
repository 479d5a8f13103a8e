import { describe, expect, it } from '@jest/globals';
import { FLAG, RCODE, readUint16, ReplyOutline, writeUint16 } from '@kube-dns/wire';
import { type Authority, queryFor, responseWith } from '../../test/questions.js';
import { flawOf } from './failure.js';

const NS: Authority = { owner: 'example', type: 'NS', data: 'ns.example' };
const SOA: Authority = {
  owner: 'example',
  type: 'SOA',
  data: { mname: 'ns.example', rname: 'root.example', minimum: 1 },
};

interface Response {
  readonly rcode?: number;
  readonly isAuthoritative?: boolean;
  readonly addresses?: readonly string[];
  readonly authorities?: readonly Authority[];
}

/** A reply of a server that asks others, or of one that does not. */
function reply(response: Response, asksOthers = true): Buffer {
  const { authorities = [], isAuthoritative = false } = response;
  const query = queryFor({ name: 'a.example' });
  const message = responseWith(query, response, authorities, isAuthoritative);
  if (!asksOthers) writeUint16(message, 2, readUint16(message, 2) & ~FLAG.RA);
  return message;
}

const flaw = (message: Buffer) => flawOf(message, new ReplyOutline().read(message));

describe('what is wrong with a reply', () => {
  it.each<[string, Buffer]>([
    ['an address', reply({ addresses: ['10.0.0.1'] })],
    ['an address from a server without recursion', reply({ addresses: ['10.0.0.1'] }, false)],
    ['nothing at all', reply({})],
    ['nothing at all from a server without recursion', reply({}, false)],
    ['a denial', reply({ rcode: RCODE.NXDOMAIN, authorities: [SOA] })],
    ['a denial with the servers of the zone', reply({ authorities: [NS, SOA] }, false)],
    ['servers without records, from a server that asks others', reply({ authorities: [NS] })],
    [
      'servers without records, from one of them',
      reply({ authorities: [NS], isAuthoritative: true }, false),
    ],
  ])('is nothing where it has %s', (_what, message) => {
    expect(flaw(message)).toBeUndefined();
  });

  it.each(['SERVFAIL', 'REFUSED'] as const)('is that it says %s', (name) => {
    expect(flaw(reply({ rcode: RCODE[name] }))).toBe('refusal');
  });

  it('is that it refers to others, from a server without recursion', () => {
    expect(flaw(reply({ authorities: [NS] }, false))).toBe('lame');
  });

  it('is that it ends too early, wherever that is', () => {
    const whole = reply({ addresses: ['10.0.0.1'], authorities: [NS] });
    const questionEnd = 12 + 'a.example'.length + 2 + 4;
    for (let length = questionEnd; length < whole.length; length++) {
      expect(flaw(whole.subarray(0, length))).toBe('malformed');
    }
  });
});
