import { describe, expect, it } from '@jest/globals';
import { JsonText, Unread } from './json-text.js';

const KIB = 1024;
const MIB = 1024 * KIB;

describe('JsonText', () => {
  it('stores no more than the limit and a piece of a text that never ends, and then its beginning', () => {
    const text = new JsonText('an item');
    const piece = Buffer.alloc(64 * KIB, ' ');
    let most = 0;
    for (let added = 0; added < 8 * MIB; added += piece.length) {
      text.add(piece);
      most = Math.max(most, text.storedBytes);
    }
    expect(text.bytes).toBe(8 * MIB);
    expect(most).toBe(2 * MIB);
    expect(text.storedBytes).toBe(16 * KIB);
    expect(text.take()).toEqual(new Unread('it has more than 2097152 bytes', ' '.repeat(16 * KIB)));
    expect(text.storedBytes).toBe(0);
  });

  it('stores the beginning alone of a text that is too complex', () => {
    const text = new JsonText('an item');
    text.add(Buffer.from('['.repeat(100 * KIB)));
    expect(text.storedBytes).toBe(16 * KIB);
  });
});
