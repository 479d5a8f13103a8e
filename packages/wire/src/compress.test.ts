import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { opt, queryBytes, responseBytes } from '../test/messages.js';
import { Compressor } from './compress.js';
import { decodeMessage } from './packet.js';
import { MAX_MESSAGE_BYTES } from './protocol.js';

const compressor = new Compressor();

function compressed(message: Uint8Array, maxBytes = MAX_MESSAGE_BYTES): Buffer {
  const bytes = Buffer.from(message);
  return bytes.subarray(0, compressor.compress(bytes, bytes.length, maxBytes));
}

const names = fc.constantFrom('a.example.test', 'b.a.example.test', 'Example.test', 'other', '.');
const records = fc.array(
  fc.oneof(
    names.map((name) => ({ name, type: 'A' as const, ttl: 60, data: '10.0.0.1' })),
    names.map((name) => ({ name, type: 'CNAME' as const, ttl: 7, data: 'c.example.test' })),
    fc.tuple(names, names).map(([name, target]) => ({
      name,
      type: 'SRV' as const,
      ttl: 1,
      data: { priority: 1, weight: 2, port: 3, target },
    })),
    names.map((name) => ({ name, type: 'TXT' as const, ttl: 0, data: ['x', 'y'] })),
  ),
  { maxLength: 30 },
);

/** Names of any case are one; the server's spelling may become that of the question. */
const plain = (bytes: Uint8Array) =>
  JSON.parse(JSON.stringify(decodeMessage(bytes)).toLowerCase()) as unknown;

describe('a message that is compressed', () => {
  it('has the same records and flags, and is no longer', () => {
    fc.assert(
      fc.property(records, records, fc.boolean(), (answers, more, hasOpt) => {
        const additionals = hasOpt ? [...more, opt()] : more;
        const message = responseBytes('a.example.test', { answers, additionals });
        const result = compressed(message);
        expect(plain(result)).toEqual(plain(message));
        expect(result.length).toBeLessThanOrEqual(message.length);
      }),
    );
  });

  it('has its owner names as pointers', () => {
    const record = { name: 'a.example.test', type: 'A' as const, ttl: 60, data: '10.0.0.1' };
    const message = responseBytes('a.example.test', { answers: Array(20).fill(record) });
    expect(compressed(message)).toHaveLength(queryBytes('a.example.test').length + 20 * 16);
  });

  it('stays as it is where it would be too long all the same, is signed or malformed', () => {
    const record = { name: 'a.example.test', type: 'A' as const, ttl: 60, data: '10.0.0.1' };
    const message = responseBytes('a.example.test', { answers: Array(20).fill(record) });
    expect(compressed(message, 200)).toEqual(message);
    const cut = message.subarray(0, -1);
    expect(compressed(cut)).toEqual(cut);
    const signed = Buffer.from(message);
    // The class of the last record is ANY, as that of a TSIG is.
    signed.writeUInt16BE(255, message.length - 12);
    expect(compressed(signed)).toEqual(signed);
  });
});
