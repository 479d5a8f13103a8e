import { describe, expect, it } from '@jest/globals';
import { decodeMessage } from './packet.js';
import { RecordCursor } from './record-cursor.js';
import { extendedErrorOption, OPT_BYTES } from './opt-record.js';
import { TYPE } from './protocol.js';
import { markReasons, reasonsOf } from './upstream-reasons.js';

const cursor = new RecordCursor();
const SUBNET = Uint8Array.of(0, 8, 0, 4, 0, 1, 0, 0);

/** A reply that ends with an OPT record of these options, and maybe another record. */
function reply(options: readonly Uint8Array[], lastType?: number): Buffer {
  const data = Buffer.concat(options);
  const opt = Buffer.from([0, 0, TYPE.OPT, 4, 208, 0, 0, 0, 0, 0, data.length]);
  const last = lastType === undefined ? [] : [0, 0, lastType, 0, 255, 0, 0, 0, 0, 0, 0];
  const counts = [0, 1, 0, 0, 0, 0, 0, last.length > 0 ? 2 : 1];
  const head = [1, 2, 0x81, 0x80, ...counts, 1, 97, 0, 0, 1, 0, 1];
  return Buffer.concat([Buffer.from(head), opt, data, Buffer.from(last)]);
}

/** The texts of the reasons, by their codes. */
const seen = (message: Buffer) => {
  const bytes = reasonsOf(message, cursor);
  const texts: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 4 + (bytes[at + 2]! << 8) + bytes[at + 3]!;
    texts.push(`${bytes[at + 5]} ${Buffer.from(bytes.subarray(at + 6, end)).toString()}`);
    at = end;
  }
  return texts;
};

describe('reasons of an upstream server', () => {
  it('say that they are, before their text', () => {
    const marked = markReasons(
      reply([SUBNET, extendedErrorOption(6, 'bogus'), extendedErrorOption(9)]),
      cursor,
    );
    expect(seen(marked)).toEqual(['6 upstream: bogus', '9 upstream']);
    const { additionals } = decodeMessage(marked);
    expect(additionals).toMatchObject([{ options: [{ code: 8 }, { code: 15 }, { code: 15 }] }]);
    expect(seen(markReasons(marked, cursor))).toEqual(['6 upstream: bogus', '9 upstream']);
  });

  it('are two at most, with 40 bytes of text', () => {
    const options = [1, 2, 3].map((code) => extendedErrorOption(code, 'x'.repeat(40)));
    const text = `upstream: ${'x'.repeat(30)}`;
    expect(seen(markReasons(reply(options), cursor))).toEqual([`1 ${text}`, `2 ${text}`]);
  });

  it.each([
    ['has none', reply([])],
    ['has other options only', reply([SUBNET])],
    ['is signed', reply([extendedErrorOption(6)], TYPE.TSIG)],
    ['has options that do not fit', reply([Uint8Array.of(0, 15, 0, 9, 0, 6)])],
    ['is cut', reply([extendedErrorOption(6)]).subarray(0, 30)],
    ['is nothing but an OPT record', reply([]).subarray(-OPT_BYTES)],
  ])('leave a reply as it is that %s', (_what, message) => {
    expect(markReasons(message, cursor)).toBe(message);
  });
});
