import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clusterVersion } from './testing/index.js';
import { NOT_KNOWN, VersionLog } from './version-log.js';

const RUNS = 500;
/** The log remembers so many. */
const REMEMBERED = 2_048;

function logOf(...versions: readonly (number | readonly number[])[]): VersionLog {
  const log = new VersionLog();
  log.begin(10, clusterVersion(versions[0]!));
  versions.slice(1).forEach((version, at) => log.note(11 + at, clusterVersion(version)));
  return log;
}

describe('the log of versions', () => {
  it.each([
    ['all of it', 40, 13],
    ['more than all of it', 99, 13],
    ['a part of it', 25, 11],
    ['what was first', 10, 10],
    ['less', 9, NOT_KNOWN],
    ['one resource less', [40, 25, 40], 11],
  ])('tells which announcements an answer knows: %s', (_, known, serial) => {
    const log = logOf(10, 20, 30, 40);
    expect(log.serialOf(clusterVersion(known), 0)).toBe(serial);
  });

  it('reads a version at an offset', () => {
    const bytes = Uint8Array.of(7, 7, 7, ...clusterVersion(25));
    expect(logOf(10, 20, 30).serialOf(bytes, 3)).toBe(11);
  });

  it('knows nothing of another history', () => {
    const log = logOf(10, 20);
    expect(log.serialOf(clusterVersion(99, { identity: 2 }), 0)).toBe(NOT_KNOWN);
    log.note(12, clusterVersion(5, { identity: 2 }));
    expect(log.serialOf(clusterVersion(99), 0)).toBe(NOT_KNOWN);
    expect(log.serialOf(clusterVersion(5, { identity: 2 }), 0)).toBe(12);
    log.note(13, undefined);
    expect([log.isComparable, log.serialOf(clusterVersion(5, { identity: 2 }), 0)]).toEqual([
      false,
      NOT_KNOWN,
    ]);
  });

  it('takes an answer for one that knows nothing when it is older than what is remembered', () => {
    const log = logOf(1);
    for (let at = 2; at < 2 + REMEMBERED; at++) log.note(9 + at, clusterVersion(at));
    expect(log.serialOf(clusterVersion(1), 0)).toBe(NOT_KNOWN);
    expect(log.serialOf(clusterVersion(2), 0)).toBe(11);
  });

  it('does not fall when the next server has seen less: who knows more knows that', () => {
    const log = logOf(10, 30);
    log.note(12, clusterVersion(20));
    expect(log.serialOf(clusterVersion(25), 0)).toBe(10);
    expect(log.serialOf(clusterVersion(30), 0)).toBe(12);
  });

  it('is what a search from the newest one on finds', () => {
    const numbers = fc.tuple(fc.nat(5), fc.nat(5), fc.nat(5));
    fc.assert(
      fc.property(fc.array(numbers, { minLength: 1, maxLength: 40 }), numbers, (steps, known) => {
        const log = new VersionLog();
        const version = [0, 0, 0];
        let serial = NOT_KNOWN;
        steps.forEach((step, at) => {
          step.forEach((more, i) => (version[i]! += more));
          if (at === 0) log.begin(at, clusterVersion(version));
          else log.note(at, clusterVersion(version));
          const asked = known.map((part, i) => part * 4 + i);
          if (version.every((part, i) => part <= asked[i]!)) serial = at;
        });
        const asked = known.map((part, i) => part * 4 + i);
        expect(log.serialOf(clusterVersion(asked), 0)).toBe(serial);
      }),
      { numRuns: RUNS },
    );
  });
});
