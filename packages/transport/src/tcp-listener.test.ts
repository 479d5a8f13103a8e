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

  it('is 16 MiB, beyond which those are cut off that hold more than an equal part', () => {
    const shares = new TcpShares();
    shares.connections = 512;
    shares.heldBytes = 16 * MIB;
    expect(shares.isTooMuch(MIB)).toBe(false);
    shares.heldBytes++;
    expect(shares.isTooMuch(MIB)).toBe(true);
    expect(shares.isTooMuch(32 * 1024)).toBe(false);
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

  it('goes to each in its turn, as far as the time goes', async () => {
    let nowMs = 0;
    const shares = new TcpShares(() => nowMs);
    const order: string[] = [];
    const reading = (name: string, takesMs: number): Reading => ({
      readOn: () => {
        order.push(name);
        nowMs += takesMs;
      },
    });
    const gone = reading('gone', 0);
    for (const each of [reading('a', 1), gone, reading('b', 3), reading('c', 1)]) shares.wait(each);
    shares.leave(gone);
    expect(order).toEqual([]);
    await turn();
    expect(order).toEqual(['a', 'b']);
    await turn();
    expect(order).toEqual(['a', 'b', 'c']);
  });
});
