import { describe, expect, it } from '@jest/globals';
import { needsPrograms, unless } from '@kube-dns/testkit';
import { networkSkipReason } from '../src/fixtures/host-network.js';
import { prove } from './prove-process.js';

const LIMIT_MS = 300_000;
const skipReason = needsPrograms('conntrack') ?? networkSkipReason();

/** The figures that miss their bars, with what the proof says of them. */
async function missedBy(...args: readonly string[]) {
  const { figures, missed, notes, stdout } = await prove(['outage', '--busy', ...args], LIMIT_MS);
  return { figures, missed, said: missed.length > 0 && [...notes, stdout] };
}

describe('without the API server', () => {
  unless(skipReason, it)('all that starts again answers what it did before', async () => {
    const { figures, missed, said } = await missedBy('--only=lab', '--services=300', '--changes=20');
    expect({ missed, said }).toEqual({ missed: [], said: false });
    // Every program in three orders, each pod by itself, and so on.
    expect(figures.get('programs that were killed')).toBe(29);
  }, LIMIT_MS); // prettier-ignore

  it('a program that is killed while it writes leaves a whole file', async () => {
    const { figures, missed, said } = await missedBy('--only=kills', '--kills=15');
    expect({ missed, said }).toEqual({ missed: [], said: false });
    expect(figures.get('kills while a snapshot was written')).toBe(15);
  }, LIMIT_MS); // prettier-ignore
});
