import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Owned } from './owned.js';

describe('what is owned', () => {
  it('is closed once all of it is, for every caller', async () => {
    const owned = new Owned();
    const closed: string[] = [];
    const item = (name: string) => ({ close: () => turn().then(() => closed.push(name)) });
    owned.add(item('first'));
    owned.add(item('last'));
    void owned.close();
    await owned.close();
    expect(closed).toEqual(['last', 'first']);
    owned.add(item('late'));
    await owned.close();
    expect(closed).toEqual(['last', 'first', 'late']);
  });

  it('is all closed when one item fails, with that error', async () => {
    const owned = new Owned();
    let isClosed = false;
    owned.add({ close: () => (isClosed = true) });
    owned.add({ close: () => Promise.reject(new Error('busy')) });
    await expect(owned.close()).rejects.toThrow('busy');
    expect(isClosed).toBe(true);
  });
});
