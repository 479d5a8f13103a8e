import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import fc from 'fast-check';
import { addressRecords, opt, responseBytes } from '../test/messages.js';
import { RecordCursor, SECTION } from './record-cursor.js';

const [a, b] = addressRecords('web.x', 2, 300);

function walk(bytes: Uint8Array): { section: number; type: number; start: number; end: number }[] {
  const cursor = new RecordCursor().reset(bytes, bytes.length);
  const seen = [];
  while (cursor.next()) {
    const { section, type, start, end } = cursor;
    seen.push({ section, type, start, end });
  }
  return seen;
}

describe('RecordCursor', () => {
  it('shows the records of each section in their order', () => {
    const bytes = responseBytes('web.x', { answers: [a!, b!], additionals: [a!, opt()] });
    expect(walk(bytes).map(({ section, type }) => [section, type])).toEqual([
      [SECTION.ANSWER, 1],
      [SECTION.ANSWER, 1],
      [SECTION.ADDITIONAL, 1],
      [SECTION.ADDITIONAL, 41],
    ]);
  });

  it('stands behind the question before the first record, and each record at the end of the last', () => {
    const bytes = responseBytes('web.x', { answers: [a!], authorities: [b!] });
    const cursor = new RecordCursor().reset(bytes, bytes.length);
    expect(cursor.end).toBe(12 + 7 + 4);
    const [first, second] = walk(bytes);
    expect(first).toMatchObject({ start: 23, end: 23 + 7 + 10 + 4 });
    expect(second).toMatchObject({ start: first!.end, end: bytes.length });
  });

  it('shows type, class, TTL and where the rdata is', () => {
    const bytes = responseBytes('web.x', { answers: [{ ...a!, class: 'CH' } as never] });
    const cursor = new RecordCursor().reset(bytes, bytes.length);
    expect(cursor.next()).toBe(true);
    expect(cursor).toMatchObject({ type: 1, class: 3, ttlSeconds: 300 });
    expect([...bytes.subarray(cursor.rdataStart, cursor.end)]).toEqual([10, 0, 0, 0]);
    expect(bytes.readUInt32BE(cursor.ttlAt)).toBe(300);
  });

  it.each([
    [0x7fff_ffff, 0x7fff_ffff],
    [0x8000_0000, 0],
    [0xffff_ffff, 0],
  ])('shows a TTL of %d as %d (RFC 2181 section 8)', (ttl, seconds) => {
    const bytes = responseBytes('web.x', { answers: [{ ...a!, ttl } as never] });
    const cursor = new RecordCursor().reset(bytes, bytes.length);
    cursor.next();
    expect(cursor.ttlSeconds).toBe(seconds);
  });

  it('passes over bytes behind the last record', () => {
    const bytes = Buffer.concat([responseBytes('web.x', { answers: [a!] }), Buffer.alloc(50)]);
    expect(walk(bytes)).toHaveLength(1);
  });

  it('has no record in a message without any, and stays at its end', () => {
    const bytes = responseBytes('web.x');
    const cursor = new RecordCursor().reset(bytes, bytes.length);
    expect([cursor.next(), cursor.next(), cursor.isMalformed()]).toEqual([false, false, false]);
  });

  it.each([
    ['11 bytes', Buffer.alloc(11)],
    ['a header that promises a question', Buffer.from('123481800001000000000000', 'hex')],
    ['65,535 of everything', Buffer.from('12348180ffffffffffffffff', 'hex')],
  ])('finds %s malformed', (_, bytes) => {
    const cursor = new RecordCursor().reset(bytes, bytes.length);
    expect(cursor.next()).toBe(false);
    expect(cursor.isMalformed()).toBe(true);
  });

  it('finds a message malformed wherever it is cut', () => {
    const whole = responseBytes('web.x', { answers: [a!, b!], additionals: [opt()] });
    for (let length = 0; length < whole.length; length++) {
      const cursor = new RecordCursor().reset(whole, length);
      while (cursor.next()) expect(cursor.end).toBeLessThanOrEqual(length);
      expect(cursor.isMalformed()).toBe(true);
    }
  });

  it('can be used again after a malformed message', () => {
    const cursor = new RecordCursor().reset(Buffer.alloc(3), 3);
    const bytes = responseBytes('web.x', { answers: [a!] });
    cursor.reset(bytes, bytes.length);
    expect([cursor.next(), cursor.next(), cursor.isMalformed()]).toEqual([true, false, false]);
  });

  it('stays inside the message for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        for (const { start, end } of walk(bytes)) {
          expect(start).toBeGreaterThanOrEqual(12);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(bytes.length);
        }
      }),
    );
  });

  it('shows the records that dns-packet shows', () => {
    const counts = fc.tuple(fc.nat(5), fc.nat(5), fc.nat(5));
    fc.assert(
      fc.property(counts, ([answers, authorities, additionals]) => {
        const records = addressRecords('web.x', 5);
        const bytes = responseBytes('web.x', {
          answers: records.slice(0, answers),
          authorities: records.slice(0, authorities),
          additionals: records.slice(0, additionals),
        });
        const decoded = packet.decode(bytes);
        const seen = walk(bytes);
        expect(seen.filter(({ section }) => section === 0)).toHaveLength(decoded.answers!.length);
        expect(seen.filter(({ section }) => section === 1)).toHaveLength(authorities);
        expect(seen.filter(({ section }) => section === 2)).toHaveLength(additionals);
      }),
    );
  });
});
