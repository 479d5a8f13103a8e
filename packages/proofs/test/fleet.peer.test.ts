import { describe, expect, it } from '@jest/globals';
import { needsPrograms, unless } from '@kube-dns/testkit';
import { networkSkipReason } from '../src/fixtures/host-network.js';
import { prove } from './prove-process.js';

const LIMIT_MS = 120_000;
/** Answers may be old for a second: the machine has other tests. One that lives by its TTL is older than that. */
const SHORT = ['--changes=250', '--together=60', '--limit-ms=1000', '--give-up-ms=6000'];
const skipReason = needsPrograms('conntrack') ?? networkSkipReason();

/** The proof's figures that miss their bars, with what it says of them. */
async function missedBy(...args: readonly string[]) {
  const { figures, missed, notes } = await prove(['fleet', ...SHORT, ...args], LIMIT_MS);
  expect(figures.get('changes')).toBe(250);
  return { missed, notes: missed.length > 0 && notes };
}

const NOTHING = { missed: [], notes: false };

describe('behind a Service of two pods no cache has the old answer of a change', () => {
  unless(skipReason, it)('from the start on', async () => {
    expect(await missedBy()).toEqual(NOTHING);
  }, LIMIT_MS); // prettier-ignore

  unless(skipReason, it)('when one kubedns sees it later', async () => {
    expect(await missedBy('--delays=0,300')).toEqual(NOTHING);
  }, LIMIT_MS); // prettier-ignore

  unless(skipReason, it)('after a program was killed', async () => {
    expect(await missedBy('--faults=kill:kubedns-2')).toEqual(NOTHING);
  }, LIMIT_MS); // prettier-ignore
});
