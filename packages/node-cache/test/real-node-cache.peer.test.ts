import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { needsRealNodeCache, type Question, unless } from '@kube-dns/testkit';
import { DIFFERENT, nameServer, SAME, type Seen, TEMPLATE } from './support/answer-cases.js';
import { labelsByMetric, ORIGINAL_METRICS } from './support/original-metrics.js';
import { type Pair, type SeenAnswer, SideBySide } from './support/side-by-side.js';

/** Seconds that may pass between the answers of both. */
const LATE_SECONDS = 3;

unless(needsRealNodeCache(), describe)('beside the real node-cache', () => {
  let both: SideBySide;
  beforeAll(async () => {
    both = await SideBySide.start(TEMPLATE, nameServer);
  });
  afterAll(() => both.close());

  /** Which records a truncated answer has does not matter, nor AA of a failure. */
  const comparable = ({ flags, ...answer }: SeenAnswer) => {
    const isCut = flags.includes('TC');
    const isFailure = ['SERVFAIL', 'REFUSED'].includes(answer.rcode);
    const compared = flags.filter((flag) => !isFailure || flag !== 'AA');
    return { ...answer, flags: compared, ...(isCut && { answers: [] }), ttls: undefined };
  };

  async function expectSame(question: Question, isOverTcp: boolean): Promise<void> {
    const { ours, original } = await both.ask(question, isOverTcp);
    const what = { question, isOverTcp };
    expect({ what, ...comparable(ours) }).toEqual({ what, ...comparable(original) });
    if (ours.flags.includes('TC')) return;
    const late = ours.ttls.map((ttl, at) => Math.abs(ttl - original.ttls[at]!));
    expect({ what, late: Math.max(0, ...late) <= LATE_SECONDS }).toEqual({ what, late: true });
  }

  it('answers are the same, new and from the cache, over UDP and TCP', async () => {
    for (const question of SAME) {
      for (let i = 0; i < 2; i++) await expectSame(question, false);
      const again = { ...question, name: question.name.replace('.', '-tcp.') };
      for (let i = 0; i < 2; i++) await expectSame(again, true);
    }
  });

  it.each(DIFFERENT.map((each) => [each.original, each] as const))(
    'differs: %s',
    async (_title, { question, shows, values }) => {
      await both.ask(question, false);
      const { ours, original } = await both.ask(question, false);
      const asked = both.asked(question.name);
      const seen = (answer: SeenAnswer, count: number): Seen => ({ ...answer, asked: count });
      expect([shows(seen(original, asked.original)), shows(seen(ours, asked.ours))]).toEqual(
        values,
      );
    },
  );

  it('its metrics with values are those of our table', async () => {
    const { original }: Pair<string> = await both.metrics();
    for (const [name, labels] of Object.entries(labelsByMetric(original))) {
      expect([name, labels]).toEqual([name, [...(ORIGINAL_METRICS[name] ?? ['not there'])].sort()]);
    }
  });
});
