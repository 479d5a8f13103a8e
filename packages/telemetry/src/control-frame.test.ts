import { describe, expect, it } from '@jest/globals';
import { CONTROL, controlFrame, ControlFrameReader } from './frame-stream.js';

/** A control frame with fields of the reader's own. */
function frame(control: number, ...fields: readonly [type: number, value: string][]): Buffer {
  const parts = fields.map(([type, value]) => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(type);
    head.writeUInt32BE(value.length, 4);
    return Buffer.concat([head, Buffer.from(value)]);
  });
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(12);
  head.writeUInt32BE(4 + body.length, 4);
  head.writeUInt32BE(control, 8);
  return Buffer.concat([head, body]);
}

function read(...chunks: readonly Uint8Array[]): unknown[] {
  const reader = new ControlFrameReader();
  const seen: unknown[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let next = reader.next(); next !== 'unfinished'; next = reader.next()) {
      seen.push(next);
      if (next === 'malformed') return seen;
    }
  }
  return seen;
}

const DNSTAP = 'protobuf:dnstap.Dnstap';

describe('control frames', () => {
  it('are those of fstrm', () => {
    const content = Buffer.from(DNSTAP).toString('hex');
    expect(Buffer.from(controlFrame(CONTROL.READY)).toString('hex')).toBe(
      `0000000000000022000000040000000100000016${content}`,
    );
    expect(Buffer.from(controlFrame(CONTROL.STOP)).toString('hex')).toBe(
      '000000000000000400000003',
    );
  });

  it('are read in pieces of any size', () => {
    const both = Buffer.concat([frame(CONTROL.ACCEPT, [1, DNSTAP]), frame(CONTROL.FINISH)]);
    for (let size = 1; size <= both.length; size++) {
      const chunks = [];
      for (let at = 0; at < both.length; at += size) chunks.push(both.subarray(at, at + size));
      expect(read(...chunks)).toEqual([CONTROL.ACCEPT, CONTROL.FINISH]);
    }
  });

  it('may name several contents, or none', () => {
    expect(read(frame(CONTROL.ACCEPT, [1, 'other'], [1, DNSTAP]))).toEqual([CONTROL.ACCEPT]);
    expect(read(frame(CONTROL.ACCEPT, [1, DNSTAP], [1, 'other']))).toEqual([CONTROL.ACCEPT]);
    expect(read(frame(CONTROL.ACCEPT))).toEqual([CONTROL.ACCEPT]);
  });

  it.each([
    ['other contents', frame(CONTROL.ACCEPT, [1, 'other'])],
    ['an unknown kind', frame(6)],
    ['an unknown field', frame(CONTROL.ACCEPT, [2, DNSTAP])],
    ['data', Buffer.from([0, 0, 0, 1, 65])],
    ['a length of 3', Buffer.from([0, 0, 0, 0, 0, 0, 0, 3])],
    ['a length of 513', Buffer.from([0, 0, 0, 0, 0, 0, 2, 1])],
    [
      'a field that is longer than its frame',
      frame(CONTROL.ACCEPT, [1, DNSTAP]).fill(0xff, 16, 20),
    ],
    ['half a field', Buffer.from([0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 1])],
  ])('are malformed with %s', (_what, bytes) => {
    expect(read(bytes)).toEqual(['malformed']);
  });
});
