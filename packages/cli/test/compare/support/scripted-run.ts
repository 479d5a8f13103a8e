import type { Clock } from '@kube-dns/base';
import { encodeQuery } from '@kube-dns/testkit';
import { Run, type Asking } from '../../../src/compare/run.js';
import { parseCompareOptions, type CompareOptions } from '../../../src/compare/options.js';
import { Tally } from '../../../src/compare/tally.js';
import { replyTo, type ComparedReply } from './scripted-server.js';

const EDNS_BYTES = 1232;
const PORTS = { left: 1, right: 2 } as const;

export interface ScriptedQuery extends Pick<Asking, 'name' | 'type' | 'way'> {
  readonly side: 'left' | 'right';
  /** On the clock of the run. */
  readonly atMs: number;
}

export type Script = (
  query: ScriptedQuery,
) => ComparedReply | undefined | Promise<ComparedReply | undefined>;

/** A clock whose timers are due at once; each moves it on by as much as it was set for. */
function impatientClock(): Clock {
  let now = 0;
  return {
    now: () => now,
    after: (delayMs, action) => {
      now += delayMs;
      setImmediate(action);
      return () => undefined;
    },
  };
}

/**
 * A run of `kube-dns compare` with these flags, without sockets and without waiting: the sides answer by a script.
 * Undefined is no reply.
 */
export async function scriptedRun(
  questions: readonly { readonly name: string; readonly type: string }[],
  flags: readonly string[],
  script: Script,
) {
  const sides = [`--left=127.0.0.1:${PORTS.left}`, `--right=127.0.0.1:${PORTS.right}`];
  // The run is given its questions; a source must be named.
  const options = parseCompareOptions([...sides, '--questions=-', ...flags]) as CompareOptions;
  const clock = impatientClock();
  const tally = new Tally(options.rules);
  const queries: ScriptedQuery[] = [];
  let inFlight = 0;
  let mostInFlight = 0;
  const ask = async ({ server, name, type, way }: Asking) => {
    const side = server.port === PORTS.left ? 'left' : 'right';
    const query: ScriptedQuery = { side, name, type, way, atMs: clock.now() };
    queries.push(query);
    mostInFlight = Math.max(mostInFlight, ++inFlight);
    const reply = await script(query);
    inFlight--;
    if (reply === undefined) return { reply: undefined, failure: 'no reply' };
    const message = encodeQuery({ name, type, ...(way === 'edns' && { ednsBytes: EDNS_BYTES }) });
    return { reply: replyTo(message, reply), ms: 1 };
  };
  const run = new Run(options, tally, { ask, clock });
  await run.askAll(questions.map(({ name, type }) => ({ name, type, kind: 'given' })));
  return { run, tally, options, queries, mostInFlight, nowMs: clock.now() };
}
