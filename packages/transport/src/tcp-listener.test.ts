import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { type Reading, TcpShares } from './tcp-listener.js';

const MIB = 1024 * 1024;

describe('what connections share', () => {
  it.each([
    [0, 256 * 1024],
    [1, 256 * 1024],
    [64, 256 * 1024],
    [256, 64 * 1024],
    [1_000, (16 * MIB) / 1_000],
    [100_000, 16 * 1024],
  ])('is, among %d, so many bytes that a client leaves unread', (connections, bytes) => {
    const shares = new TcpShares();
    shares.connections = connections;
    expect(shares.unsentBytes).toBeCloseTo(Math.max(bytes, 16 * 1024));
  });

  it('is 16 MiB, beyond which connections are cut off', () => {
    const shares = new TcpShares();
    shares.heldBytes = 16 * MIB;
    expect(shares.isTooMuch()).toBe(false);
    shares.heldBytes++;
    expect(shares.isTooMuch()).toBe(true);
  });

  it('is two milliseconds of each turn of the loop', async () => {
    let nowMs = 0;
    const shares = new TcpShares(() => nowMs);
    expect(shares.hasTime()).toBe(true);
    nowMs = 1.9;
    expect(shares.hasTime()).toBe(true);
    nowMs = 2;
    expect(shares.hasTime()).toBe(false);
    await turn();
    expect(shares.hasTime()).toBe(true);
  });

  describe('goes to each in its turn', () => {
    const startTurns = () => {
      let nowMs = 0;
      const shares = new TcpShares(() => nowMs);
      const order: string[] = [];
      const reading = (name: string, takesMs: number, parts = 1): Reading => {
        const it: Reading = {
          readOn: () => {
            order.push(name);
            nowMs += takesMs;
            if (--parts > 0) shares.wait(it, true);
          },
        };
        return it;
      };
      return { shares, order, reading };
    };

    it('as far as the time goes', async () => {
      const { shares, order, reading } = startTurns();
      const gone = reading('gone', 0);
      const all = [reading('a', 1), gone, reading('b', 3), reading('c', 1)];
      for (const each of all) shares.wait(each, false);
      shares.leave(gone);
      expect(order).toEqual([]);
      await turn();
      expect(order).toEqual(['a', 'b']);
      await turn();
      expect(order).toEqual(['a', 'b', 'c']);
    });

    it.each([0, 3])(
      'one that begins between those that continue, when each takes %d ms',
      async (ms) => {
        const { shares, order, reading } = startTurns();
        for (const name of ['a', 'b', 'c']) shares.wait(reading(name, ms, 2), true);
        for (const name of ['x', 'y']) shares.wait(reading(name, ms), false);
        while (order.length < 8) await turn();
        expect(order).toEqual(['x', 'a', 'y', 'b', 'c', 'a', 'b', 'c']);
      },
    );

    it('also when more is there than it continues with', async () => {
      const { shares, order, reading } = startTurns();
      const [continuing, beginning] = [reading('a', 3), reading('x', 3)];
      shares.wait(continuing, true);
      shares.wait(beginning, false);
      shares.wait(continuing, false);
      while (order.length < 2) await turn();
      await turn();
      expect(order).toEqual(['x', 'a']);
    });
  });
});
