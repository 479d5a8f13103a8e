import { beforeEach, describe, expect, it } from '@jest/globals';
import { encodeKey } from '@kube-dns/wire';
import { DomainDrop } from './domain-drop.js';
import type { EntryStore } from './entry-store.js';

const CAPACITY = 50_000;
const COMPARISONS_PER_TURN = 16_384;
const ZONE = encodeKey('x');

/** The slots that were looked at; none is used. */
let looks: number[];
let drop: DomainDrop;

beforeEach(() => {
  looks = [];
  const isUsed = (slot: number) => {
    looks.push(slot);
    return false;
  };
  const table: Pick<EntryStore, 'capacity' | 'isUsed'> = { capacity: CAPACITY, isUsed };
  drop = new DomainDrop(table as EntryStore);
});

/** How many slots are looked at in each turn of the event loop, until it looks no more. */
async function looksOfTurns(): Promise<number[]> {
  const turns: number[] = [];
  for (;;) {
    const before = looks.length;
    await new Promise((resolve) => setImmediate(resolve));
    if (looks.length === before) return turns;
    turns.push(looks.length - before);
  }
}

/** Tells of so many names of a zone that they changed. */
function change(count: number): void {
  for (let i = 0; i < count; i++) drop.addChanged(encodeKey(`n${i}.x`), ZONE, 0);
}

describe('what is dropped from a cache', () => {
  it('is looked for later, in a limited number of entries in each turn of the event loop', async () => {
    drop.add(ZONE);
    expect(looks).toEqual([]);
    const turns = await looksOfTurns();
    expect(turns.slice(0, -1)).toEqual([16_384, 16_384, 16_384]);
    expect(looks).toEqual(Array.from({ length: CAPACITY }, (_, slot) => slot));
  });

  it('is looked for in one walk, however many names have changed in a turn', async () => {
    change(5_000);
    await looksOfTurns();
    expect(looks).toHaveLength(CAPACITY);
  });

  it('is compared as often in a turn, however many names have changed', async () => {
    change(16);
    expect((await looksOfTurns())[0]).toBe(COMPARISONS_PER_TURN / 16);
    change(5_000);
    // The zone is dropped in place of names that are too many.
    expect((await looksOfTurns())[0]).toBeGreaterThanOrEqual(COMPARISONS_PER_TURN / 16);
  });
});
