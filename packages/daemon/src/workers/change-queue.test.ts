import { describe, expect, it } from '@jest/globals';
import { ChangeQueue, type ChangeSource, type Follower } from './change-queue.js';

/** Numbers, each as heavy as it is; a snapshot is told in front of `first`. */
class Numbers implements ChangeSource<number> {
  readonly batchWeight = 10;
  readonly maxWaitingWeight = 100;
  known: number[] = [];
  readonly #followers = new Set<Follower<number>>();

  follow(follower: Follower<number>): void {
    this.#followers.add(follower);
  }

  unfollow(follower: Follower<number>): void {
    this.#followers.delete(follower);
  }

  *snapshot(): Generator<number, void> {
    yield 0;
    yield* this.known;
  }

  weightOf(change: number): number {
    return change;
  }

  add(...numbers: number[]): void {
    for (const number of numbers) {
      this.known.push(number);
      for (const follower of this.#followers) follower(number);
    }
  }
}

function takeAll(queue: ChangeQueue<number>): (readonly number[])[] {
  const batches: (readonly number[])[] = [];
  while (!queue.isEmpty) batches.push(queue.take());
  return batches;
}

describe('the queue of a worker', () => {
  it('has what is there first, and then what changes, in batches', () => {
    const source = new Numbers();
    source.add(4, 5, 6);
    let told = 0;
    const queue = new ChangeQueue(source, () => told++);
    expect(takeAll(queue)).toEqual([[0, 4, 5, 6], []]);
    source.add(7, 3, 1, 50);
    expect(told).toBe(4);
    expect(takeAll(queue)).toEqual([[7, 3], [1], [50]]);
  });

  it('begins again with what is there when too much waits', () => {
    const source = new Numbers();
    const queue = new ChangeQueue(source, () => undefined);
    takeAll(queue);
    source.add(60, 40);
    expect(takeAll(queue)).toEqual([[60], [40]]);
    source.add(60, 41, 7);
    expect(takeAll(queue).flat()).toEqual([7, 0, 60, 40, 60, 41, 7]);
  });

  it('hears nothing any more when it is closed', () => {
    const source = new Numbers();
    const queue = new ChangeQueue(source, () => undefined);
    queue.close();
    source.add(1);
    expect(queue.isEmpty).toBe(true);
  });
});
