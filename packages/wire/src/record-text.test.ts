import { describe, expect, it } from '@jest/globals';
import packet, { type Answer } from 'dns-packet';
import { RecordCursor } from './record-cursor.js';
import { recordText } from './record-text.js';

/** The text of one record of an answer that dns-packet has encoded. */
function textOf(record: Answer | { name: string; type: number; data: Buffer }): string {
  const message = packet.encode({
    type: 'response',
    questions: [{ name: record.name, type: 'A' }],
    answers: [{ ttl: 30, ...record } as Answer],
  });
  const cursor = new RecordCursor().reset(message, message.length);
  cursor.next();
  return recordText(message, cursor);
}

describe('the text of a record', () => {
  it('is as in a zone file', () => {
    expect(textOf({ name: 'a.b', type: 'A', data: '10.0.0.1' })).toBe('a.b. 30 IN A 10.0.0.1');
    expect(textOf({ name: 'a.b', type: 'AAAA', data: 'fd00::1' })).toBe('a.b. 30 IN AAAA fd00::1');
    expect(textOf({ name: 'a.b', type: 'CNAME', data: 'c.d' })).toBe('a.b. 30 IN CNAME c.d.');
    const srv = { priority: 10, weight: 100, port: 80, target: 'c.d' };
    expect(textOf({ name: 'a.b', type: 'SRV', data: srv })).toBe('a.b. 30 IN SRV 10 100 80 c.d.');
    const mx = { preference: 5, exchange: 'm.d' };
    expect(textOf({ name: 'a.b', type: 'MX', data: mx })).toBe('a.b. 30 IN MX 5 m.d.');
    const numbers = { serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 5 };
    expect(
      textOf({ name: 'a.b', type: 'SOA', data: { mname: 'n.b', rname: 'h.b', ...numbers } }),
    ).toBe('a.b. 30 IN SOA n.b. h.b. 1 2 3 4 5');
  });

  it('escapes what a terminal must not get, and shows unknown data in hex', () => {
    expect(textOf({ name: 'a.b', type: 'TXT', data: 'a"\u001b[2J' })).toBe(
      'a.b. 30 IN TXT "a\\"\\027[2J"',
    );
    expect(textOf({ name: 'a.b', type: 'CAA', data: { tag: 'x', value: 'y' } as never })).toMatch(
      /^a\.b\. 30 IN CAA \\# 4 /,
    );
  });

  it('shows data that the type cannot have in hex', () => {
    const message = packet.encode({
      type: 'response',
      questions: [{ name: 'a.b', type: 'A' }],
      answers: [{ name: 'a.b', type: 'A', ttl: 30, data: '10.0.0.1' }],
    });
    message[message.length - 5] = 3;
    const cursor = new RecordCursor().reset(message, message.length - 1);
    cursor.next();
    expect(recordText(message.subarray(0, -1), cursor)).toBe('a.b. 30 IN A \\# 3 0a0000');
  });
});
