import { describe, expect, it } from '@jest/globals';
import { FLAG, RCODE, readUint16, TYPE, writeUint16 } from '@kube-dns/wire';
import fc from 'fast-check';
import {
  addressRecords,
  queryFor,
  type Question,
  type Response,
  responseFor,
  type WrittenRecord,
} from '../../test/messages.js';
import { isCacheableAnswer, mayFillCache, mayReadCache } from './cacheable.js';

const NAME = 'a.example';

describe('a question', () => {
  it.each(['A', 'AAAA', 'PTR', 'SRV'])('of type %s may read and fill the cache', (type) => {
    const query = queryFor({ name: NAME, type });
    expect([mayReadCache(query), mayFillCache(query)]).toEqual([true, true]);
  });

  it.each<[string, Partial<Question>]>([
    ['TXT', { type: 'TXT' }],
    ['MX', { type: 'MX' }],
    ['CNAME', { type: 'CNAME' }],
    ['ANY', { type: 'ANY' }],
    ['class CH', { class: 'CH' }],
    ['no RD', { isRecursionDesired: false }],
    ['DO', { ednsBytes: 1232, isDnssecOk: true }],
  ])('with %s does neither', (_what, fields) => {
    const query = queryFor({ name: NAME, ...fields });
    expect([mayReadCache(query), mayFillCache(query)]).toEqual([false, false]);
  });

  it('with CD may read but not fill', () => {
    const query = queryFor({ name: NAME, isCheckingDisabled: true });
    expect([mayReadCache(query), mayFillCache(query)]).toEqual([true, false]);
  });

  it('with EDNS but without DO does both', () => {
    const query = queryFor({ name: NAME, ednsBytes: 4096 });
    expect([mayReadCache(query), mayFillCache(query)]).toEqual([true, true]);
  });
});

const alias = (owner: string, data: string): WrittenRecord => ({
  owner,
  type: 'CNAME',
  ttl: 30,
  data,
});
const address = (owner: string): WrittenRecord => ({ owner, type: 'A', ttl: 30, data: '10.0.0.1' });

/** `n0.example` and so many aliases from there to the next number. */
const chain = (length: number) =>
  Array.from({ length }, (_, i) => alias(i === 0 ? NAME : `n${i}.example`, `n${i + 1}.example`));

function isKept(response: Response, type: number = TYPE.A, setFlags = 0): boolean {
  const message = responseFor({ name: NAME }, response);
  writeUint16(message, 2, readUint16(message, 2) | setFlags);
  return isCacheableAnswer(message, type);
}

describe('an answer worth keeping', () => {
  it.each<[string, Response]>([
    ['has one record', { answers: addressRecords(30, '10.0.0.1') }],
    ['has several records', { answers: addressRecords(30, '10.0.0.1', '10.0.0.2') }],
    ['has an owner in another case', { answers: [address('A.EXAMPLE')] }],
    ['has an alias in front', { answers: [alias(NAME, 'b.example'), address('b.example')] }],
    ['has ten aliases in front', { answers: [...chain(10), address('n10.example')] }],
    [
      'has other sections, which are not kept',
      {
        answers: addressRecords(30, '10.0.0.1'),
        authorities: [{ owner: 'x.example', type: 'TXT', ttl: 1, data: 'x' }],
        additionals: [address('x.example')],
      },
    ],
    ['is authoritative', { isAuthoritative: true, answers: addressRecords(30, '10.0.0.1') }],
  ])('%s', (_what, response) => {
    expect(isKept(response)).toBe(true);
  });
});

describe('an answer that is passed on only', () => {
  it.each<[string, Response]>([
    ['is empty', {}],
    ['does not exist', { rcode: RCODE.NXDOMAIN }],
    [
      'does not exist behind an alias',
      { rcode: RCODE.NXDOMAIN, answers: [alias(NAME, 'b.example')] },
    ],
    ['is a failure', { rcode: RCODE.SERVFAIL, answers: addressRecords(30, '10.0.0.1') }],
    ['is a refusal', { rcode: RCODE.REFUSED }],
    ['is an alias alone', { answers: [alias(NAME, 'b.example')] }],
    ['is cut', { isTruncated: true, answers: addressRecords(30, '10.0.0.1') }],
    ['has records of another name', { answers: [address('b.example')] }],
    ['has records of another name, too', { answers: [address(NAME), address('b.example')] }],
    [
      'has records before their alias',
      { answers: [address('b.example'), alias(NAME, 'b.example')] },
    ],
    [
      'leads elsewhere than its records',
      { answers: [alias(NAME, 'b.example'), address('c.example')] },
    ],
    ['has an alias beside the records', { answers: [address(NAME), alias(NAME, 'b.example')] }],
    ['has another type only', { answers: [{ type: 'TXT', ttl: 30, data: 'x' }] }],
    ['has another type, too', { answers: [address(NAME), { type: 'TXT', ttl: 30, data: 'x' }] }],
    ['has eleven aliases', { answers: [...chain(11), address('n11.example')] }],
    ['goes in circles', { answers: [alias(NAME, NAME), alias(NAME, NAME)] }],
  ])('%s', (_what, response) => {
    expect(isKept(response)).toBe(false);
  });

  it('is unchecked', () => {
    expect(isKept({ answers: addressRecords(30, '10.0.0.1') }, TYPE.A, FLAG.CD)).toBe(false);
  });

  it('is of another class', () => {
    const message = responseFor({ name: NAME }, { answers: addressRecords(30, '10.0.0.1') });
    const classAt = message.length - 4 - 2 - 4 - 2;
    expect(readUint16(message, classAt)).toBe(1);
    writeUint16(message, classAt, 3);
    expect(isCacheableAnswer(message, TYPE.A)).toBe(false);
  });

  it('is malformed, wherever it is cut or damaged', () => {
    const whole = responseFor({ name: NAME }, { answers: [...chain(2), address('n2.example')] });
    for (let length = 12; length < whole.length; length++) {
      expect(isCacheableAnswer(whole.subarray(0, length), TYPE.A)).toBe(false);
    }
    fc.assert(
      fc.property(fc.integer({ min: 12, max: whole.length - 1 }), fc.nat(255), (at, byte) => {
        const damaged = Buffer.from(whole);
        damaged[at] = byte;
        expect(typeof isCacheableAnswer(damaged, TYPE.A)).toBe('boolean');
      }),
    );
  });
});
