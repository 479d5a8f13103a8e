import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { runFilter, seededRandom } from '../../test/overloaded-socket.js';
import {
  CLASSES,
  classOf,
  keyOf,
  MAX_LIMITED,
  passingPart,
  SourceFilter,
} from './source-filter.js';

const MAX_INSTRUCTIONS = 4_096;
const MAX_NUMBER = 0xffff_ffff;
const word = () => fc.integer({ min: 0, max: MAX_NUMBER });
const odd = () => word().map((number) => number | 1);

/** The sources of a program, with their classes. */
type Sources = ReadonlyMap<string, readonly [first: number, second: number, limitClass: number]>;

function programOf(
  sources: Sources,
  keys: ConstructorParameters<typeof SourceFilter>[0],
  kind: 'write' | 'writeChoice',
) {
  const sorted = [...sources.values()]
    .map(([first, second, limitClass]) => ({ key: keyOf(keys, first, second), limitClass }))
    .sort((one, other) => one.key - other.key);
  const filter = new SourceFilter(keys);
  filter[kind](
    sorted.map(({ key }) => key),
    sorted.map(({ limitClass }) => limitClass),
    sorted.length,
  );
  return filter;
}

describe('a filter of sources', () => {
  it('lets each listed source pass as its class says, and gives every other one to another socket', () => {
    const limit = fc.integer({ min: 1, max: CLASSES - 1 });
    const keys = fc.record({ isIpv6: fc.boolean(), first: odd(), second: odd() });
    const listed = fc.array(fc.tuple(word(), word(), limit), { maxLength: 300 });
    const others = fc.array(fc.tuple(word(), word()), { maxLength: 20 });
    fc.assert(
      fc.property(keys, listed, others, word(), (secrets, entries, strangers, random) => {
        const sources: Sources = new Map(
          entries.map((entry) => [`${keyOf(secrets, entry[0], entry[1])}`, entry]),
        );
        const filter = programOf(sources, secrets, 'write');
        const passes = (first: number, second: number) =>
          runFilter(filter, [first, second], secrets.isIpv6, () => random) > 0;
        const choice = programOf(sources, secrets, 'writeChoice');
        const socketOf = (first: number, second: number) =>
          runFilter(choice, [first, second], secrets.isIpv6, () => random);
        for (const [first, second, limitClass] of sources.values()) {
          expect(passes(first, second)).toBe(random <= passingPart(limitClass) * MAX_NUMBER);
          expect(socketOf(first, second)).toBe(secrets.isIpv6 ? 0 : 1);
        }
        for (const [first, second] of strangers) {
          const isListed = sources.has(`${keyOf(secrets, first, second)}`);
          if (isListed) continue;
          expect(passes(first, second)).toBe(true);
          expect(socketOf(first, second)).toBe(secrets.isIpv6 ? 1 : 0);
        }
      }),
    );
  });

  it('has no more instructions than the kernel takes, for as many sources as it may have', () => {
    const next = seededRandom(7);
    for (const count of [MAX_LIMITED, MAX_LIMITED - 25, 520]) {
      const sources: Sources = new Map(
        Array.from({ length: count }, (_, i) => {
          const first = next();
          return [`${first}`, [first, 0, 1 + (i % (CLASSES - 1))]];
        }),
      );
      for (const kind of ['write', 'writeChoice'] as const) {
        const program = programOf(sources, { isIpv6: true, first: 3, second: 5 }, kind);
        expect(program.length).toBeLessThanOrEqual(MAX_INSTRUCTIONS);
      }
    }
  });

  it.each([
    [1, 0],
    [2, 0],
    [0.5, 16],
    [0.25, 32],
    [2 ** -40, CLASSES - 1],
    [0, CLASSES - 1],
  ])('has a class for the part %d', (part, limitClass) => {
    expect(classOf(part)).toBe(limitClass);
  });

  it('lets what a class says pass, within two per cent', () => {
    for (let part = 1; part > 2 ** -15; part *= 0.99) {
      expect(passingPart(classOf(part)) / part).toBeGreaterThan(0.975);
      expect(passingPart(classOf(part)) / part).toBeLessThan(1.025);
    }
  });
});
