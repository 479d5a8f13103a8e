import { describe, expect, it } from '@jest/globals';
import { FrameQueue } from './frame-queue.js';

describe('the frames that wait', () => {
  it('come out whole and in order, each with its length in front', () => {
    const queue = new FrameQueue(1 << 20);
    const sizes = [1, 40_000, 3, 70_000, 0, 9];
    for (const [i, size] of sizes.entries()) queue.push(Buffer.alloc(size, i));
    const blocks = [];
    for (let next = queue.take(); next !== undefined; next = queue.take()) blocks.push(next);
    expect(queue.isEmpty).toBe(true);
    expect(blocks.reduce((sum, { frames }) => sum + frames, 0)).toBe(sizes.length);
    const expected = sizes.map((size, i) => {
      const head = Buffer.alloc(4);
      head.writeUInt32BE(size);
      return Buffer.concat([head, Buffer.alloc(size, i)]);
    });
    expect(Buffer.concat(blocks.map(({ bytes }) => bytes)).equals(Buffer.concat(expected))).toBe(
      true,
    );
  });

  it('are dropped and counted when there is no room, and only then', () => {
    const queue = new FrameQueue(4 * 32 * 1024);
    let pushed = 0;
    expect(queue.hasRoom).toBe(true);
    while (queue.dropped === 0) {
      queue.push(Buffer.alloc(1_000));
      pushed++;
    }
    expect(pushed).toBeGreaterThan(100);
    for (let i = 0; i < 500; i++) queue.push(Buffer.alloc(1_000));
    expect(queue.dropped).toBe(501);
    expect(queue.hasRoom).toBe(false);
    const taken = queue.take()!.frames;
    expect(queue.hasRoom).toBe(true);
    for (let i = 0; i < taken; i++) queue.push(Buffer.alloc(1_000));
    expect(queue.dropped).toBe(501);
    let left = 0;
    for (let next = queue.take(); next !== undefined; next = queue.take()) left += next.frames;
    expect(left + 501).toBe(pushed + 500);
  });
});
