import { describe, expect, it } from '@jest/globals';
import { HandshakeSlots } from './connection.js';

describe('HandshakeSlots', () => {
  it('gives turns in order, two at a time, and ends those that take too long', () => {
    let nowMs = 0;
    const slots = new HandshakeSlots(() => nowMs);
    const began: string[] = [];
    const named = (name: string) => ({ onTurn: () => void began.push(name) });
    const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(named) as [
      ReturnType<typeof named>,
      ...ReturnType<typeof named>[],
    ];
    for (const each of [a, b, c, d, e]) slots.acquire(each!);
    expect(began).toEqual(['a', 'b']);
    slots.release(c!);
    slots.release(a);
    expect(began).toEqual(['a', 'b', 'd']);
    nowMs = 249;
    slots.tick();
    expect(began).toHaveLength(3);
    nowMs = 250;
    slots.tick();
    expect(began).toEqual(['a', 'b', 'd', 'e']);
    // Its turn was ended already.
    slots.release(b!);
    expect(began).toHaveLength(4);
  });
});
