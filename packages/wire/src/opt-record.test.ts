import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import { addressRecords, opt, readQuery, responseBytes } from '../test/messages.js';
import { appendOpt, extendedErrorOption, NO_EDNS_OPTIONS, OPT_BYTES } from './opt-record.js';
import { EXTENDED_ERROR } from './protocol.js';

const message = responseBytes('web.x', { answers: addressRecords('web.x', 1) });

function append(
  query: Parameters<typeof appendOpt>[0],
  size: number,
  options = NO_EDNS_OPTIONS,
): Buffer {
  const out = Buffer.alloc(size, 0xee);
  message.copy(out);
  return out.subarray(0, appendOpt(query, out, message.length, 0, options));
}

describe('appendOpt', () => {
  it('adds OPT behind a message and counts it', () => {
    const query = readQuery('web.x', { additionals: [opt({ isDnssecOk: true })] });
    const decoded = packet.decode(append(query, 512));
    expect(decoded.answers).toHaveLength(1);
    expect(decoded.additionals).toMatchObject([
      { type: 'OPT', udpPayloadSize: 4096, flag_do: true, options: [] },
    ]);
  });

  it('adds an extended error when there is one', () => {
    const query = readQuery('web.x', { additionals: [opt()] });
    const decoded = packet.decode(
      append(query, 512, extendedErrorOption(EXTENDED_ERROR.STALE_ANSWER)),
    );
    expect(decoded.additionals).toMatchObject([
      { options: [{ code: 15, data: Buffer.from([0, 3]) }] },
    ]);
  });

  it('adds nothing for a client without EDNS', () => {
    expect(append(readQuery('web.x'), 512)).toEqual(message);
  });

  it('adds nothing where there is no room', () => {
    const query = readQuery('web.x', { additionals: [opt()] });
    expect(append(query, message.length + OPT_BYTES - 1)).toEqual(message);
    expect(append(query, message.length + OPT_BYTES)).toHaveLength(message.length + OPT_BYTES);
  });
});

describe('extendedErrorOption', () => {
  it('has the code and a text', () => {
    const option = Buffer.from(extendedErrorOption(EXTENDED_ERROR.NETWORK_ERROR, 'no'));
    expect(option.toString('hex')).toBe('000f000400176e6f');
  });

  it('has the first 40 bytes of a longer text', () => {
    const option = Buffer.from(extendedErrorOption(EXTENDED_ERROR.OTHER, 'x'.repeat(41)));
    expect(option).toHaveLength(46);
    expect(option.readUInt16BE(2)).toBe(42);
  });

  it('has no part of a character that does not fit', () => {
    const option = Buffer.from(extendedErrorOption(EXTENDED_ERROR.OTHER, `x${'😀'.repeat(20)}`));
    expect(option.readUInt16BE(2)).toBe(2 + 37);
    expect(option.toString('utf8', 6)).toBe(`x${'😀'.repeat(9)}`);
  });
});
