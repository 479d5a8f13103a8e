import { describe, expect, it } from '@jest/globals';
import { opt, readQuery } from '../test/messages.js';
import { decodeMessage } from './packet.js';
import { extendedErrorOption, OPT_BYTES } from './opt-record.js';
import { TYPE } from './protocol.js';
import { adaptReply, relayTargetOf } from './relay.js';
import { ReplyOutline } from './reply-outline.js';
import { markReasons, reasonsOf } from './upstream-reasons.js';

const outlineOf = (message: Buffer) => new ReplyOutline().read(message);
const mark = (message: Buffer) => markReasons(message, outlineOf(message));
const out = new Uint8Array(65_535);
const SUBNET = Uint8Array.of(0, 8, 0, 4, 0, 1, 0, 0);

/** A reply that ends with an OPT record of these options, and maybe another record. */
function reply(options: readonly Uint8Array[], lastType?: number): Buffer {
  const data = Buffer.concat(options);
  const record = Buffer.from([0, 0, TYPE.OPT, 4, 208, 0, 0, 0, 0, data.length >> 8, data.length]);
  const last = lastType === undefined ? [] : [0, 0, lastType, 0, 255, 0, 0, 0, 0, 0, 0];
  const counts = [0, 1, 0, 0, 0, 0, 0, last.length > 0 ? 2 : 1];
  const head = [1, 2, 0x81, 0x80, ...counts, 1, 97, 0, 0, 1, 0, 1];
  return Buffer.concat([Buffer.from(head), record, data, Buffer.from(last)]);
}

/** The texts of the reasons, by their codes. */
const seen = (message: Buffer) => {
  const bytes = reasonsOf(message, outlineOf(message));
  const texts: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 4 + (bytes[at + 2]! << 8) + bytes[at + 3]!;
    texts.push(`${bytes[at + 5]} ${Buffer.from(bytes.subarray(at + 6, end)).toString()}`);
    at = end;
  }
  return texts;
};

/** What a client gets of the reasons. */
function adapted(message: Buffer): string[] {
  const target = relayTargetOf(readQuery('a', { additionals: [opt()] }));
  return seen(Buffer.from(out.subarray(0, adaptReply(message, target, outlineOf(message), out))));
}

describe('reasons of an upstream server', () => {
  it('say that they are, before their text', () => {
    const marked = mark(reply([SUBNET, extendedErrorOption(6, 'bogus'), extendedErrorOption(9)]));
    expect(seen(marked)).toEqual(['6 upstream: bogus', '9 upstream']);
    const { additionals } = decodeMessage(marked);
    expect(additionals).toMatchObject([{ options: [{ code: 8 }, { code: 15 }, { code: 15 }] }]);
    expect(seen(mark(marked))).toEqual(['6 upstream: bogus', '9 upstream']);
  });

  it('are two at most, with 40 bytes of text', () => {
    const options = [1, 2, 3].map((code) => extendedErrorOption(code, 'x'.repeat(40)));
    const text = `upstream: ${'x'.repeat(30)}`;
    expect(seen(mark(reply(options)))).toEqual([`1 ${text}`, `2 ${text}`]);
  });

  it.each([
    ['of characters of four bytes', Buffer.from('😀'.repeat(20)), `upstream: ${'😀'.repeat(7)}`],
    ['of 900 bytes', Buffer.alloc(900, 'é'), `upstream: ${'é'.repeat(15)}`],
    ['that is not UTF-8', Buffer.of(0xff, 0xfe, 0x41), 'upstream: ??A'],
    ['with a cut character', Buffer.from('né').subarray(0, -1), 'upstream: n?'],
    ['with control characters', Buffer.from('a\nb\u001b[31m\u009b\u007f'), 'upstream: a?b?[31m??'],
    ['that ends with NUL', Buffer.from('abc\0'), 'upstream: abc'],
  ])('have a text that can be read in place of one %s', (_what, text, expected) => {
    const option = Buffer.concat([Buffer.of(0, 15, 0, 0, 0, 6), text]);
    option.writeUInt16BE(2 + text.length, 2);
    const marked = mark(reply([option]));
    expect(seen(marked)).toEqual([`6 ${expected}`]);
    expect(seen(mark(marked))).toEqual([`6 ${expected}`]);
  });

  it('are none without a code, behind an option that does not fit, or in a second OPT record', () => {
    const reason = extendedErrorOption(6, 'bogus');
    const broken = [Uint8Array.of(0, 15, 0, 0), Uint8Array.of(0, 15, 0, 1, 6)];
    const tail = Uint8Array.of(0, 15, 0, 9, 0, 7);
    const options = (message: Buffer) => adapted(mark(message));
    expect(options(reply([...broken]))).toEqual([]);
    expect(options(reply([reason, ...broken, tail]))).toEqual(['6 upstream: bogus']);
    const second = reply([extendedErrorOption(7)]).subarray(19);
    for (const first of [[], [reason]]) {
      const both = Buffer.concat([reply(first), second]);
      both[11] = 2;
      expect(options(both)).toEqual(first.map(() => '6 upstream: bogus'));
    }
  });

  it('are marked where a text looks like an OPT record without options', () => {
    const text = `x\0\0${String.fromCharCode(TYPE.OPT)}${'\0'.repeat(8)}`;
    expect(seen(mark(reply([extendedErrorOption(6, text)])))[0]).toMatch('upstream');
  });

  it.each([
    ['has none', reply([])],
    ['has other options only', reply([SUBNET])],
    ['is signed', reply([extendedErrorOption(6)], TYPE.TSIG)],
    ['has options that do not fit', reply([Uint8Array.of(0, 15, 0, 9, 0, 6)])],
    ['is cut', reply([extendedErrorOption(6)]).subarray(0, 30)],
    ['is nothing but an OPT record', reply([]).subarray(-OPT_BYTES)],
  ])('leave a reply as it is that %s', (_what, message) => {
    expect(mark(message)).toBe(message);
  });
});
