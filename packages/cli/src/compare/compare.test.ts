import { describe, expect, it } from '@jest/globals';
import { Progress, progressLine } from './compare.js';

describe('the progress bar', () => {
  it('shows how much is done and how long the rest will take', () => {
    const line = progressLine({ done: 25, different: 3 }, 100, 10_000);
    expect(line).toBe(
      `${'█'.repeat(8)}${'░'.repeat(22)} 25 %  25 of 100 questions, 3 differ, 30 s left`,
    );
  });

  it('writes nothing where there is no terminal', () => {
    const written: string[] = [];
    const stream = { isTTY: false, write: (text: string) => written.push(text) };
    const progress = new Progress(stream, 10, () => ({ done: 1, different: 0 }));
    progress.close();
    progress.close();
    expect(written).toEqual([]);
  });
});
