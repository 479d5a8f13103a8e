import { describe, expect, it } from '@jest/globals';
import { responseBytes } from '../test/messages.js';
import { decodeName } from './name.js';
import { OwnerNames } from './owner-names.js';
import { RecordCursor } from './record-cursor.js';

/** A reply with an A record of each of these names. */
const replyWith = (names: readonly string[]) =>
  responseBytes('q.x', {
    answers: names.map((name) => ({ type: 'A', name, ttl: 1, data: '192.0.2.1' })),
  });

/** The owners of its records, one after the other. */
function ownersOf(message: Uint8Array, isLowerCased: boolean): string[] {
  const owners = new OwnerNames(isLowerCased);
  owners.reset(message);
  const cursor = new RecordCursor().reset(message, message.length);
  const found: string[] = [];
  while (cursor.next()) {
    const length = owners.read(cursor.start, cursor.typeAt);
    found.push(length < 0 ? 'malformed' : decodeName(owners.name.subarray(0, length)));
  }
  return found;
}

describe('the owners of records', () => {
  const NAMES = ['A.x', 'A.x', 'bb.x', 'a.x', 'A.x', 'A.x'];

  it('are read with their case, or lower-cased, however often they change', () => {
    expect(ownersOf(replyWith(NAMES), false)).toEqual(NAMES);
    expect(ownersOf(replyWith(NAMES), true)).toEqual(NAMES.map((name) => name.toLowerCase()));
  });

  it('are those of the message that was begun with', () => {
    const owners = new OwnerNames(true);
    for (const name of ['a.x', 'b.x']) {
      const message = replyWith([name]);
      owners.reset(message);
      const cursor = new RecordCursor().reset(message, message.length);
      cursor.next();
      expect(owners.read(cursor.start, cursor.typeAt)).toBe(5);
      expect(decodeName(owners.name.subarray(0, 5))).toBe(name);
    }
  });

  it('finding 5: are malformed beyond 1,024 changes in a message, which are not read', () => {
    const names = Array.from({ length: 2_000 }, (_, i) => `n${i}.${'label.'.repeat(3)}x`);
    const owners = ownersOf(replyWith(names), true);
    expect(owners.slice(0, 1_024)).toEqual(names.slice(0, 1_024));
    expect(new Set(owners.slice(1_024))).toEqual(new Set(['malformed']));
  });
});
