import { AF_INET } from './constants.js';
import { addressOf, MAX_NAME_BYTES } from './socket-name.js';

const SLOT_BITS = 10;
/** Of a socket name: the family, and the words of an address. */
const WORDS = 5;
const FAMILY_MASK = 0xffff;
const IPV4_WORD = 1;
const IPV6_WORD = 2;
const SCOPE_WORD = 6;

/**
 * The texts of the addresses in socket names. That of a client that was seen a moment ago is not built again: each
 * address has one slot, which it shares with others.
 */
export class AddressTexts {
  readonly #words = new Int32Array(WORDS << SLOT_BITS);
  readonly #texts: string[] = new Array<string>(1 << SLOT_BITS).fill('');

  /** The text of the address in the socket name at this word. */
  of(words: Int32Array, nameAt: number): string {
    const family = words[nameAt]! & FAMILY_MASK;
    const isIpv4 = family === AF_INET;
    // The name of an interface can change.
    if (!isIpv4 && words[nameAt + SCOPE_WORD] !== 0) return textAt(words, nameAt);
    const at = nameAt + (isIpv4 ? IPV4_WORD : IPV6_WORD);
    const first = words[at]!;
    const second = isIpv4 ? 0 : words[at + 1]!;
    const third = isIpv4 ? 0 : words[at + 2]!;
    const last = isIpv4 ? 0 : words[at + 3]!;
    const slot = Math.imul(first ^ second ^ third ^ last, 0x9e37_79b1) >>> (32 - SLOT_BITS);
    const known = this.#words;
    const knownAt = slot * WORDS;
    const isKnown =
      known[knownAt] === family &&
      known[knownAt + 1] === first &&
      known[knownAt + 2] === second &&
      known[knownAt + 3] === third &&
      known[knownAt + 4] === last;
    if (isKnown) return this.#texts[slot]!;
    known[knownAt] = family;
    known[knownAt + 1] = first;
    known[knownAt + 2] = second;
    known[knownAt + 3] = third;
    known[knownAt + 4] = last;
    return (this.#texts[slot] = textAt(words, nameAt));
  }
}

function textAt(words: Int32Array, nameAt: number): string {
  return addressOf(new Uint8Array(words.buffer, words.byteOffset + nameAt * 4, MAX_NAME_BYTES));
}
