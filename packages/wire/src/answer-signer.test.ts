import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { keyFile } from '../test/tsig-keys.js';
import { RCODE } from './protocol.js';
import { encodeQuery } from './packet.js';
import { AnswerSigner, checkTsig, parseTsigKey, readTsig, type Tsig } from './tsig.js';

const key = parseTsigKey(keyFile());
const requestMac = Buffer.from('aabbccddeeff00112233', 'hex');

function sign(signer: AnswerSigner, id: number, timeSeconds: number) {
  const plain = encodeQuery({ id, name: 'example', type: 'AXFR' });
  const out = Buffer.alloc(plain.length + 700);
  plain.copy(out);
  const message = out.subarray(0, signer.sign(out, plain.length, timeSeconds));
  return { plain, message, tsig: readTsig(message) as Tsig };
}

describe('the signatures of an answer of several messages', () => {
  it('begin with that of one message, and go on with the MAC before and the time alone (RFC 8945 section 5.3.1)', () => {
    const signer = new AnswerSigner(key, requestMac);
    const first = sign(signer, 7, 1_700_000_000);
    expect(checkTsig(first.message, first.tsig, key, 1_700_000_000, requestMac)).toBe(
      RCODE.NOERROR,
    );
    let { mac } = first.tsig;
    for (const time of [1_700_000_001, 1_700_000_009]) {
      const { plain, message, tsig } = sign(signer, 7, time);
      const timers = Buffer.alloc(8);
      timers.writeUIntBE(time, 0, 6);
      timers.writeUInt16BE(300, 6);
      const length = Buffer.of(mac.length >> 8, mac.length);
      const expected = createHmac(key.hash, key.secret)
        .update(Buffer.concat([length, mac, plain, timers]))
        .digest();
      expect(Buffer.from(tsig.mac)).toEqual(expected);
      expect(checkTsig(message, tsig, key, time, mac)).not.toBe(RCODE.NOERROR);
      ({ mac } = tsig);
    }
  });
});
