import { describe, expect, it } from '@jest/globals';
import { addressOf, AddressTexts, encodeSocketName } from './batch-peer.js';
import { NAME_WORDS } from './message-arena.js';

const AT = 3;

function wordsOf(name: Uint8Array): Int32Array {
  const words = new Int32Array(AT + NAME_WORDS);
  new Uint8Array(words.buffer).set(name, AT * 4);
  return words;
}

describe('the texts of addresses', () => {
  it('are those of the names, whichever of 6,000 share a slot', () => {
    const texts = new AddressTexts();
    const wrong: string[] = [];
    for (let i = 0; i < 2_000; i++) {
      const end = `${i >> 8}.${i & 255}`;
      for (const address of [`10.0.${end}`, `::ffff:10.0.${end}`, `fd00::${i.toString(16)}:1`]) {
        const name = encodeSocketName(address, i, address.includes(':'));
        if (texts.of(wordsOf(name), AT) !== addressOf(name)) wrong.push(address);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('are one string for one address, and another with a scope', () => {
    const texts = new AddressTexts();
    const words = wordsOf(encodeSocketName('fe80::1', 53, true));
    expect(texts.of(words, AT)).toBe('fe80::1');
    words[AT + 6] = 40_000;
    expect(texts.of(words, AT)).toBe('fe80::1%40000');
    words[AT + 6] = 0;
    expect(texts.of(words, AT)).toBe('fe80::1');
  });
});
