import { SIDES } from '../asking/way.js';
import type { Result } from '../result.js';
import type { Latency } from '../verdict/latency.js';

/** Milliseconds, to the microsecond. */
function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

function latencyOf(latency: Latency, noReply: number) {
  return {
    replies: latency.count,
    noReply,
    p50Ms: round(latency.percentileMs(0.5)),
    p90Ms: round(latency.percentileMs(0.9)),
    p99Ms: round(latency.percentileMs(0.99)),
    histogram: latency.bars().map(({ toMs, count }) => ({ toMs: round(toMs), count })),
  };
}

/** The whole result as plain data: what `--json` prints and the page shows. */
export function resultData({ servers, ways, rate, seconds, notes, logs, tally }: Result) {
  return {
    servers,
    over: ways,
    rate,
    seconds: Math.round(seconds * 100) / 100,
    notes,
    logs,
    questions: { total: tally.questions, ...tally.kinds },
    pairs: {
      total: tally.pairs,
      same: tally.same,
      known: tally.known,
      different: tally.different,
      skipped: tally.skipped,
    },
    known: tally.classes,
    aspects: tally.aspects,
    latency: Object.fromEntries(
      SIDES.map((side) => [side, latencyOf(tally.latency[side], tally.noReply[side])]),
    ) as Record<(typeof SIDES)[number], ReturnType<typeof latencyOf>>,
    givenUp: tally.givenUp,
    differences: tally.differences(),
  };
}
export type ResultData = ReturnType<typeof resultData>;
