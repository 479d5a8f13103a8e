import { describe, expect, it } from '@jest/globals';
import { Joining } from './outbox.js';

/** In which of so many batches the search takes place, when each batch becomes this many sends. */
function searches(joining: Joining, batches: number, messages: number, sends: number): number[] {
  const due: number[] = [];
  for (let batch = 0; batch < batches; batch++) {
    if (!joining.isDue(messages)) continue;
    due.push(batch);
    joining.note(messages, sends);
  }
  return due;
}

describe('the search for messages to join', () => {
  it('takes place in every batch when it saves an eighth of the sends', () => {
    expect(searches(new Joining(), 5, 8, 7)).toEqual([0, 1, 2, 3, 4]);
  });

  it('pauses longer and longer when it saves less, up to 63 batches', () => {
    expect(searches(new Joining(), 256, 9, 8)).toEqual([0, 2, 6, 14, 30, 62, 126, 190, 254]);
  });

  it('returns after a pause when there is something to join again', () => {
    const joining = new Joining();
    searches(joining, 15, 9, 9);
    expect(searches(joining, 20, 9, 1)).toEqual([15, 16, 17, 18, 19]);
  });

  it('leaves out batches of one message, which end no pause', () => {
    const joining = new Joining();
    expect(searches(joining, 3, 1, 1)).toEqual([]);
    expect(joining.isDue(2)).toBe(true);
  });

  it('ends when the system refuses what was joined', () => {
    const joining = new Joining();
    joining.refuse();
    expect(searches(joining, 3, 8, 1)).toEqual([]);
  });
});
