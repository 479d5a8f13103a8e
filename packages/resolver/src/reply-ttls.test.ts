import { describe, expect, it } from '@jest/globals';
import { decodeMessage, encodeQuery, encodeReply, soaRecord } from '@kube-dns/testkit';
import { RecordCursor } from '@kube-dns/wire';
import { clampTtls } from './reply-pipeline.js';

const cursor = new RecordCursor();

function clamped(ttls: readonly number[], maxSeconds: number): number[] {
  const answers = ttls.map((ttl) => ({ type: 'A', ttl, data: '10.0.0.1' }) as const);
  const message = encodeReply(encodeQuery({ name: 'a.example', ednsBytes: 1232 }), { answers });
  clampTtls(message, message.length, maxSeconds, cursor);
  return [...decodeMessage(message).ttls];
}

describe('the ceiling on TTLs', () => {
  it.each([
    ['none', 0, [0, 5, 30, 600]],
    ['30 seconds', 30, [0, 5, 30, 30]],
  ])('%s', (_what, max, expected) => {
    expect(clamped([0, 5, 30, 600], max)).toEqual(expected);
  });

  it.each([0, 30])('is 0 in every section for a TTL with the top bit set: %d', (max) => {
    const ttl = 0x8000_0001;
    const message = encodeReply(
      encodeQuery({ name: 'a.example', ednsBytes: 1232, isDnssecOk: true }),
      {
        answers: [{ type: 'A', ttl, data: '10.0.0.1' }],
        authorities: [soaRecord(5, 'example', ttl)],
        additionals: [{ name: 'b.example', type: 'A', ttl, data: '10.0.0.2' }],
      },
    );
    // The upper bits of an extended rcode are in OPT's place of the TTL.
    message[message.length - 6] = 0xff;
    clampTtls(message, message.length, max, cursor);
    const { ttls, authorities, additionals } = decodeMessage(message);
    expect(ttls).toEqual([0]);
    expect(authorities).toMatchObject([{ ttl: 0 }]);
    expect(additionals).toMatchObject([{ ttl: 0 }, { extendedRcode: 0xff, flag_do: true }]);
  });

  it('leaves the other sections alone', () => {
    const message = encodeReply(encodeQuery({ name: 'a.example' }), {
      answers: [{ type: 'A', ttl: 600, data: '10.0.0.1' }],
      authorities: [soaRecord(5, 'example', 600)],
      additionals: [{ name: 'b.example', type: 'A', ttl: 600, data: '10.0.0.2' }],
    });
    clampTtls(message, message.length, 30, cursor);
    const { ttls, authorities, additionals } = decodeMessage(message);
    expect(ttls).toEqual([30]);
    expect(authorities).toMatchObject([{ ttl: 600 }]);
    expect(additionals).toMatchObject([{ ttl: 600 }]);
  });

  it('leaves a message that ends early as far as it goes', () => {
    const message = encodeReply(encodeQuery({ name: 'a.example' }), {
      answers: [{ type: 'A', ttl: 600, data: '10.0.0.1' }],
    }).subarray(0, -1);
    const before = Buffer.from(message);
    clampTtls(message, message.length, 30, cursor);
    expect(message).toEqual(before);
  });
});
