import { describe, expect, it } from '@jest/globals';
import { encodeQuery } from '@kube-dns/testkit';
import { withOpt } from '../../test/messages.js';
import { paddedLength, writePadded } from './padding.js';

function padded(query: Buffer): Buffer {
  const length = paddedLength(query);
  const out = Buffer.alloc(length + 10, 0xff);
  writePadded(query, out, 5, length);
  expect([out[4], out[length + 5]]).toEqual([0xff, 0xff]);
  return out.subarray(5, length + 5);
}

describe('the padding of queries', () => {
  it('fills them to multiples of 128 bytes, with zeros in an option', () => {
    for (let bytes = 1; bytes < 200; bytes++) {
      const name = 'x.'.repeat(bytes / 2) + 'x'.repeat(1 + (bytes % 2));
      const query = encodeQuery({ name, ednsBytes: 1232, isDnssecOk: true });
      const message = padded(query);
      expect(message.length % 128).toBe(0);
      expect(message.length - query.length).toBeLessThan(128 + 4);
      // All but the length of the options stays.
      expect(message.subarray(0, query.length - 2)).toEqual(query.subarray(0, query.length - 2));
      const optionBytes = message.readUInt16BE(query.length - 2);
      expect(optionBytes).toBe(message.length - query.length);
      expect(message.readUInt16BE(query.length)).toBe(12);
      expect(message.readUInt16BE(query.length + 2)).toBe(optionBytes - 4);
      expect(message.subarray(query.length + 4).every((byte) => byte === 0)).toBe(true);
    }
  });

  it('comes after the options that are there', () => {
    const option = Buffer.from([0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    const query = Buffer.concat([encodeQuery({ name: 'a', ednsBytes: 1232 }), option]);
    query.writeUInt16BE(option.length, query.length - option.length - 2);
    const message = padded(query);
    expect(message).toHaveLength(128);
    expect(message.readUInt16BE(query.length)).toBe(12);
    expect(message.readUInt16BE(query.length - option.length - 2)).toBe(
      option.length + 128 - query.length,
    );
  });

  it.each([
    ['without OPT', encodeQuery({ name: 'a' })],
    ['with a signature behind OPT', signed()],
    ['cut in the OPT record', encodeQuery({ name: 'a', ednsBytes: 1232 }).subarray(0, -1)],
  ])('is not there in a query %s', (_what, query) => {
    expect(padded(Buffer.from(query))).toEqual(Buffer.from(query));
  });
});

/** With another record after OPT. */
function signed(): Buffer {
  const query = withOpt(encodeQuery({ name: 'a' }), 1232);
  query.writeUInt16BE(2, 10);
  return Buffer.concat([query, Buffer.from([0, 0, 250, 0, 255, 0, 0, 0, 0, 0, 0])]);
}
