import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { frameMessage, FrameReader } from './frame-reader.js';

/** All messages that a reader cuts out of these chunks. */
function read(chunks: readonly Buffer[]): Buffer[] {
  const reader = new FrameReader();
  const messages: Buffer[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let message = reader.next(); message; message = reader.next()) messages.push(message);
  }
  return messages;
}

describe('frameMessage', () => {
  it('puts the length in front of a copy', () => {
    const message = Buffer.from('abcdef');
    const frame = frameMessage(message, 3);
    message.fill(0);
    expect(frame).toEqual(Buffer.from('\0\x03abc'));
  });
});

describe('FrameReader', () => {
  it.each([
    ['nothing', [], []],
    ['one message', ['\0\x01a'], ['a']],
    ['two messages in one chunk', ['\0\x01a\0\x02bc'], ['a', 'bc']],
    ['a message in two chunks', ['\0\x02b', 'c'], ['bc']],
    ['a length in two chunks', ['\0', '\x02bc'], ['bc']],
    ['an end and a beginning in one chunk', ['\0\x02b', 'c\0\x01', 'a'], ['bc', 'a']],
    ['an empty message', ['\0\0\0\x01a'], ['', 'a']],
    ['an unfinished message', ['\0\x05abcd'], []],
  ])('reads %s', (_, chunks, expected) => {
    const messages = read(chunks.map((chunk) => Buffer.from(chunk, 'latin1')));
    expect(messages.map(String)).toEqual(expected);
  });

  it('reads the same messages however the stream is cut', () => {
    const messages = fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 10 });
    const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(messages, sizes, (sent, cuts) => {
        const stream = Buffer.concat(sent.map((message) => frameMessage(message, message.length)));
        const chunks: Buffer[] = [];
        for (let at = 0, i = 0; at < stream.length; i++) {
          const end = at + cuts[i % cuts.length]!;
          chunks.push(stream.subarray(at, end));
          at = end;
        }
        expect(read(chunks).map((message) => [...message])).toEqual(sent.map((m) => [...m]));
      }),
    );
  });

  it('reads the largest message byte by byte, and makes room for it, with a copy, a few times', () => {
    const message = Buffer.alloc(65_535, 7);
    const frame = frameMessage(message, message.length);
    const reader = new FrameReader();
    const rooms = [0];
    for (let at = 0; at < frame.length; at++) {
      reader.push(frame.subarray(at, at + 1));
      if (reader.heldBytes !== rooms.at(-1)) rooms.push(reader.heldBytes);
    }
    expect(reader.next()).toEqual(message);
    // Twice as much each time.
    expect(rooms.length).toBeLessThanOrEqual(20);
    expect(rooms.reduce((sum, bytes) => sum + bytes)).toBeLessThan(4 * frame.length);
  });

  it('does not change a message when the next one arrives', () => {
    const reader = new FrameReader();
    for (const chunk of ['\0\x04a', 'b', 'cd\0\x02e']) reader.push(Buffer.from(chunk, 'latin1'));
    const first = reader.next();
    reader.push(Buffer.from('f\0\x01'));
    const second = reader.next();
    reader.push(Buffer.from('g'));
    expect([first, second, reader.next()].map(String)).toEqual(['abcd', 'ef', 'g']);
  });
});
