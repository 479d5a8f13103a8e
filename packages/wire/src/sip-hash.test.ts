import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { SIP_HASH_BYTES, sipHash } from './sip-hash.js';

const KEY = Uint8Array.from({ length: 16 }, (_, i) => i);
const COUNTED = Uint8Array.from({ length: 64 }, (_, i) => i);

function hash(key: Uint8Array, bytes: Uint8Array, length = bytes.length): string {
  const out = new Uint8Array(SIP_HASH_BYTES + 4);
  sipHash(key, bytes, length, out, 2);
  return Buffer.from(out.subarray(2, -2)).toString('hex');
}

describe('sipHash', () => {
  // The vectors of the authors' reference code, the bytes 0, 1, 2 … (SipHash paper, appendix A for 15).
  it.each([
    [0, '310e0edd47db6f72'],
    [1, 'fd67dc93c539f874'],
    [7, '37d1018bf50002ab'],
    [8, '6224939a79f5f593'],
    [15, 'e545be4961ca29a1'],
    [63, '724506eb4c328a95'],
  ])('hashes %d bytes', (length, expected) => {
    expect(hash(KEY, COUNTED, length)).toBe(expected);
  });

  it('does not read behind the length', () => {
    expect(hash(KEY, COUNTED.subarray(0, 20))).toBe(hash(KEY, COUNTED, 20));
  });

  // 64-bit sums carry from the lower half: numbers of 64 bits show it for many values.
  it('is that of whole numbers of 64 bits', () => {
    for (let i = 0; i < 500; i++) {
      const bytes = createHash('sha256')
        .update(`message ${i}`)
        .digest()
        .subarray(0, i % 33);
      const key = createHash('sha256').update(`key ${i}`).digest().subarray(0, 16);
      expect(hash(key, bytes)).toBe(plainSipHash(key, bytes));
    }
  });
});

/** The same in the words of the paper. */
function plainSipHash(key: Buffer, bytes: Buffer): string {
  const cut = (word: bigint) => BigInt.asUintN(64, word);
  const rotate = (word: bigint, by: bigint) => cut(word << by) | (word >> (64n - by));
  const k0 = key.readBigUInt64LE(0);
  const k1 = key.readBigUInt64LE(8);
  let v0 = k0 ^ 0x736f6d6570736575n;
  let v1 = k1 ^ 0x646f72616e646f6dn;
  let v2 = k0 ^ 0x6c7967656e657261n;
  let v3 = k1 ^ 0x7465646279746573n;
  const rounds = (count: number) => {
    for (let i = 0; i < count; i++) {
      v0 = cut(v0 + v1);
      v2 = cut(v2 + v3);
      v1 = rotate(v1, 13n) ^ v0;
      v3 = rotate(v3, 16n) ^ v2;
      v0 = rotate(v0, 32n);
      v2 = cut(v2 + v1);
      v0 = cut(v0 + v3);
      v1 = rotate(v1, 17n) ^ v2;
      v3 = rotate(v3, 21n) ^ v0;
      v2 = rotate(v2, 32n);
    }
  };
  const padded = Buffer.alloc(bytes.length - (bytes.length % 8) + 8);
  bytes.copy(padded);
  padded[padded.length - 1] = bytes.length;
  for (let at = 0; at < padded.length; at += 8) {
    const word = padded.readBigUInt64LE(at);
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  v2 ^= 0xffn;
  rounds(4);
  const hash = Buffer.alloc(8);
  hash.writeBigUInt64LE(v0 ^ v1 ^ v2 ^ v3);
  return hash.toString('hex');
}
