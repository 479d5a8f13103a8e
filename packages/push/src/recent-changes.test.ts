import { beforeEach, describe, expect, it } from '@jest/globals';
import { decodeName, encodeKey } from '@kube-dns/wire';
import { clusterVersion } from './testing/index.js';
import { RecentChanges } from './recent-changes.js';

let recent: RecentChanges;
beforeEach(() => {
  recent = new RecentChanges();
  recent.begin(clusterVersion(10));
});

const note = (version: number, ...names: readonly string[]) =>
  recent.note(names.map(encodeKey), clusterVersion(version));
const after = (...of: Parameters<typeof clusterVersion>) =>
  recent
    .after(clusterVersion(...of))
    ?.map((name) => decodeName(name))
    .sort();

describe('the changes that are remembered', () => {
  it('are repeated for who does not know them, each name once', () => {
    note(11, 'a.b', 'c.d');
    note(12, 'a.b');
    note(13, 'e.f');
    expect(after(10)).toEqual(['a.b', 'c.d', 'e.f']);
    expect(after(12)).toEqual(['e.f']);
    expect(after([13, 12, 13])).toEqual(['e.f']);
    expect(after(13)).toEqual([]);
    expect(after(99)).toEqual([]);
  });

  it.each([
    ['what was before', () => after(9)],
    ['another history', () => after(11, { identity: 2 })],
    [
      'what was before everything may have changed',
      () => {
        recent.begin(clusterVersion(20));
        return after(15);
      },
    ],
    [
      'versions that cannot be compared any more',
      () => {
        note(11, 'a.b');
        recent.note([encodeKey('a.b')], undefined);
        return after(11);
      },
    ],
    [
      'more names than a subscriber is to be sent',
      () => {
        for (let at = 0; at < 4_000; at++) note(11 + at, `a-long-name-with-the-number-${at}.x`);
        return after(10);
      },
    ],
    [
      'more changes than are looked through',
      () => {
        for (let at = 0; at < 5_000; at++) note(11 + at, `n${at % 9}.x`);
        return after(10);
      },
    ],
  ])('are not known for %s', (_, ask) => {
    expect(ask()).toBeUndefined();
  });

  it('are the last 16,384', () => {
    const names = Array.from({ length: 16 }, () => 'a.b');
    for (let at = 0; at < 2_000; at++) note(11 + at, ...names);
    expect(after(10 + 2_000 - 256)).toEqual(['a.b']);
    recent.begin(clusterVersion(10));
    for (let at = 0; at < 20; at++) note(11 + at, ...Array.from({ length: 1_024 }, () => 'a.b'));
    expect(after(10 + 20 - 3)).toEqual(['a.b']);
  });
});
