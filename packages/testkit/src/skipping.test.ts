import { describe, expect, it } from '@jest/globals';
import { unless } from './skipping.js';

/** Stands in for `it`, and notes the titles that are skipped. */
function runner() {
  const skipped: string[] = [];
  const skip = Object.assign((title: string) => void skipped.push(title), {
    each: (table: readonly unknown[]) => (title: string) =>
      void skipped.push(`${title} × ${table.length}`),
  });
  const run = Object.assign((_title: string, test: () => void) => test(), { skip });
  return { run, skipped };
}

describe('a test that something is missing for', () => {
  it('runs as it is where nothing is missing', () => {
    const { run } = runner();
    expect(unless(undefined, run)).toBe(run);
  });

  it('is skipped, and its title says why', () => {
    const { run, skipped } = runner();
    const never = () => expect('this').toBe('not run');
    unless('needs dig', run)('answers', never);
    const each = unless('needs dig', run) as unknown as typeof run.skip;
    each.each([1, 2])('answers %d');
    expect(skipped).toEqual([
      'answers (skipped: needs dig)',
      'answers %d (skipped: needs dig) × 2',
    ]);
  });
});
