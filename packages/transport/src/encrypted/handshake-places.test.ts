import { describe, expect, it } from '@jest/globals';
import { HandshakePlaces } from './handshake-places.js';

describe('HandshakePlaces', () => {
  it('gives turns in order, two at a time, and ends those that take too long', () => {
    let nowMs = 0;
    const places = new HandshakePlaces(() => nowMs);
    const began: string[] = [];
    const named = (name: string) => ({ onTurn: () => void began.push(name) });
    const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(named) as [
      ReturnType<typeof named>,
      ...ReturnType<typeof named>[],
    ];
    for (const each of [a, b, c, d, e]) places.take(each!);
    expect(began).toEqual(['a', 'b']);
    places.release(c!);
    places.release(a);
    expect(began).toEqual(['a', 'b', 'd']);
    nowMs = 249;
    places.tick();
    expect(began).toHaveLength(3);
    nowMs = 250;
    places.tick();
    expect(began).toEqual(['a', 'b', 'd', 'e']);
    // Its turn was ended already.
    places.release(b!);
    expect(began).toHaveLength(4);
  });
});
