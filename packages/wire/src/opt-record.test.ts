import { describe, expect, it } from '@jest/globals';
import packet from 'dns-packet';
import { addressRecords, opt, readQuery, responseBytes } from '../test/messages.js';
import { appendOpt, OPT_BYTES } from './opt-record.js';
import { EXTENDED_ERROR } from './protocol.js';

const message = responseBytes('web.x', { answers: addressRecords('web.x', 1) });

function append(query: Parameters<typeof appendOpt>[0], size: number, extendedError = -1): Buffer {
  const out = Buffer.alloc(size, 0xee);
  message.copy(out);
  return out.subarray(0, appendOpt(query, out, message.length, 0, extendedError));
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
    const decoded = packet.decode(append(query, 512, EXTENDED_ERROR.STALE_ANSWER));
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
