import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import fc from 'fast-check';
import { countedBytes } from '../test/counted-bytes.js';
import { errorOf } from '../test/error-of.js';
import { addressRecords, bytesOf, opt, responseBytes } from '../test/messages.js';
import { WireError } from './errors.js';
import { decodeFirstAnswers, decodeMessage } from './packet.js';

/** So often is a byte read by the check, which dns-packet's decoder comes after: it follows 16 pointers in a row at most. */
const MOST_READS = 4;

describe('decodeMessage', () => {
  const whole = responseBytes('web.x', {
    flags: packet.AUTHORITATIVE_ANSWER,
    answers: [
      { type: 'CNAME', name: 'web.x', ttl: 5, data: 'a.x' },
      ...addressRecords('a.x', 2),
      { type: 'AAAA', name: 'a.x', ttl: 5, data: '2001:db8::1' },
      { type: 'SRV', name: 'web.x', data: { port: 80, target: 'a.x' } },
      { type: 'TXT', name: 'web.x', data: ['a', 'b'] },
      { type: 'MX', name: 'web.x', data: { exchange: 'm.x' } },
    ],
    authorities: [{ type: 'SOA', name: 'x', data: { mname: 'n.x', rname: 'h.x' } }],
    additionals: [...addressRecords('b.x', 1), opt()],
  });

  it('shows what the message says', () => {
    const decoded = decodeMessage(whole);
    expect(decoded).toMatchObject({
      id: 0x1234,
      rcode: 'NOERROR',
      isTruncated: false,
      isAuthoritative: true,
      questions: [{ name: 'web.x', type: 'A' }],
    });
    expect(decoded.answers.map(({ type }) => type)).toEqual([
      'CNAME',
      'A',
      'A',
      'AAAA',
      'SRV',
      'TXT',
      'MX',
    ]);
    expect(decoded.authorities).toMatchObject([{ type: 'SOA', data: { mname: 'n.x' } }]);
    expect(decoded.additionals).toMatchObject([{ type: 'A' }, { type: 'OPT' }]);
  });

  it('decodes at most the given number of answers, and nothing after them', () => {
    const before = Uint8Array.from(whole);
    const decoded = decodeFirstAnswers(whole, 2);
    expect(decoded.answers.map(({ type }) => type)).toEqual(['CNAME', 'A']);
    expect([...decoded.authorities, ...decoded.additionals]).toEqual([]);
    expect(decodeFirstAnswers(whole, 100).answers).toHaveLength(7);
    expect(Uint8Array.from(whole)).toEqual(before);
    expect(() => decodeFirstAnswers(whole.subarray(0, -1), 2)).toThrow(WireError);
  });

  it('reads bytes that are a part of a larger buffer', () => {
    const larger = new Uint8Array(whole.length + 20);
    larger.set(whole, 10);
    expect(decodeMessage(larger.subarray(10, 10 + whole.length)).id).toBe(0x1234);
  });

  it('shows TC and the response code', () => {
    const bytes = responseBytes('a', { flags: packet.TRUNCATED_RESPONSE | 3 });
    expect(decodeMessage(bytes)).toMatchObject({ isTruncated: true, rcode: 'NXDOMAIN' });
  });

  it('throws a WireError wherever the message is cut', () => {
    for (let length = 0; length < whole.length; length++) {
      expect(errorOf(() => decodeMessage(whole.subarray(0, length)))).toMatchObject({
        name: 'WireError',
        code: 'bad-message',
      });
    }
  });

  it.each([
    [
      'a header with large counts',
      bytesOf(0, 0, 0x80, 0, 0, 0, ...new Array<number>(6).fill(0xff)),
      'message ends inside a record',
    ],
    [
      'a pointer to itself',
      bytesOf(0, 0, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1),
      'message cannot be decoded: Cannot decode name (bad pointer)',
    ],
    ['64 KiB of pointers to pointers', pointerChains(), 'message has a chain of pointers'],
  ])('refuses %s after a few looks at each byte', (_, bytes, reason) => {
    expect(errorOf(() => decodeMessage(bytes))).toMatchObject({
      name: 'WireError',
      message: reason,
    });
    expectFewReads(bytes);
  });

  it('takes a message of thousands of records with one pointer each', () => {
    const bytes = largest();
    const { answers } = decodeMessage(bytes);
    expect(answers.length).toBeGreaterThan(4000);
    expect(answers.at(-1)).toMatchObject({ name: 'a', type: 'A' });
  });

  it('decodes or throws a WireError, after a few looks at each byte, whatever bytes change', () => {
    const change = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 }));
    const changes = fc.array(change, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(changes, fc.integer({ min: 0, max: 30 }), (edits, cut) => {
        const bytes = Buffer.from(whole.subarray(0, whole.length - cut));
        for (const [at, value] of edits) if (at < bytes.length) bytes[at] = value;
        expectFewReads(bytes);
      }),
      { numRuns: 1500 },
    );
  });

  it('decodes or throws a WireError, after a few looks at each byte, for any bytes with small counts', () => {
    const body = fc.uint8Array({ maxLength: 500 });
    fc.assert(
      fc.property(body, fc.nat(3), fc.nat(9), (bytes, questions, answers) => {
        expectFewReads(bytesOf(1, 2, 0x80, 0, 0, questions, 0, answers, 0, 0, 0, 0, ...bytes));
      }),
      { numRuns: 500 },
    );
  });
});

function expectFewReads(message: Uint8Array): void {
  const counted = countedBytes(message);
  const error = errorOf(() => decodeMessage(counted.bytes));
  if (error !== undefined) expect(error).toBeInstanceOf(WireError);
  expect(counted.reads).toBeLessThanOrEqual(MOST_READS * Math.max(1, message.length));
}

/** A record whose data is a chain of 4,000 pointers, and NS records that all point to its end. */
function pointerChains(): Uint8Array {
  const bytes = Buffer.alloc(65_535);
  bytes.writeUInt16BE(0x8000, 2);
  const rootAt = 12 + 11;
  bytes.writeUInt16BE(0xff00, 13);
  bytes.writeUInt16BE(1 + 2 * 4000, 21);
  let at = rootAt + 1;
  for (let i = 0; i < 4000; i++, at += 2)
    bytes.writeUInt16BE(0xc000 | (i === 0 ? rootAt : at - 2), at);
  const pointer = 0xc000 | (at - 2);
  let count = 1;
  for (; at + 14 <= bytes.length; at += 14, count++) {
    bytes.writeUInt16BE(pointer, at);
    bytes.writeUInt16BE(2, at + 2);
    bytes.writeUInt16BE(2, at + 10);
    bytes.writeUInt16BE(pointer, at + 12);
  }
  bytes.writeUInt16BE(count, 6);
  return bytes.subarray(0, at);
}

/** As many address records as a message can hold, each with a pointer to the question. */
function largest(): Uint8Array {
  const question = responseBytes('a');
  const bytes = Buffer.alloc(65_535);
  question.copy(bytes);
  let [at, count] = [question.length, 0];
  for (; at + 16 <= bytes.length; at += 16, count++) {
    bytes.writeUInt16BE(0xc00c, at);
    bytes.writeUInt16BE(1, at + 2);
    bytes.writeUInt16BE(1, at + 4);
    bytes.writeUInt16BE(4, at + 10);
  }
  bytes.writeUInt16BE(count, 6);
  return bytes.subarray(0, at);
}
